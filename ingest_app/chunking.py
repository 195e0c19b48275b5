"""Documents cut into passages that can be cited: exact offsets, section path, page.

A chunk never crosses a heading. Inside a section semantic-text-splitter chooses the cuts: blocks
before sentences before words before characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from semantic_text_splitter import MarkdownSplitter, TextSplitter

from ingest_app.parsing.document import Heading, ParsedDocument

# Tokenizers may count a word of any length as one unknown token. Text in any script stays below
# this many characters a token, so only such words (and long runs of blanks) meet the bound.
MAX_CHARACTERS_PER_TOKEN = 10
# The splitter's time grows with the square of the text where nothing breaks it, such as a base64 image.
# It is given at most as much as this many chunks can hold at a time.
_CHUNKS_AT_A_TIME = 8
# More blank space than any layout needs.
_GAP = re.compile(r"\s{200,}")
# Formats whose parsers write Markdown; the others are cut as running text.
_MARKDOWN_TEXT = {
    "text/markdown",
    "text/html",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}


@dataclass(frozen=True, kw_only=True)
class TextChunk:
    """One passage: `text == document.text[start:end]`. `ordinal` counts from 0, `page` from 1.

    `section` names the enclosing headings from the outside in. A level-1 heading that repeats the
    document's title is left out. `page` is where the passage starts, None without pages.
    """

    ordinal: int
    text: str
    start: int
    end: int
    section: tuple[str, ...]
    page: int | None


@dataclass(frozen=True, kw_only=True)
class _Section:
    start: int
    end: int
    path: tuple[str, ...]
    has_body: bool


def chunk(
    document: ParsedDocument,
    *,
    size: int,
    overlap: int,
    count_tokens: Callable[[str], int],
    check: Callable[[], None] = lambda: None,
) -> list[TextChunk]:
    """Passages of at most `size` tokens; neighbours in a section share up to `overlap` tokens.

    The overlap ends where a block, sentence or word ends, so it may be shorter. All text but white
    space is in some passage. `check` is called every few passages and may raise.
    Raises ValueError unless 0 <= overlap < size.
    """
    if not 0 <= overlap < size:
        raise ValueError("overlap must be at least 0 and less than size")

    def measure(text: str) -> int:
        by_length = -(-len(text) // MAX_CHARACTERS_PER_TOKEN)
        # Too much is too much: the tokenizer need not read a book to say so.
        return by_length if by_length > size else max(count_tokens(text), by_length)

    splitter = MarkdownSplitter if document.media_type in _MARKDOWN_TEXT else TextSplitter
    cut = _Cut(splitter=splitter, measure=measure, size=size, overlap=overlap, check=check)
    page_offsets = [page.offset for page in document.pages]
    chunks: list[TextChunk] = []
    for section in _with_siblings(_with_body(_sections(document))):
        for piece_start, piece_end in cut.pieces(document.text[section.start : section.end]):
            start, end = section.start + piece_start, section.start + piece_end
            page = bisect_right(page_offsets, start) - 1
            chunks.append(
                TextChunk(
                    ordinal=len(chunks),
                    text=document.text[start:end],
                    start=start,
                    end=end,
                    section=section.path,
                    page=document.pages[page].number if page >= 0 else None,
                )
            )
    return chunks


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """One section's text cut into pieces, given as (start, end)."""

    splitter: type[MarkdownSplitter] | type[TextSplitter]
    measure: Callable[[str], int]
    size: int
    overlap: int
    check: Callable[[], None]

    def pieces(self, text: str) -> list[tuple[int, int]]:
        """Pieces without crumbs: the splitter leaves headings and list marks alone before long blocks."""
        pieces = self._without_crumbs(text, self._split(text, self.size))
        if len(pieces) > 1 and any(self._is_crumb(text, piece) for piece in pieces):
            # With room to spare in every piece, each crumb fits into its neighbour.
            pieces = self._without_crumbs(text, self._split(text, self.size - self.size // 10))
        return pieces

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


def _sections(document: ParsedDocument) -> Iterator[_Section]:
    """The text from each heading to the next, and what comes before the first."""
    starts = [heading.offset for heading in document.headings] + [len(document.text)]
    if starts[0] > 0:
        yield _Section(start=0, end=starts[0], path=(), has_body=True)
    path: list[Heading] = []
    for heading, end in zip(document.headings, starts[1:], strict=True):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        body = document.text[heading.offset : end].strip().partition("\n")[2]
        yield _Section(
            start=heading.offset,
            end=end,
            path=tuple(h.text for h in path if not (h.level == 1 and h.text == document.title)),
            has_body=bool(body.strip("=- \t\n")),
        )


def _with_body(sections: Iterator[_Section]) -> Iterator[_Section]:
    """A heading directly above its first subheading goes with it: alone it says nothing."""
    held: _Section | None = None
    for section in sections:
        if held is None:
            held = section
        elif not held.has_body and section.path[: len(held.path)] == held.path:
            held = replace(section, start=held.start)
        else:
            yield held
            held = section
    if held is not None:
        yield held


def _with_siblings(sections: Iterator[_Section]) -> Iterator[_Section]:
    """Bare headings side by side, as where a list was set in headings, stay together."""
    held: list[_Section] = []
    for section in sections:
        if held and (section.has_body or section.path[:-1] != held[0].path[:-1]):
            yield _merged(held)
            held = []
        if section.has_body:
            yield section
        else:
            held.append(section)
    if held:
        yield _merged(held)


def _merged(siblings: list[_Section]) -> _Section:
    first, last = siblings[0], siblings[-1]
    path = first.path if first is last else first.path[:-1]
    return replace(first, end=last.end, path=path)
