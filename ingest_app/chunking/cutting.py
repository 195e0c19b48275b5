"""One section's text cut into pieces: running text by its structure, tables between their rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from ingest_app.chunking.tables import Lines

#: Tokenizers may count a word of any length as one unknown token. Text in any script stays below
#: this many characters a token, so only such words (and long runs of blanks) meet the bound.
MAX_CHARACTERS_PER_TOKEN = 10
#: The splitter's time grows with the square of the text where nothing breaks it, such as a base64 image.
#: It is given at most as much as this many chunks can hold at a time.
_CHUNKS_AT_A_TIME = 8
#: More blank space than any layout needs.
_GAP = re.compile(r"\s{200,}")


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A stretch of a section's text. `lead` is the header of the table whose rows it holds, else empty."""

    start: int
    end: int
    lead: str = ""


@dataclass(frozen=True, kw_only=True)
class Cutter:
    """Cuts text into pieces of at most `size` tokens as `measure` counts them. `check` may raise."""

    splitter: type[MarkdownSplitter] | type[TextSplitter]
    measure: Callable[[str], int]
    size: int
    overlap: int
    check: Callable[[], None]

    def pieces(self, text: str, tables: Sequence[Lines] = ()) -> list[Piece]:
        """Pieces without crumbs, in order. Tables that fit into one piece are cut as any text is.

        A larger one is cut between its rows, and each of its pieces leads with its header, if that leaves
        half of the room. `tables` are in the order of the text.
        """
        pieces: list[Piece] = []
        start = 0
        for table in tables:
            if self.measure(text[table.start : table.end]) <= self.size:
                continue
            before = self._running(text, start, table.start)
            opening = table.start
            if before and self.measure(text[before[-1].start : table.start]) <= self.size // 4:
                # A caption or heading stays with the first rows.
                opening = before.pop().start
            pieces += before
            pieces += self._rows(text, table, opening)
            start = table.end
        return pieces + self._running(text, start, len(text))

    def _running(self, text: str, start: int, end: int) -> list[Piece]:
        within = text[start:end]
        found = self._split(within, self.size)
        pieces = self._without_crumbs(within, found)
        if len(pieces) > 1 and any(self._is_crumb(within, piece) for piece in pieces):
            # With room to spare in every piece, each crumb fits into its neighbour.
            pieces = self._without_crumbs(within, self._split(within, self.size - self.size // 10))
        return [Piece(start=start + first, end=start + last) for first, last in pieces]

    def _rows(self, text: str, table: Lines, opening: int) -> Iterator[Piece]:
        """Whole rows, as many as fit. `opening` is where the first piece starts, at or before the table."""
        lead = text[table.start : table.body]
        if self.measure(lead) > self.size // 2:
            lead = ""
        room = self.size - (self.measure(lead) if lead else 0)
        start, taken = opening, self.measure(text[opening : table.body])
        first = True
        for row_start, row_end in _line_spans(text, table.body, table.end):
            self.check()
            tokens = self.measure(text[row_start:row_end])
            if taken + tokens > (self.size if first else room) and text[start:row_start].strip():
                yield from self._piece(text, start, row_start, "" if first else lead, room)
                start, taken, first = row_start, 0, False
            taken += tokens
        yield from self._piece(text, start, table.end, "" if first else lead, room)

    def _piece(self, text: str, start: int, end: int, lead: str, room: int) -> Iterator[Piece]:
        end = start + len(text[start:end].rstrip())
        if end <= start:
            return
        if self.measure(text[start:end]) <= (room if lead else self.size):
            yield Piece(start=start, end=end, lead=lead)
            return
        # One row that is longer than a piece.
        for first, last in self._split(text[start:end], room if lead else self.size):
            yield Piece(start=start + first, end=start + last, lead=lead)

    def _split(self, text: str, size: int) -> list[tuple[int, int]]:
        splitter = self.splitter.from_callback(self.measure, size, min(self.overlap, size - 1))
        pieces = []
        for start, end in self._stretches(text):
            self.check()
            found = splitter.chunk_indices(text[start:end])
            pieces += [(start + offset, start + offset + len(piece)) for offset, piece in found if piece.strip()]
        return pieces

    def _stretches(self, text: str) -> Iterator[tuple[int, int]]:
        """Long text in parts, cut at the last blank line, else line, else word that still fits.

        Long runs of white space are cut at, too, and belong to no part: they cost the splitter most.
        """
        longest = self.size * MAX_CHARACTERS_PER_TOKEN * _CHUNKS_AT_A_TIME
        for start, end in _between_gaps(text):
            while end - start > longest:
                breaks = (text.rfind(mark, start + longest // 2, start + longest) for mark in ("\n\n", "\n", " "))
                cut = next((found + 1 for found in breaks if found >= 0), start + longest)
                yield start, cut
                start = cut
            yield start, end

    def _without_crumbs(self, text: str, pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
        forward: list[tuple[int, int]] = []
        for piece in pieces:
            if forward and self._is_crumb(text, forward[-1]) and self._fits(text, forward[-1], piece):
                forward[-1] = (forward[-1][0], piece[1])
            else:
                forward.append(piece)
        backward: list[tuple[int, int]] = []
        for piece in forward:
            if backward and self._is_crumb(text, piece) and self._fits(text, backward[-1], piece):
                backward[-1] = (backward[-1][0], piece[1])
            else:
                backward.append(piece)
        return backward

    def _is_crumb(self, text: str, piece: tuple[int, int]) -> bool:
        self.check()
        return self.measure(text[slice(*piece)]) <= self.size // 10

    def _fits(self, text: str, first: tuple[int, int], second: tuple[int, int]) -> bool:
        return self.measure(text[first[0] : second[1]]) <= self.size


def _between_gaps(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _GAP.finditer(text):
        if gap.start() > start:
            yield start, gap.start()
        start = gap.end()
    if start < len(text):
        yield start, len(text)


def _line_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Each line with its end of line."""
    while start < end:
        found = text.find("\n", start, end)
        line_end = end if found < 0 else found + 1
        yield start, line_end
        start = line_end
