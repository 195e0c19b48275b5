"""Passages grouped into parents: what is found is small, what is shown is the stretch around it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ingest_app.chunking import MAX_CHARACTERS_PER_TOKEN, TextChunk
from ingest_app.chunking.sections import sections
from ingest_app.parsing.document import ParsedDocument


def with_parents(
    document: ParsedDocument,
    chunks: Sequence[TextChunk],
    *,
    size: int,
    across_sections: bool,
    count_tokens: Callable[[str], int],
    check: Callable[[], None] = lambda: None,
) -> list[TextChunk]:
    """The same passages, each with its parent: the longest run of neighbours of at most `size` tokens.

    Runs follow each other, so each passage is in one; one that fits with no neighbour is its own parent. A run
    stays within a section unless `across_sections`. A run that starts between the rows of a table holds rows of
    this table only: what is shown of it needs one header, which each of its passages leads with. `check` is
    called now and then and may raise.
    """
    starts = [] if across_sections else [section.start for section in sections(document)]
    runs = _Runs(
        text=document.text,
        chunks=chunks,
        groups=[bisect_right(starts, part.start) for part in chunks],
        size=size,
        count_tokens=count_tokens,
    )
    found: list[TextChunk] = []
    while len(found) < len(chunks):
        check()
        first = len(found)
        last = runs.last(first)
        span = chunks[first].start, chunks[last].end
        found += [replace(part, parent=span) for part in chunks[first : last + 1]]
    return found


#: Characters of a token in most languages, until the text itself has shown it.
_USUAL_CHARACTERS_PER_TOKEN = 4


@dataclass(kw_only=True)
class _Runs:
    text: str
    chunks: Sequence[TextChunk]
    #: Of each passage, what it may share a parent with: passages of the same number.
    groups: Sequence[int]
    size: int
    count_tokens: Callable[[str], int]
    #: Characters of the latest run that was as long as it could be: the next one is hardly different.
    _reach: int = field(init=False)

    def __post_init__(self) -> None:
        self._reach = self.size * _USUAL_CHARACTERS_PER_TOKEN

    def last(self, first: int) -> int:
        """Where the longest run that starts at `first` ends.

        A guess is tried, then what is beside it, in steps that double and then halve: so a text is counted two or
        three times, not once for each of its passages.
        """
        start = self.chunks[first].start
        furthest = self._furthest(first)
        #: The last known to fit, and the first known not to.
        fits, too_long = first, furthest + 1
        guess = bisect_right(self.chunks, start + self._reach, first, too_long, key=lambda part: part.end) - 1
        step = 1
        while too_long - fits > 1:
            tried = guess if fits < guess < too_long else (fits + too_long) // 2
            if self._fits(first, tried):
                fits, guess = tried, tried + step
            else:
                too_long, guess = tried, tried - step
            step *= 2
        if fits < furthest:
            self._reach = self.chunks[fits].end - start
        return fits

    def _furthest(self, first: int) -> int:
        """The last passage that could be in the run, by all that needs no counting."""
        chunks, last = self.chunks, first
        longest = self.size * MAX_CHARACTERS_PER_TOKEN
        lead = _lead(chunks[first])
        while (
            last + 1 < len(chunks)
            and self.groups[last + 1] == self.groups[first]
            and chunks[last + 1].end - chunks[first].start <= longest
            and (not lead or _lead(chunks[last + 1]) == lead)
        ):
            last += 1
        return last

    def _fits(self, first: int, last: int) -> bool:
        return self.count_tokens(self.text[self.chunks[first].start : self.chunks[last].end]) <= self.size


def _lead(part: TextChunk) -> str:
    """The header of the table whose rows the passage goes on with; empty elsewhere."""
    return part.text[: len(part.text) - (part.end - part.start)]
