"""Which stretches of a document belong together: what stands under one heading."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingest_app.parsing.document import Heading, ParsedDocument

#: A line with a letter or a digit.
_WORDS = re.compile(r"[^\n]*\w[^\n]*")


@dataclass(frozen=True, kw_only=True)
class Section:
    """A stretch of text and the headings it stands under, from the outside in."""

    start: int
    end: int
    path: tuple[str, ...]
    has_body: bool


def sections(document: ParsedDocument) -> Iterator[Section]:
    """The whole text in stretches that no passage crosses."""
    pages = [page.offset for page in document.pages]
    return _with_siblings(_with_body(_under_headings(document), pages), pages)


def _under_headings(document: ParsedDocument) -> Iterator[Section]:
    """The text from each heading to the next, and what comes before the first."""
    starts = [heading.offset for heading in document.headings] + [len(document.text)]
    if starts[0] > 0:
        yield Section(start=0, end=starts[0], path=(), has_body=True)
    path: list[Heading] = []
    for heading, end in zip(document.headings, starts[1:], strict=True):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        yield Section(
            start=heading.offset,
            end=end,
            path=tuple(h.text for h in path if not (h.level == 1 and h.text == document.title)),
            has_body=_has_body(document.text[heading.offset : end]),
        )


def _has_body(text: str) -> bool:
    """Whether words follow the heading's own line, which may stand between lines of marks."""
    own = _WORDS.search(text)
    return own is not None and _WORDS.search(text, own.end()) is not None


def _is_cut(first: Section, second: Section, pages: Sequence[int]) -> bool:
    """Whether a page starts between the beginnings of two sections: they are not seen together."""
    return bisect_right(pages, first.start) != bisect_right(pages, second.start)


def _with_body(found: Iterator[Section], pages: Sequence[int]) -> Iterator[Section]:
    """A heading directly above its first subheading goes with it: alone it says nothing."""
    held: Section | None = None
    for section in found:
        if held is None:
            held = section
        elif not held.has_body and section.path[: len(held.path)] == held.path and not _is_cut(held, section, pages):
            held = replace(section, start=held.start)
        else:
            yield held
            held = section
    if held is not None:
        yield held


def _with_siblings(found: Iterator[Section], pages: Sequence[int]) -> Iterator[Section]:
    """Bare headings side by side, as where a list was set in headings, stay together."""
    held: list[Section] = []
    for section in found:
        if held and (section.has_body or section.path[:-1] != held[0].path[:-1] or _is_cut(held[0], section, pages)):
            yield _merged(held)
            held = []
        if section.has_body:
            yield section
        else:
            held.append(section)
    if held:
        yield _merged(held)


def _merged(siblings: list[Section]) -> Section:
    first, last = siblings[0], siblings[-1]
    path = first.path if first is last else first.path[:-1]
    return replace(first, end=last.end, path=path)
