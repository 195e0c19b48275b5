"""Word documents as Markdown-like text: headings by style or outline level, lists, tables, footnotes.

The body is walked here and not through `iter_inner_content`, which leaves out content controls,
tracked insertions and text boxes. Pages exist only once Word has laid a document out, so there are
none: people find a passage by its section.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.part import PartFactory
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml
from docx.package import Package
from docx.parts.document import DocumentPart
from docx.styles.style import ParagraphStyle

from ingest_app.parsing.archives import open_archive
from ingest_app.parsing.decoding import clean
from ingest_app.parsing.document import Heading, ParsedDocument, check_extent, one_line, title_from
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.media_types import DOCX

# Documents with macros and templates differ in their content type alone.
for _content_type in (
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
):
    PartFactory.part_type_for[_content_type] = DocumentPart

# lxml elements carry no types, and python-docx's add none for what is walked here.
_Element = Any

_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_PARAGRAPH, _TABLE, _ROW, _CELL = qn("w:p"), qn("w:tbl"), qn("w:tr"), qn("w:tc")
_TEXT_BOX, _NOTE_MARK = qn("w:txbxContent"), qn("w:footnoteReference")
_MARKS = {
    qn("w:tab"): "\t",
    qn("w:ptab"): "\t",
    qn("w:br"): "\n",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
}
# Deleted text, field codes, the reading aids of ruby; and what Choice beside Fallback says already.
_SKIPPED = {qn(f"w:{tag}") for tag in ("del", "moveFrom", "instrText", "pPr", "rPr", "rt", "tblPr")} | {_FALLBACK}
_HEADING_NAME = re.compile(
    r"(?:heading|überschrift|titre|título|titolo|título|kop|rubrik|overskrift|otsikko|nagłówek|nadpis|"
    r"заголовок|标题|標題|見出し|제목)\s*([1-9])",
    re.I,
)
_NO_TITLES = {"word document", "untitled", "document", "dokument"}


@dataclass(frozen=True, kw_only=True)
class _Style:
    level: int | None = None
    is_title: bool = False
    is_contents: bool = False
    is_list: bool = False


@dataclass(frozen=True, kw_only=True)
class _Block:
    """A paragraph, list item or whole table, ready to be written."""

    text: str
    within_cell: str = ""
    level: int | None = None
    is_title: bool = False
    is_item: bool = False


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from DOCX. The title: a paragraph in the style Title, the properties, a lone H1."""
    open_archive(content).close()
    part = _main_part(content)
    styles = {style.style_id: _style(style) for style in part.styles if isinstance(style, ParagraphStyle)}
    blocks = [*_blocks(part.element.body, styles), *_footnotes(part)]
    text, headings = _write(blocks)
    check_extent(text)
    property_title = part.core_properties.title
    top = [heading.text for heading in headings if heading.level == 1]
    title = title_from(
        candidates=[
            next((block.text for block in blocks if block.is_title), None),
            None if property_title.strip().lower() in _NO_TITLES else clean(property_title),
            top[0] if len(top) == 1 else None,
        ],
        name=name,
    )
    return ParsedDocument(text=text, media_type=DOCX, is_markdown=True, title=title, headings=headings)


def _main_part(content: bytes) -> DocumentPart:
    try:
        part = Package.open(io.BytesIO(content)).main_document_part
        if isinstance(part, DocumentPart) and part.element.body is not None:
            return part
        raise ValueError("no document body")
    except MemoryError:
        raise
    except Exception as error:  # whatever a hostile package makes python-docx or lxml raise
        raise UnableToParse(
            "The DOCX file is damaged or was cut off: open it in Word, save it again and upload that.",
            "corrupt_file",
        ) from error


def _style(style: ParagraphStyle) -> _Style:
    """What a style means, by its outline level (the same in every language) before its name."""
    seen: list[ParagraphStyle] = []
    level, is_list = None, False
    current: Any = style
    while isinstance(current, ParagraphStyle) and len(seen) < 20:
        seen.append(current)
        properties = current.element.find(qn("w:pPr"))
        named = _HEADING_NAME.match(current.name or "")
        if level is None:
            level = _outline_level(properties) or (int(named[1]) if named else None)
        is_list = is_list or (current.name or "").lower().startswith("list ") or _numbering(properties) is not None
        current = current.base_style
    names = {(current.name or "").lower() for current in seen}
    return _Style(
        level=level,
        is_title="title" in names,
        is_contents=any(re.match(r"toc \d|toc heading", name) for name in names),
        is_list=is_list,
    )


def _outline_level(properties: _Element | None) -> int | None:
    """1 to 9, None for body text."""
    value = _value(properties, "w:outlineLvl")
    return int(value) + 1 if value in set("012345678") else None


def _numbering(properties: _Element | None) -> int | None:
    """The depth of a list item from 0, None outside lists."""
    numbering = None if properties is None else properties.find(qn("w:numPr"))
    if numbering is None or _value(numbering, "w:numId") == "0":
        return None
    depth = _value(numbering, "w:ilvl")
    return int(depth) if depth in set("012345678") else 0


def _value(element: _Element | None, tag: str) -> str:
    child = None if element is None else element.find(qn(tag))
    return "" if child is None else str(child.get(qn("w:val"), ""))


def _blocks(container: _Element, styles: dict[str, _Style]) -> Iterator[_Block]:
    """The paragraphs and tables in reading order, text boxes after the paragraph they hang on."""
    for child in container:
        if child.tag == _PARAGRAPH:
            boxes: list[_Element] = []
            text = clean("".join(_inline(child, boxes))).strip()
            if text:
                yield from _paragraph(child, text, styles)
            for box in boxes:
                yield from _blocks(box, styles)
        elif child.tag == _TABLE:
            rows = [row for row in (list(_cells(row, styles)) for row in _inside(child, _ROW)) if any(row)]
            if rows:
                inline = "; ".join(", ".join(filter(None, row)) for row in rows)
                yield _Block(text=_table(rows), within_cell=inline)
        elif child.tag not in _SKIPPED and isinstance(child.tag, str):
            yield from _blocks(child, styles)


def _paragraph(element: _Element, text: str, styles: dict[str, _Style]) -> Iterator[_Block]:
    properties = element.find(qn("w:pPr"))
    style = styles.get(_value(properties, "w:pStyle"), _Style())
    level = _outline_level(properties) or style.level
    depth = _numbering(properties)
    if style.is_contents:
        return  # a table of contents repeats every heading and nothing else
    if style.is_title or level is not None:
        yield _Block(text=one_line(text), level=1 if style.is_title else level, is_title=style.is_title)
    elif depth is not None or style.is_list:
        yield _Block(text="  " * (depth or 0) + "- " + text, is_item=True)
    else:
        yield _Block(text=text)


def _inline(element: _Element, boxes: list[_Element]) -> Iterator[str]:
    """The text of a paragraph in pieces; text boxes met on the way are put aside."""
    for child in element:
        tag = child.tag
        if tag == qn("w:t") or tag == _MATH_TEXT:
            yield child.text or ""
        elif tag in _MARKS:
            yield _MARKS[tag]
        elif tag == _NOTE_MARK:
            yield f"[^{child.get(qn('w:id'))}]"
        elif tag == _TEXT_BOX:
            boxes.append(child)
        elif tag not in _SKIPPED and isinstance(tag, str):
            yield from _inline(child, boxes)


def _table(rows: list[list[str]]) -> str:
    """Markdown rows under the first row as their header; a single column is no table but a frame."""
    width = max(map(len, rows))
    if width < 2:
        return "\n".join(cell for row in rows for cell in row)
    cells = ([cell.replace("|", r"\|") for cell in row] + [""] * (width - len(row)) for row in rows)
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _cells(row: _Element, styles: dict[str, _Style]) -> Iterator[str]:
    """A cell a column: one that spans columns is followed by empty ones, one merged upwards is empty."""
    for cell in _inside(row, _CELL):
        properties = cell.find(qn("w:tcPr"))
        merge = None if properties is None else properties.find(qn("w:vMerge"))
        goes_on = merge is not None and merge.get(qn("w:val"), "continue") == "continue"
        blocks = [] if goes_on else _blocks(cell, styles)
        yield " ".join(" ".join((block.within_cell or block.text).split()) for block in blocks)
        span = _value(properties, "w:gridSpan")
        yield from [""] * (min(int(span), 64) - 1 if span.isascii() and span.isdecimal() else 0)


def _inside(element: _Element, tag: str) -> Iterator[_Element]:
    """Rows of a table or cells of a row, also those within content controls and insertions."""
    for child in element:
        if child.tag == tag:
            yield child
        elif child.tag not in _SKIPPED and isinstance(child.tag, str) and child.tag not in (_TABLE, _PARAGRAPH):
            yield from _inside(child, tag)


def _footnotes(part: DocumentPart) -> Iterator[_Block]:
    for relation in part.rels.values():
        if relation.reltype != RELATIONSHIP_TYPE.FOOTNOTES or relation.is_external:
            continue
        try:
            notes: Iterable[_Element] = parse_xml(relation.target_part.blob)
        except ValueError:  # lxml's syntax errors are none, ours of encoding are
            continue
        for note in notes:
            words = " ".join(block.text for block in _blocks(note, {}))
            if words and not note.get(qn("w:type")):
                yield _Block(text=f"[^{note.get(qn('w:id'))}]: {words}")


def _write(blocks: list[_Block]) -> tuple[str, tuple[Heading, ...]]:
    """The whole text, and where its headings came to stand."""
    parts: list[str] = []
    headings: list[Heading] = []
    offset = 0
    previous: _Block | None = None
    for block in blocks:
        if previous is not None:
            gap = "\n" if previous.is_item and block.is_item else "\n\n"
            parts.append(gap)
            offset += len(gap)
        text = block.text
        if block.level is not None:
            text = "#" * min(block.level, 6) + " " + text
            headings.append(Heading(offset=offset, level=block.level, text=block.text))
        parts.append(text)
        offset += len(text)
        previous = block
    return "".join(parts), tuple(headings)
