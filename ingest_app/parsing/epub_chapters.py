"""A chapter of a book: XHTML read in one pass without a tree, so that no nesting and no broken markup stops it.

Unlike a page of the web it has nothing around its text, so all of it is kept; tables and lists are read as such.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml import etree  # type: ignore[import-untyped]

from ingest_app.parsing.blocks import Block
from ingest_app.parsing.writing import DocumentWriter

_UNSEEN = {
    *("audio", "canvas", "head", "iframe", "nav", "noscript", "object", "script", "style", "svg", "template", "video"),
    # The reading aids of ruby, and what formulas say again in another notation.
    *("annotation", "annotation-xml", "rp", "rt"),
}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt"),
    *("figcaption", "figure", "footer", "form", "header", "hr", "legend", "main", "p", "section", "summary"),
    *("table", "tbody", "td", "tfoot", "th", "thead", "tr", "li", "ol", "pre", "ul", *_HEADINGS),
}
_LISTS = {"ol", "ul"}
_NOT_SHOWN = re.compile(r"display\s*:\s*none", re.I)
#: Declarations within a document type, which HTML does not have.
_DECLARATIONS = re.compile(r"\A\s*(?:<\?xml[^>]*>\s*)?<!DOCTYPE[^\[>]*\[.*?\]\s*>", re.I | re.S)
_NOTE_MARK = re.compile(r"[\s\[(]*(\w{1,6}|[*†‡§¶]{1,4})[\s\])]*")
_MOST_SPANNED = 64
_DEEPEST = 8


@dataclass(kw_only=True, slots=True)
class _Cell:
    columns: int = 1
    rows: int = 1
    blocks: list[Block] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(block.text for block in self.blocks)


@dataclass(kw_only=True, slots=True)
class _Link:
    """An open link: its first word, and whether it looks like one to a note."""

    start: int
    to_note: bool


def read_chapter(page: str) -> Chapter:
    """The chapter in a page of XHTML or HTML, however broken."""
    chapter = Chapter()
    # As bytes of a known encoding: what the page declares was true of the file.
    parser = etree.HTMLParser(target=chapter, encoding="utf-8", no_network=True, huge_tree=True)
    parser.feed(_DECLARATIONS.sub("", page, count=1).encode())
    parser.close()
    return chapter


class Chapter:
    """What a parser that calls `start`, `data` and `end` finds in a page; then it can be written."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._words: list[str] = []
        self._hidden = 0
        self._heading = 0
        self._lists = 0
        self._has_mark = False
        self._pre = 0
        self._table: list[list[_Cell]] = []
        self._tables = 0
        self._raised = 0
        self._link: _Link | None = None
        self._characters = {True: 0, False: 0}

    @property
    def linked(self) -> float:
        """How much of the text is in links, from 0 to 1."""
        return self._characters[True] / max(1, sum(self._characters.values()))

    def write(self, writer: DocumentWriter) -> list[str]:
        """Write the chapter and say what its headings are."""
        for block in self._blocks:
            block.write(writer)
        return [block.text for block in self._blocks if block.is_heading]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._hidden or tag in _UNSEEN or _is_hidden(attributes):
            self._hidden += 1
            return
        if tag in _BLOCKS:
            self._flush()
        if tag in _HEADINGS:
            self._heading = _HEADINGS[tag]
        elif tag == "br":
            self._words.append(" " if self._heading else "\n")
        elif tag in _LISTS:
            self._lists += 1
        elif tag == "li":
            self._has_mark = True
        elif tag == "pre":
            self._pre += 1
        elif tag == "sup":
            self._raised += 1
            if self._link:
                self._link.to_note = True
        elif tag == "a" and "href" in attributes:
            is_note = self._raised > 0 or "noteref" in attributes.get("epub:type", "") + attributes.get("role", "")
            self._link = _Link(start=len(self._words), to_note=is_note)
        else:
            self._start_of_table(tag, attributes)

    def end(self, tag: str) -> None:
        if self._hidden:
            self._hidden -= 1
            return
        if tag in _BLOCKS:
            self._flush()
        if tag in _HEADINGS:
            self._heading = 0
        elif tag in _LISTS:
            self._lists -= 1
        elif tag == "li":
            self._has_mark = False
        elif tag == "pre":
            self._pre -= 1
        elif tag == "sup":
            self._raised -= 1
        elif tag == "a":
            self._end_of_link()
        elif tag == "table":
            self._tables -= 1
            if not self._tables:
                self._end_of_table()

    def data(self, text: str) -> None:
        if not self._hidden:
            self._characters[self._link is not None] += len(text.strip())
            self._words.append(text if self._pre else re.sub(r"\s+", " ", text))

    def comment(self, text: str) -> None:
        """Comments are not shown."""

    def pi(self, target: str, text: str | None = None) -> None:
        """Instructions to programs are not shown."""

    def close(self) -> None:
        self._flush()

    def _start_of_table(self, tag: str, attributes: dict[str, str]) -> None:
        """Tables within a cell are a part of its text."""
        if tag == "table":
            self._tables += 1
        elif self._tables == 1 and tag == "tr":
            self._table.append([])
        elif self._tables == 1 and tag in ("td", "th"):
            self._table = self._table or [[]]
            self._table[-1].append(_Cell(columns=_span(attributes, "colspan"), rows=_span(attributes, "rowspan")))

    def _end_of_table(self) -> None:
        """A table of one column, or one with headings in it, only holds the page together: what is in it stays."""
        rows, self._table = self._table, []
        cells = [cell for row in rows for cell in row]
        if max(map(len, rows), default=0) > 1 and not any(block.level for cell in cells for block in cell.blocks):
            self._blocks.append(Block(rows=[row for row in _grid(rows) if any(row)]))
        else:
            self._blocks.extend(block for cell in cells for block in cell.blocks)

    def _end_of_link(self) -> None:
        """The mark of a note is set apart from the word before it, which nobody would find otherwise."""
        link, self._link = self._link, None
        if link and link.to_note and link.start <= len(self._words):
            mark = _NOTE_MARK.fullmatch("".join(self._words[link.start :]))
            if mark:
                self._words[link.start :] = [f"[^{mark[1]}]"]

    def _flush(self) -> None:
        """What was read since the last block began is a block, of the chapter or of the open cell."""
        if not self._words:
            return
        text = "".join(self._words).replace("\xad", "")
        self._words.clear()
        if self._pre:
            text = text.strip("\n").rstrip()
        else:
            text = "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
        if not text.strip():
            return
        depth = min(max(self._lists - 1, 0), _DEEPEST)
        if self._heading:
            block = Block(text=text, level=self._heading)
        elif self._has_mark:
            block = Block(text=text, depth=depth)
            self._has_mark = False
        elif self._lists and not self._tables:
            block = Block(text="  " * (depth + 1) + text)
        else:
            block = Block(text=text)
        in_cell = self._tables and self._table and self._table[-1]
        (self._table[-1][-1].blocks if in_cell else self._blocks).append(block)


def _grid(rows: list[list[_Cell]]) -> list[list[str]]:
    """A text for each column of each row. A merged cell is said once, in its first place."""
    taken: dict[int, int] = {}  # column to the number of rows that a cell above still covers
    lines = []
    for row in rows:
        line: list[str] = []
        covered, taken = taken, {column: left - 1 for column, left in taken.items() if left > 1}
        for cell in row:
            while len(line) in covered:
                line.append("")
            if cell.rows > 1:
                taken.update(dict.fromkeys(range(len(line), len(line) + cell.columns), cell.rows - 1))
            line.extend([cell.text, *[""] * (cell.columns - 1)])
        lines.append(line)
    return lines


def _is_hidden(attributes: dict[str, str]) -> bool:
    return (
        "hidden" in attributes
        or "pagebreak" in attributes.get("epub:type", "")
        or _NOT_SHOWN.search(attributes.get("style", "")) is not None
    )


def _span(attributes: dict[str, str], name: str) -> int:
    value = attributes.get(name, "").strip()
    return max(1, min(int(value), _MOST_SPANNED)) if re.fullmatch("[0-9]{1,9}", value) else 1
