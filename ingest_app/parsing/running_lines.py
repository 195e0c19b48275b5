"""Headers and footers: lines that most pages of a document repeat, told from what the pages say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

# Below this many pages a repeated line is as likely content.
MIN_PAGES = 4
_SHARE = 0.5
_EDGE = 3
_NUMBER = re.compile(r"\d{1,6}")
# The words of a line with its numbers; a number counts as itself or by its distance to the page's own.
_Key = tuple[str, tuple[tuple[bool, int], ...]]


def without_running_lines(pages: Sequence[str]) -> list[str]:
    """The pages without headers and footers. What a header says is kept once, page numbers never.

    Only the first and last three lines of a page are looked at. A line belongs to a header when at
    least half of the pages have it, equal or with numbers that count up with the pages.
    """
    if len(pages) < MIN_PAGES:
        return list(pages)
    lines_of_pages = [page.split("\n") for page in pages]
    counts: Counter[_Key] = Counter()
    for number, lines in enumerate(lines_of_pages):
        counts.update({key for index in _edges(lines) for key in _keys(lines[index], number)})
    needed = max(3, _SHARE * len(pages))
    running = {key for key, count in counts.items() if count >= needed}
    seen: set[_Key] = set()
    kept = []
    for number, lines in enumerate(lines_of_pages):
        dropped = set()
        for index in _edges(lines):
            keys = running.intersection(_keys(lines[index], number))
            numbered = any(is_relative for _, slots in keys for is_relative, _ in slots)
            if keys and (numbered or keys & seen):
                dropped.add(index)
            seen |= keys
        kept.append("\n".join(line for index, line in enumerate(lines) if index not in dropped))
    return kept


def _edges(lines: Sequence[str]) -> list[int]:
    """The indexes of the first and last lines that say something."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return sorted({*filled[:_EDGE], *filled[-_EDGE:]})


def _keys(line: str, page: int) -> Iterator[_Key]:
    numbers = [int(number) for number in _NUMBER.findall(line)]
    words = " ".join(_NUMBER.sub("#", line).split())
    if len(numbers) > 4:  # a row of a table; its 2^n readings are not worth counting
        return
    for relative in product((False, True), repeat=len(numbers)):
        slots = tuple((r, n - page if r else n) for r, n in zip(relative, numbers, strict=True))
        yield words, slots
