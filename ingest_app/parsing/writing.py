"""Writing what a parser found as one Markdown text, keeping the places that people cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingest_app.parsing.decoding import clean
from ingest_app.parsing.document import (
    MAX_CHARACTERS,
    Heading,
    PageStart,
    ParsedDocument,
    Rows,
    check_extent,
    one_line,
    title_from,
)

#: A table whose header takes more than this many characters is written row by row, each cell with its column:
#: no passage has room to repeat such a header.
WIDE_HEADER = 320


class DocumentWriter:
    """Takes headings, blocks, tables and page starts in reading order; then give it the name and take the document."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._offset = 0
        self._headings: list[Heading] = []
        self._pages: list[PageStart] = []
        self._rows: list[Rows] = []
        self._next_page: int | None = None
        self._follows_item = False

    def page(self, number: int) -> None:
        """What is written next stands on this page or slide, counted from 1."""
        self._next_page = number

    def heading(self, text: str, *, level: int) -> None:
        """A heading of any level from 1; Markdown knows six."""
        line = " ".join(clean(text).split())
        if line:
            offset = self._write("#" * min(level, 6) + " " + line)
            self._headings.append(Heading(offset=offset, level=level, text=one_line(line)))

    def block(self, text: str) -> None:
        """A paragraph, list, code block or anything else that stands by itself. Blank text leaves nothing."""
        text = clean(text).strip("\n").rstrip()
        if text.strip():
            self._write(text)

    def item(self, text: str, *, depth: int = 0) -> None:
        """An item of a list, `depth` levels within others. Items that follow each other stay together."""
        text = " ".join(clean(text).split())
        if text:
            self._write("  " * depth + "- " + text, is_item=True)

    def table(self, rows: Sequence[Sequence[str]], *, first_row: int | None = None, sheet: str = "") -> None:
        """A table whose first row is its header, one line a row.

        `first_row` is the number of that header's row in the sheet; without it the table is no sheet's, and
        nobody asks for its rows. A wide table repeats its columns' names in every row.
        """
        cells = [[_cell(cell) for cell in row] for row in rows]
        width = max((len(row) for row in cells), default=0)
        if not any(any(row) for row in cells):
            return
        header, *body = ([*row, *[""] * (width - len(row))] for row in cells)
        if not body:
            head, lines = [], [_line(header) if width > 1 else header[0]]
        elif width == 1:
            head, lines = [header[0]] if header[0] else [], [row[0] for row in body]
        elif sum(map(len, header)) + 3 * width > WIDE_HEADER:
            head, lines = [], [_record(header, row) for row in body]
        else:
            head, lines = [_line(header), "|" + " --- |" * width], [_line(row) for row in body]
        offset = self._write("\n".join([*head, *lines]))
        if first_row is not None:
            # The header leads every passage of the table; what tells passages apart are the rows below it.
            start = offset + sum(len(line) + 1 for line in head)
            number = first_row + (1 if body else 0)
            self._rows.append(Rows(start=start, end=self._offset, first=number, sheet=sheet))

    def document(
        self,
        *,
        media_type: str,
        name: str,
        titles: Sequence[str | None] = (),
        properties: Mapping[str, str | None] | None = None,
    ) -> ParsedDocument:
        """Everything written. The title is the first of `titles` that says something, else the file's name.

        Properties without a value are left out. Raises UnableToParse when nothing was written, or too much.
        """
        return ParsedDocument(
            text=check_extent("".join(self._parts)),
            media_type=media_type,
            title=title_from(candidates=[clean(title or "") for title in titles], name=name),
            is_markdown=True,
            headings=tuple(self._headings),
            pages=tuple(self._pages),
            rows=tuple(self._rows),
            properties={key: one_line(clean(value)) for key, value in (properties or {}).items() if value},
        )

    def _write(self, text: str, *, is_item: bool = False) -> int:
        if self._parts:
            self._append("\n" if is_item and self._follows_item else "\n\n")
        self._follows_item = is_item
        if self._next_page is not None:
            self._pages.append(PageStart(offset=self._offset, number=self._next_page))
            self._next_page = None
        offset = self._offset
        self._append(text)
        if self._offset > MAX_CHARACTERS:
            check_extent("".join(self._parts))
        return offset

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._offset += len(text)


def _cell(text: str) -> str:
    return " ".join(clean(text).split())


def _line(row: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |"


def _record(header: Sequence[str], row: Sequence[str]) -> str:
    """A row that needs no header: `Name: Ada; Born: 1815`."""
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(header, row, strict=True) if cell)
