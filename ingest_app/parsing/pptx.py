"""Presentations: slides in their order, each a page, its text from top to bottom, then its notes.

The parts are walked here and not through python-pptx: it loads every picture and film, it does not know
charts of the newer kind, SmartArt and equations, and it refuses files in the strict variant of the format.
Names are compared without their namespaces, which differ between the two variants.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ingest_app.parsing.blocks import Block
from ingest_app.parsing.document import MAX_TITLE, ParsedDocument
from ingest_app.parsing.media_types import PPTX
from ingest_app.parsing.package import Element, Package, damaged, resolved
from ingest_app.parsing.pptx_graphics import chart, diagram, local_name, paragraphs, related, table
from ingest_app.parsing.writing import DocumentWriter

_MAIN = "ppt/presentation.xml"
_CORE = "docProps/core.xml"
_TITLES = {"title", "ctrTitle"}
#: Placeholders that stand on every slide: footers are kept once, slide numbers never.
_RUNNING = {"dt", "ftr", "hdr"}
_NOT_NOTES = {"dt", "ftr", "hdr", "sldImg", "sldNum"}
#: Whose position and bullets a slide's placeholder takes from the master.
_MASTER_KINDS = {"ctrTitle": "title", "title": "title", "dt": "dt", "ftr": "ftr", "sldNum": "sldNum"}
#: Shapes whose tops differ by less than this part of the slide's height stand side by side.
_SAME_LINE = 40
_USUAL_HEIGHT = 6_858_000
_NO_TITLES = re.compile(
    r"(?:powerpoint|pptx?)?[ -]*(?:presentation|präsentation|présentation|presentación|apresentação|presentazione)"
    r"(?:(?: standard)?(?: de| do| di)? powerpoint)?|untitled|slide 1",
    re.I,
)


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """What slides inherit: placeholders by number and kind, styles of the master, text that all of them show."""

    by_index: dict[str, Element] = field(default_factory=dict)
    by_kind: dict[str, Element] = field(default_factory=dict)
    of_master: dict[str, Element] = field(default_factory=dict)
    text_styles: Element | None = None
    is_cover: bool = False
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Slide:
    """`title` is the text of its placeholder, `is_cover` says that it is a title slide."""

    title: str
    is_cover: bool
    content: list[Block]
    running: list[str]
    notes: list[str]


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from PPTX. The title: of a title slide that comes first, the properties, the first heading."""
    deck = _Deck(Package(content))
    writer = DocumentWriter()
    running: set[str] = set()
    titles: list[str | None] = []
    for number, slide in enumerate(deck.slides(), start=1):
        writer.page(number)
        heading = _write(writer, slide, number=number, running=running)
        if number == 1:
            titles = [slide.title if slide.is_cover else None, deck.property_title()]
        if heading:
            titles.append(heading)
    return writer.document(media_type=PPTX, name=name, titles=titles)


def _write(writer: DocumentWriter, slide: _Slide, *, number: int, running: set[str]) -> str:
    """Write a slide and say which words of it are its heading, if any.

    A slide without a title starts with its first line where that can be one, else with its number: its text
    belongs under no other slide's title.
    """
    content = slide.content
    first = content[0] if content else None
    fresh = [text for text in dict.fromkeys(slide.running) if text not in running]
    running.update(fresh)
    heading = slide.title
    if not heading and first and not first.rows and first.depth is None and 0 < len(first.text) <= MAX_TITLE // 2:
        heading, content = first.text, content[1:]
    if len(heading) > MAX_TITLE:
        heading, content = "", [Block(text=heading), *content]
    if heading or content or fresh or slide.notes:
        writer.heading(heading or f"Slide {number}", level=1)
    for block in content:
        block.write(writer)
    for text in fresh:
        writer.block(text)
    if slide.notes:
        writer.block("Notes: " + "\n\n".join(slide.notes))
    return heading


class _Deck:
    """A package and what slides share in it. Each part is read once: no deck of use shows one twice."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._layouts: dict[str, _Layout] = {}
        self._taken: set[str] = set()
        self._line_height = _USUAL_HEIGHT // _SAME_LINE

    def slides(self) -> Iterator[_Slide]:
        """All slides in the order of the presentation, hidden ones too."""
        root = self._package.xml(_MAIN)
        if root is None:
            raise damaged()
        size = root.find("{*}sldSz")
        self._line_height = max(1, _number(None if size is None else size.get("cy"), _USUAL_HEIGHT) // _SAME_LINE)
        relations = self._relations(_MAIN)
        for reference in root.iterfind("{*}sldIdLst/{*}sldId"):
            path = relations.get(related(reference, "id"), ("", ""))[1]
            if path in self._taken:
                continue
            slide = self._take(path)
            if slide is None:
                raise damaged()
            yield self._slide(slide, path)

    def property_title(self) -> str | None:
        """The title in the properties, unless it is one that programs make up."""
        core = self._package.xml(_CORE, lenient=True)
        title = None if core is None else core.findtext("{*}title")
        return None if not title or _NO_TITLES.fullmatch(title.strip()) else title

    def _slide(self, root: Element, path: str) -> _Slide:
        relations = self._relations(path)
        layout = self._layout(_of_type(relations, "slideLayout"))
        title = ""
        content: list[Block] = []
        running: list[str] = []
        for shape in self._in_reading_order(_shapes(root.find("{*}cSld/{*}spTree")), layout):
            kind = _placeholder(shape)[0]
            if kind in _TITLES and not title:
                title = " ".join(_text(shape).split())
            elif kind in _RUNNING:
                running.append(_text(shape))
            elif kind != "sldNum":
                content.extend(self._content(shape, layout, relations))
        if root.get("showMasterSp") not in ("0", "false"):
            running.extend(layout.shown)
        return _Slide(
            title=title,
            is_cover=layout.is_cover,
            content=content,
            running=[text for text in running if text.strip()],
            notes=self._notes(_of_type(relations, "notesSlide")),
        )

    def _content(self, shape: Element, layout: _Layout, relations: dict[str, tuple[str, str]]) -> Iterator[Block]:
        kind = local_name(shape)
        if kind == "grpSp":
            for inner in self._in_reading_order(_shapes(shape), layout):
                yield from self._content(inner, layout, relations)
        elif kind == "sp":
            yield from paragraphs(shape.find("{*}txBody"), _list_styles(shape, layout))
        elif kind == "graphicFrame":
            for graphic in shape.iterfind("{*}graphic/{*}graphicData/*"):
                yield from self._graphic(graphic, relations)

    def _graphic(self, graphic: Element, relations: dict[str, tuple[str, str]]) -> Iterator[Block]:
        kind = local_name(graphic)
        if kind == "tbl":
            yield table(graphic)
        elif kind == "chart":
            part = self._take(relations.get(related(graphic, "id"), ("", ""))[1])
            if part is not None:
                yield from chart(part)
        elif kind == "relIds":
            part = self._take(relations.get(related(graphic, "dm"), ("", ""))[1])
            if part is not None:
                yield from diagram(part)

    def _notes(self, path: str) -> list[str]:
        notes = self._take(path)
        if notes is None:
            return []
        relations = self._relations(path)
        shapes = self._in_reading_order(_shapes(notes.find("{*}cSld/{*}spTree")), _Layout())
        texts = [shape for shape in shapes if _placeholder(shape)[0] not in _NOT_NOTES]
        return [block.in_one_line for shape in texts for block in self._content(shape, _Layout(), relations)]

    def _take(self, path: str) -> Element | None:
        """A part as a tree the first time, then nothing."""
        if not path or path in self._taken:
            return None
        self._taken.add(path)
        return self._package.xml(path)

    def _relations(self, path: str) -> dict[str, tuple[str, str]]:
        """What a part refers to: by id, the kind and the path of each."""
        folder, _, file = path.rpartition("/")
        root = self._package.xml(f"{folder}/_rels/{file}.rels", lenient=True)
        return {
            found.get("Id", ""): (
                posixpath.basename(found.get("Type", "")),
                resolved(found.get("Target", ""), base=path),
            )
            for found in (() if root is None else root.iterfind("{*}Relationship"))
            if found.get("TargetMode") != "External"
        }

    def _layout(self, path: str) -> _Layout:
        if path not in self._layouts:
            self._layouts[path] = self._read_layout(path)
        return self._layouts[path]

    def _read_layout(self, path: str) -> _Layout:
        root = self._package.xml(path) if path else None
        if root is None:
            return _Layout()
        master_path = _of_type(self._relations(path), "slideMaster")
        master = self._package.xml(master_path) if master_path else None
        own = list(_shapes(root.find("{*}cSld/{*}spTree")))
        inherited = [] if master is None else list(_shapes(master.find("{*}cSld/{*}spTree")))
        shown = own if root.get("showMasterSp") in ("0", "false") else [*inherited, *own]
        texts = (_text(shape).strip() for shape in shown if not _placeholder(shape)[0])
        return _Layout(
            by_index={_placeholder(shape)[1]: shape for shape in own if _placeholder(shape)[0]},
            by_kind={_placeholder(shape)[0]: shape for shape in own if _placeholder(shape)[0]},
            of_master={_placeholder(shape)[0]: shape for shape in inherited if _placeholder(shape)[0]},
            is_cover=root.get("type") == "title",
            text_styles=None if master is None else master.find("{*}txStyles"),
            shown=tuple(text for text in texts if text),
        )

    def _in_reading_order(self, shapes: Iterable[Element], layout: _Layout) -> list[Element]:
        """From top to bottom, what stands side by side from left to right."""
        placed = sorted(((*_position(shape, layout), shape) for shape in shapes), key=lambda place: place[:2])
        lines: list[list[tuple[int, int, Element]]] = []
        for place in placed:
            if not lines or place[0] - lines[-1][0][0] >= self._line_height:
                lines.append([])
            lines[-1].append(place)
        return [shape for line in lines for _, _, shape in sorted(line, key=lambda place: place[1])]


def _shapes(container: Element | None) -> Iterator[Element]:
    """The visible shapes in a tree or group; of alternatives the first, which is the richer one."""
    for child in () if container is None else container:
        kind = local_name(child)
        if kind == "AlternateContent":
            yield from _shapes(next((choice for choice in child if local_name(choice) in ("Choice", "Fallback")), None))
        elif kind in ("sp", "grpSp", "graphicFrame"):
            properties = child.find("*/{*}cNvPr")
            if properties is None or properties.get("hidden") not in ("1", "true"):
                yield child


def _placeholder(shape: Element) -> tuple[str, str]:
    """The kind and number of the placeholder that a shape is; an empty kind for other shapes."""
    found = shape.find("*/{*}nvPr/{*}ph")
    return ("", "") if found is None else (found.get("type", "obj"), found.get("idx", "0"))


def _ancestors(shape: Element, layout: _Layout) -> list[Element]:
    """The placeholders that a shape takes after, the nearest first."""
    kind, index = _placeholder(shape)
    if not kind:
        return []
    by_kind = layout.by_kind.get(kind)
    found = layout.by_index.get(index, by_kind) if kind not in _TITLES else by_kind
    return [known for known in (found, layout.of_master.get(_MASTER_KINDS.get(kind, "body"))) if known is not None]


def _list_styles(shape: Element, layout: _Layout) -> list[Element]:
    """Where it stands whether a paragraph has a bullet, the nearest first."""
    kind = _placeholder(shape)[0]
    styles = [known.find("{*}txBody/{*}lstStyle") for known in (shape, *_ancestors(shape, layout))]
    if kind and layout.text_styles is not None:
        of_kind = "titleStyle" if kind in _TITLES else "otherStyle" if kind in _MASTER_KINDS else "bodyStyle"
        styles.append(layout.text_styles.find("{*}" + of_kind))
    return [style for style in styles if style is not None]


def _position(shape: Element, layout: _Layout) -> tuple[int, int]:
    """Top and left, in the units of the slide or group that the shape stands on."""
    for known in (shape, *_ancestors(shape, layout)):
        for path in ("{*}spPr/{*}xfrm/{*}off", "{*}xfrm/{*}off", "{*}grpSpPr/{*}xfrm/{*}off"):
            offset = known.find(path)
            if offset is not None:
                return _number(offset.get("y"), 0), _number(offset.get("x"), 0)
    return 0, 0


def _text(shape: Element) -> str:
    """All text of a shape or group, a line a paragraph."""
    found = (part.text for body in shape.iter("{*}txBody") for part in paragraphs(body, []))
    return "\n".join(text for text in found if text)


def _of_type(relations: dict[str, tuple[str, str]], kind: str) -> str:
    return next((path for found, path in relations.values() if found == kind), "")


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and re.fullmatch(r"-?[0-9]{1,18}", text) else otherwise
