"""OpenDocument text as Markdown: headings by outline level, lists, tables, notes, headers and footers once.

Tracked deletions, comments and hidden text are left out, and so is the table of contents: it repeats every
heading and nothing else. Pages exist only once a program has laid a document out, so there are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from ingest_app.parsing.blocks import Block
from ingest_app.parsing.document import ParsedDocument
from ingest_app.parsing.errors import UnableToParse
from ingest_app.parsing.media_types import ODT
from ingest_app.parsing.package import Element, Package, damaged, resolved
from ingest_app.parsing.writing import DocumentWriter

_PREFIXES = {
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "form": "urn:oasis:names:tc:opendocument:xmlns:form:1.0",
    "math": "http://www.w3.org/1998/Math/MathML",
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
    "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "xlink": "http://www.w3.org/1999/xlink",
}


def _name(prefixed: str) -> str:
    prefix, _, local = prefixed.partition(":")
    return f"{{{_PREFIXES[prefix]}}}{local}"


_PARAGRAPH, _HEADING, _LIST, _TABLE = _name("text:p"), _name("text:h"), _name("text:list"), _name("table:table")
_ROW, _CELL, _COVERED = _name("table:table-row"), _name("table:table-cell"), _name("table:covered-table-cell")
_ITEM, _NOTE, _SPACES, _PAGE = (*map(_name, ("text:list-item", "text:note", "text:s", "style:master-page")),)
_OBJECT, _MATH, _PAGE_NUMBER = _name("draw:object"), _name("math:math"), _name("text:page-number")
_DRAWN = _name("draw:")
_MARKS = {_name("text:tab"): "\t", _name("text:line-break"): "\n"}
_STYLE_NAME, _HREF = _name("text:style-name"), _name("xlink:href")
_SKIPPED = {
    *map(_name, ("office:annotation", "office:event-listeners", "office:forms", "svg:desc", "svg:title")),
    *map(_name, ("text:ruby-text", "text:script", "text:table-of-content", "text:tracked-changes")),
    *map(_name, ("math:annotation", "math:annotation-xml")),
}
#: Where a table goes on: what it repeats adds no more than this many cells to it.
_MOST_REPEATED = 20_000
_MOST_COLUMNS = 1024
_MOST_SPACES = 200
_WORDS_OF_PAGE_NUMBER = 2
_HEADING_STYLE = re.compile(r"Heading_20_([1-9]|10)")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Block(Block):
    """`is_within` says that it belongs to a list item, after its mark."""

    is_title: bool = False
    is_code: bool = False
    is_within: bool = False


@dataclass(frozen=True, kw_only=True)
class _Style:
    """`master_page` is the kind of page that a paragraph of this style starts."""

    parent: str = ""
    is_hidden: bool = False
    master_page: str = ""


def parse(*, name: str, content: bytes) -> ParsedDocument:
    """One document from ODT. The title: the properties, a paragraph in the style Title, the first heading."""
    package = Package(content)
    _refuse_encrypted(package)
    root = package.xml("content.xml")
    body = None if root is None else root.find(f"{_name('office:body')}/{_name('office:text')}")
    if body is None:
        raise damaged()
    layout = package.xml("styles.xml", lenient=True)
    text = _Text(package, [layout, root])
    headers, footers = _running(text, layout, root)
    blocks = [*headers, *text.blocks(body), *text.notes(), *footers]
    writer = DocumentWriter()
    for is_code, found in groupby(blocks, key=lambda block: block.is_code):
        for block in [_Block(text="\n".join(line.text for line in found))] if is_code else found:
            block.write(writer)
    meta = package.xml("meta.xml", lenient=True)
    titles = [
        None if meta is None else meta.findtext(f"{_name('office:meta')}/{{http://purl.org/dc/elements/1.1/}}title"),
        next((block.text for block in blocks if block.is_title), None),
        next((block.text for block in blocks if block.is_heading), None),
    ]
    return writer.document(media_type=ODT, name=name, titles=titles)


def _refuse_encrypted(package: Package) -> None:
    manifest = package.xml("META-INF/manifest.xml", lenient=True)
    if manifest is not None and next(manifest.iter("{*}encryption-data"), None) is not None:
        raise UnableToParse("The file is encrypted: save it without a password and upload it again.", "encrypted")


def _running(text: _Text, layout: Element | None, root: Element) -> tuple[list[_Block], list[_Block]]:
    """What stands at the head and at the foot of the kinds of pages in use, each text once."""
    pages = {} if layout is None else {page.get(_name("style:name"), ""): page for page in layout.iter(_PAGE)}
    used = dict.fromkeys((next(iter(pages), ""), *text.master_pages(root)))
    for page in list(used):
        while page in pages:  # a first page is followed by others of another kind
            page = pages[page].get(_name("style:next-style-name"), "")
            if page in used:
                break
            used[page] = None
    found: dict[str, dict[str, _Block]] = {"header": {}, "footer": {}}
    for page in used:
        for part in pages.get(page, ()):
            kind = next((known for known in found if str(part.tag).startswith(_name(f"style:{known}"))), None)
            if kind and part.get(_name("style:display")) != "false":
                _remove_page_numbers(part)
                found[kind].update({block.in_one_line: block for block in text.blocks(part)})
    return list(found["header"].values()), list(found["footer"].values())


def _remove_page_numbers(part: Element) -> None:
    """Empty the paragraphs that say little more than a page's number, such as `Page 1 of 3`."""
    for paragraph in part.iter(_PARAGRAPH):
        numbered = paragraph.find(f".//{_PAGE_NUMBER}") is not None
        if numbered and len(re.findall(r"[^\W\d]+", "".join(paragraph.itertext()))) <= _WORDS_OF_PAGE_NUMBER:
            paragraph.clear()


class _Text:
    """Reads text out of elements. Notes met on the way are put aside, embedded objects are read once each."""

    def __init__(self, package: Package, roots: Iterable[Element | None]) -> None:
        self._package = package
        self._notes: list[tuple[str, list[_Block]]] = []
        self._objects: set[str] = set()
        self._styles: dict[tuple[str, str], _Style] = {}
        for root in roots:
            for found in () if root is None else root.iter(_name("style:style")):
                key = found.get(_name("style:family"), ""), found.get(_name("style:name"), "")
                properties = found.find(_name("style:text-properties"))
                self._styles[key] = _Style(
                    parent=found.get(_name("style:parent-style-name"), ""),
                    is_hidden=properties is not None and properties.get(_name("text:display")) == "none",
                    master_page=found.get(_name("style:master-page-name"), ""),
                )

    def master_pages(self, root: Element) -> list[str]:
        """The kinds of pages that paragraphs and tables ask for."""
        used = {element.get(_STYLE_NAME) for element in root.iter(_PARAGRAPH, _HEADING)}
        used |= {element.get(_name("table:style-name")) for element in root.iter(_TABLE)}
        pages = (style.master_page for (_, name), style in self._styles.items() if name in used)
        return list(dict.fromkeys(page for page in pages if page))

    def blocks(self, container: Element, depth: int = -1) -> Iterator[_Block]:
        """Everything in reading order, text boxes after the paragraph they hang on; `depth` is that of its list."""
        for child in container:
            tag = child.tag
            if tag in (_PARAGRAPH, _HEADING):
                boxes: list[Element] = []
                block = self._paragraph(child, boxes)
                if block.text:
                    yield block
                for box in boxes:
                    yield from self.blocks(box)
            elif tag == _LIST:
                yield from self._list(child, depth + 1)
            elif tag == _TABLE:
                rows = list(self._rows(child))
                if rows:
                    yield _Block(rows=rows)
            elif tag == _OBJECT:
                yield from self._object(child)
            elif not _is_skipped(child):
                yield from self.blocks(child, depth)

    def notes(self) -> Iterator[_Block]:
        """Footnotes and endnotes, also those that stand in notes."""
        for mark, blocks in self._notes:
            yield _Block(text=f"[^{mark}]: " + " ".join(block.in_one_line for block in blocks))

    def _paragraph(self, element: Element, boxes: list[Element]) -> _Block:
        names = self._names("paragraph", element.get(_STYLE_NAME, ""))
        if self._is_hidden("paragraph", element):
            return _Block()
        text = self._line(element, boxes)
        named = next((match for name in names if (match := _HEADING_STYLE.fullmatch(name))), None)
        level = element.get(_name("text:outline-level"), "1") if element.tag == _HEADING else named[1] if named else ""
        if "Title" in names:
            return _Block(text=text.strip(), level=1, is_title=True)
        if "Preformatted_20_Text" in names:
            return _Block(text=text, is_code=True)
        text = text.strip()
        return _Block(text=text, level=int(level) if re.fullmatch("[1-9]|10", level) else None)

    def _list(self, element: Element, depth: int) -> Iterator[_Block]:
        """The items of a list; the first paragraph of each has its mark, what follows is set under it."""
        for item in element:
            has_mark = item.tag == _ITEM
            for block in self.blocks(item, depth):
                if block.level or block.rows or block.is_within or block.depth is not None:
                    yield block
                elif has_mark:
                    yield _Block(text=block.text, depth=depth)
                else:
                    yield _Block(text="  " * (depth + 1) + block.text, is_within=True)
                has_mark = False

    def _rows(self, element: Element) -> Iterator[list[str]]:
        """Rows down to the last that is filled, each up to its last cell; repeated ones a bounded number of times."""
        left = _MOST_REPEATED
        for row in _inside(element, _ROW):
            cells: list[str] = []
            for cell in _inside(row, _CELL, _COVERED):
                # What a merged cell covers is not shown.
                found = () if cell.tag == _COVERED else self.blocks(cell)
                text = " ".join(" ".join(block.in_one_line.split()) for block in found)
                times = _count(
                    cell.get(_name("table:number-columns-repeated")), most=max(1, _MOST_COLUMNS - len(cells))
                )
                cells.extend([text] * times)
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                times = _count(row.get(_name("table:number-rows-repeated")), most=1 + left // len(cells))
                left -= (times - 1) * len(cells)
                for _ in range(times):
                    yield cells

    def _line(self, element: Element, boxes: list[Element]) -> str:
        """The text of a paragraph, white space as it is shown: runs of it count once, what counts has marks."""
        words = re.sub(" +", " ", "".join(self._inline(element, boxes)))
        return words.replace("\xa0", " ").replace("\xad", "").rstrip()

    def _inline(self, element: Element, boxes: list[Element]) -> Iterator[str]:
        yield _collapsed(element.text)
        for child in element:
            tag = child.tag
            if tag in _MARKS:
                yield _MARKS[tag]
            elif tag == _SPACES:
                yield "\xa0" * _count(child.get(_name("text:c")), most=_MOST_SPACES)
            elif tag == _NOTE:
                yield self._note(child)
            elif isinstance(tag, str) and tag.startswith(_DRAWN) and child.find(f".//{_PARAGRAPH}") is not None:
                boxes.append(child)
            elif tag == _OBJECT:
                yield self._inline_object(child, boxes)
            elif not _is_skipped(child) and not self._is_hidden("text", child):
                yield from self._inline(child, boxes)
            yield _collapsed(child.tail)

    def _note(self, element: Element) -> str:
        mark = " ".join((element.findtext(_name("text:note-citation")) or "").split())
        body = element.find(_name("text:note-body"))
        blocks: list[_Block] = []
        self._notes.append((mark, blocks))
        blocks.extend(() if body is None else self.blocks(body))
        return f"[^{mark}]"

    def _embedded(self, element: Element) -> Element | None:
        """What is drawn in place of an object: formula or chart, in the object itself or in a part of its own."""
        if len(element):
            return element
        path = resolved(element.get(_HREF, "") + "/content.xml", base="content.xml")
        if path in self._objects:
            return None
        self._objects.add(path)
        return self._package.xml(path, lenient=True)

    def _object(self, element: Element) -> Iterator[_Block]:
        found = self._embedded(element)
        if found is None:
            return
        formula = _formula(found)
        if formula:
            yield _Block(text=formula)
        else:
            yield from self.blocks(found)

    def _inline_object(self, element: Element, boxes: list[Element]) -> str:
        found = self._embedded(element)
        formula = "" if found is None else _formula(found)
        if found is not None and not formula:
            boxes.append(found)
        return formula

    def _names(self, family: str, name: str) -> list[str]:
        """A style and those it is based on."""
        names: list[str] = []
        while name and name not in names and len(names) < 20:
            names.append(name)
            name = self._styles.get((family, name), _Style()).parent
        return names

    def _is_hidden(self, family: str, element: Element) -> bool:
        names = self._names(family, element.get(_STYLE_NAME, ""))
        return any(self._styles.get((family, name), _Style()).is_hidden for name in names)


def _formula(root: Element) -> str:
    """The symbols of a formula, without its source in another notation; empty for what is none."""
    found = next(root.iter(_MATH), None)
    symbols = (
        ()
        if found is None
        else (
            element.text or "" for element in found.iter() if isinstance(element.tag, str) and not _is_skipped(element)
        )
    )
    return " ".join(" ".join(symbols).split())


def _inside(element: Element, *tags: str) -> Iterator[Element]:
    """Rows of a table or cells of a row, also those in groups."""
    for child in element:
        if child.tag in tags:
            yield child
        elif child.tag != _TABLE and not _is_skipped(child):
            yield from _inside(child, *tags)


def _is_skipped(element: Element) -> bool:
    """Whether an element shows nothing: comments, what is hidden, and what describes instead of showing."""
    if not isinstance(element.tag, str) or element.tag in _SKIPPED:
        return True
    return bool(element.get(_name("text:display")) == "none" or element.get(_name("text:is-hidden")) == "true")


def _collapsed(text: str | None) -> str:
    return re.sub(r"[ \t\r\n]+", " ", text or "")


def _count(text: str | None, *, most: int) -> int:
    """A number of repetitions, 1 where there is none."""
    return max(0, min(int(text), most)) if text is not None and re.fullmatch("[0-9]{1,12}", text) else min(1, most)
