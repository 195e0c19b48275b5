"""Documents cut into passages that can be cited: exact offsets, section path, page, rows.

A passage never crosses a heading. Inside a section semantic-text-splitter chooses the cuts: blocks
before sentences before words before characters. Tables are cut between rows.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from ingest_app.chunking.cutting import MAX_CHARACTERS_PER_TOKEN, Cutter, Piece
from ingest_app.chunking.sections import Section, sections
from ingest_app.chunking.tables import Lines, tables
from ingest_app.chunking.windows import window_spans
from ingest_app.parsing.document import ParsedDocument

_LINE_END = re.compile("\n")

__all__ = ["MAX_CHARACTERS_PER_TOKEN", "RowRange", "TextChunk", "chunk", "whole", "windows"]


@dataclass(frozen=True, kw_only=True)
class RowRange:
    """Rows of one sheet that a passage holds, both ends included, counted from 1. CSV has a sheet without a name."""

    sheet: str
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class TextChunk:
    """One passage: `text` is `document.text[start:end]`, after the header of its table where rows of one go on.

    `ordinal` counts from 0, `page` from 1. `section` names the enclosing headings from the outside in. A
    level-1 heading that repeats the document's title is left out. `page` is where the passage starts, None
    without pages; `rows` is None outside sheets. `parent` is the stretch that is shown where the passage is
    found, in characters of the document's text; None where it is the passage itself.
    """

    ordinal: int
    text: str
    start: int
    end: int
    section: tuple[str, ...]
    page: int | None
    rows: RowRange | None = None
    parent: tuple[int, int] | None = None


def chunk(
    document: ParsedDocument,
    *,
    size: int,
    overlap: int,
    count_tokens: Callable[[str], int],
    check: Callable[[], None] = lambda: None,
) -> list[TextChunk]:
    """Passages of at most `size` tokens; neighbours in a section share up to `overlap` tokens.

    The overlap ends where a block, sentence or word ends, so it may be shorter; rows of a table never
    overlap. All text but white space is in some passage. `check` is called every few passages and may raise.
    Raises ValueError unless 0 <= overlap < size.
    """
    if not 0 <= overlap < size:
        raise ValueError("overlap must be at least 0 and less than size")

    def measure(text: str) -> int:
        by_length = -(-len(text) // MAX_CHARACTERS_PER_TOKEN)
        # Too much is too much: the tokenizer need not read a book to say so.
        return by_length if by_length > size else max(count_tokens(text), by_length)

    splitter = MarkdownSplitter if document.is_markdown else TextSplitter
    cutter = Cutter(splitter=splitter, measure=measure, size=size, overlap=overlap, check=check)
    by_line = tables(document)
    table_starts = [table.start for table in by_line]
    places = _Places(document)
    chunks: list[TextChunk] = []
    for section in sections(document):
        inside = slice(bisect_left(table_starts, section.start), bisect_left(table_starts, section.end))
        own = [_within(section, table) for table in by_line[inside]]
        for piece in cutter.pieces(document.text[section.start : section.end], own):
            chunks.append(places.passage(section, piece, ordinal=len(chunks)))
    return chunks


def windows(
    document: ParsedDocument,
    *,
    size: int,
    overlap: int,
    count_tokens: Callable[[str], int],
    check: Callable[[], None] = lambda: None,
) -> list[TextChunk]:
    """Passages of about `size` tokens and never more, cut between words, over headings and tables alike."""
    places = _Places(document)
    spans = window_spans(document.text, size=size, overlap=overlap, count_tokens=count_tokens, check=check)
    under = list(sections(document))
    starts = [section.start for section in under]
    chunks: list[TextChunk] = []
    for start, end in spans:
        section = under[max(0, bisect_right(starts, start) - 1)]
        end = start + len(document.text[start:end].rstrip())
        piece = Piece(start=start - section.start, end=end - section.start)
        chunks.append(places.passage(section, piece, ordinal=len(chunks)))
    return chunks


def whole(document: ParsedDocument) -> list[TextChunk]:
    """The document as one passage."""
    return [TextChunk(ordinal=0, text=document.text, start=0, end=len(document.text), section=(), page=None)]


def _within(section: Section, table: Lines) -> Lines:
    """The same table in offsets of the section's text."""
    end = min(table.end, section.end) - section.start
    return Lines(start=table.start - section.start, body=min(table.body - section.start, end), end=end)


class _Places:
    """Finds the page and the rows of a stretch of a document."""

    def __init__(self, document: ParsedDocument) -> None:
        self._document = document
        self._pages = [page.offset for page in document.pages]
        self._row_ends = [rows.end for rows in document.rows]
        self._line_ends: dict[int, list[int]] = {}

    def passage(self, section: Section, piece: Piece, *, ordinal: int) -> TextChunk:
        start, end = section.start + piece.start, section.start + piece.end
        page = bisect_right(self._pages, start) - 1
        return TextChunk(
            ordinal=ordinal,
            text=piece.lead + self._document.text[start:end],
            start=start,
            end=end,
            section=section.path,
            page=self._document.pages[page].number if page >= 0 else None,
            rows=self._rows(start, end),
        )

    def _rows(self, start: int, end: int) -> RowRange | None:
        """The rows in a stretch, of the first sheet in it."""
        document = self._document
        index = bisect_left(self._row_ends, start + 1)
        found: RowRange | None = None
        while index < len(document.rows) and document.rows[index].start < end:
            rows = document.rows[index]
            if found is not None and rows.sheet != found.sheet:
                break
            first, last = self._row_at(index, max(start, rows.start)), self._row_at(index, min(end, rows.end) - 1)
            found = RowRange(sheet=rows.sheet, first=found.first if found else first, last=last)
            index += 1
        return found

    def _row_at(self, index: int, offset: int) -> int:
        rows = self._document.rows[index]
        if index not in self._line_ends:
            text = self._document.text[rows.start : rows.end]
            self._line_ends[index] = [rows.start + match.start() for match in _LINE_END.finditer(text)]
        return rows.first + bisect_left(self._line_ends[index], offset)
