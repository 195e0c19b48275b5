"""Where a text has the terms of a query, so that a reader sees why it was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from stores_app.lexical.analysis import CJK_RUN, WORD, camel_parts, document_terms, query_terms

_JOINTS = ".'\u2019\u02bc\u2010-"
#: As `analysis` finds tokens, but in a text as it stands: with soft hyphens, and signs that it makes plain first.
_TOKEN = re.compile(rf"{WORD}(?:[\u00ad{_JOINTS}]{WORD})*")
_PIECE = re.compile(rf"[^_{_JOINTS}]+")


def marks(*, query: str, texts: Sequence[str], language: str) -> list[list[tuple[int, int]]]:
    """For each text half-open ranges of characters, ascending, none overlapping. Raises InvalidInput.

    A name that the query has whole is marked whole; else those of its parts that the query has.
    """
    terms = {asked.term for asked in query_terms(query, language)}
    return [_merged(_found(text, terms, language)) for text in texts]


def _found(text: str, terms: set[str], language: str) -> Iterator[tuple[int, int]]:
    if not terms:
        return
    for token in _TOKEN.finditer(text):
        own = set(document_terms(token.group(), language))
        if own and own <= terms:
            yield token.span()
        elif own & terms:
            # Where signs stand for several characters, none of the parts may be found as it stands: then all is marked.
            for start, end in list(_parts(token.group(), terms, language)) or [(0, len(token.group()))]:
                yield token.start() + start, token.start() + end


def _parts(token: str, terms: set[str], language: str) -> Iterator[tuple[int, int]]:
    position = 0
    for run in CJK_RUN.finditer(token):
        yield from _pieces(token, position, run.start(), terms, language)
        for place in range(run.start(), max(run.end() - 1, run.start() + 1)):
            until = min(place + 2, run.end())
            if token[place:until] in terms:
                yield place, until
        position = run.end()
    yield from _pieces(token, position, len(token), terms, language)


def _pieces(token: str, start: int, end: int, terms: set[str], language: str) -> Iterator[tuple[int, int]]:
    for piece in _PIECE.finditer(token, start, end):
        for first, last in _words(piece.group(), terms, language):
            yield piece.start() + first, piece.start() + last


def _words(piece: str, terms: set[str], language: str) -> Iterator[tuple[int, int]]:
    """All of it, or of `moduleControllerCreate` the words that were asked for."""
    left = set(document_terms(piece, language))
    ranges, position = [], 0
    for part in camel_parts(piece):
        # A single letter is no term of a name.
        own = set(document_terms(part, language)) if 1 < len(part) < len(piece) else set()
        if not own.isdisjoint(terms):
            ranges.append((position, position + len(part)))
        left -= own
        position += len(part)
    yield from ranges if left.isdisjoint(terms) else [(0, len(piece))]


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
