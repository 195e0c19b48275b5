"""Text to terms, the same way for documents and queries.

Ordinary words are folded and stemmed once. An identifier is indexed whole and in parts:
`hook.player.connected`, `snake_case_name`, `moduleControllerCreate`, `CVE-2024-1234`. Of a dotted one
with more than two parts the last two together are a name as well: `click.Group.command` is asked for as
`Group.command`. Han, Hiragana, Katakana and Hangul are written without reliable gaps between words and
run as bigrams.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple

from stores_app.lexical.folding import LONGEST_TERM, bounded, fold, normalise
from stores_app.lexical.languages import checked, stem_with, stop_words

#: Of the terms that documents are given. Raise it when they change: what was indexed before is then analysed anew.
VERSION = 2

#: What an identifier's parts count in a query while the collection knows the whole: a document that
#: has the whole then comes before one that merely repeats the parts.
PART_WEIGHT = 0.1

#: Tokens up to this length are remembered with their terms; longer ones hardly ever come back.
_REMEMBERED_LENGTH = 40
_REMEMBERED_TOKENS = 1 << 16


def _combining_marks() -> str:
    """A character class of the vowel signs and accents that `\\w` leaves out, as ranges."""
    marks = {code for code in range(0x300, 0x10000) if unicodedata.category(chr(code)).startswith("M")}
    starts = sorted(code for code in marks if code - 1 not in marks)
    ends = sorted(code for code in marks if code + 1 not in marks)
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


_MARKS = _combining_marks()
_ASCII_TOKEN = re.compile(r"\w+(?:[.'-]\w+)*", re.ASCII)
WORD = rf"[\w{_MARKS}]+"
_TOKEN = re.compile(rf"{WORD}(?:[.'-]{WORD})*")
CJK_RUN = re.compile(
    "[\u1100-\u11ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_ACRONYMS = re.compile(r"[A-Z]{2,}s")
_NAME = re.compile(r"[\d_]")
#: `1.2.3` is not called `2.3`, nor `U.S.A` `S.A`.
_CALLED = re.compile(r"_*[^\W\d_]\w")
_VERSION = re.compile(r"^[vV](?=\d+\.\d)")


class Member(NamedTuple):
    """One term of a token, what was written for it, and the identifiers it is a part of, outermost first."""

    term: str
    wholes: tuple[str, ...]
    #: The same in every language, where the term depends on how the language's words are stemmed.
    word: str


@dataclass(frozen=True, kw_only=True)
class QueryTerm:
    """One term of a query: how often it was asked for, and the identifiers it is a part of there."""

    term: str
    weight: float
    wholes: tuple[str, ...] = ()
    word: str = ""


def document_terms(text: str, language: str) -> list[str]:
    """The terms of a document in order, repeated as often as they occur. Raises InvalidInput."""
    terms = _analyser(language).terms
    return list(chain.from_iterable(map(terms.__getitem__, _tokens(text))))


def query_terms(text: str, language: str) -> list[QueryTerm]:
    """The distinct terms of a query, weighed by how often they occur in it. Raises InvalidInput."""
    members = _analyser(language).members
    counts = Counter(member for token in _tokens(text) for member in members(token))
    return [
        QueryTerm(term=member.term, weight=float(count), wholes=member.wholes, word=member.word)
        for member, count in counts.items()
    ]


def weights(terms: Iterable[QueryTerm], vocabulary: Container[str]) -> dict[str, float]:
    """What each term counts in a collection that has the terms in `vocabulary`."""
    total: dict[str, float] = {}
    for asked in terms:
        is_known = any(whole in vocabulary for whole in asked.wholes)
        weight = asked.weight * (PART_WEIGHT if is_known else 1.0)
        total[asked.term] = total.get(asked.term, 0.0) + weight
    return total


def _tokens(text: str) -> list[str]:
    text = normalise(text)
    return (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)


class _Memory(dict[str, tuple[str, ...]]):
    """The terms of tokens that were seen before. Looked up as a plain dictionary, so without any Python."""

    def __init__(self, analyse: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._analyse = analyse

    def __missing__(self, token: str) -> tuple[str, ...]:
        terms = self._analyse(token)
        if len(token) <= _REMEMBERED_LENGTH:
            if len(self) >= _REMEMBERED_TOKENS:
                # Common words are back in a moment; keeping count of use would cost every look-up.
                self.clear()
            self[token] = terms
        return terms


class _Analyser:
    """Turns tokens of one language into terms, remembering what it has seen."""

    def __init__(self, language: str) -> None:
        self._stop_words = stop_words(language)
        self._stem = stem_with(language)
        #: The terms of a document's tokens.
        self.terms = _Memory(lambda token: tuple(member.term for member in self.members(token)))

    def members(self, token: str) -> tuple[Member, ...]:
        """Every term of a token once: one that repeats its own parts is still one token."""
        found: dict[tuple[str, tuple[str, ...]], Member] = {}
        for member in self._pieces(token):
            found.setdefault((member.term, member.wholes), member)
        return tuple(found.values())

    def _pieces(self, token: str) -> Iterator[Member]:
        position = 0
        for run in () if token.isascii() else CJK_RUN.finditer(token):
            yield from self._spelled(token[position : run.start()].strip(".-"))
            yield from _bigrams(run.group())
            position = run.end()
        yield from self._spelled(token[position:].strip(".-"))

    def _spelled(self, token: str) -> Iterator[Member]:
        words = [word for word in token.split("'") if word]
        for word in words:
            # What an apostrophe leaves over of "don't", "it's", "l'avion" says nothing.
            if len(words) == 1 or len(word) > 1:
                yield from self._expanded(_VERSION.sub("", word), ())

    def _expanded(self, token: str, wholes: tuple[str, ...]) -> Iterator[Member]:
        for separator in ".-_":
            parts = [part for part in token.split(separator) if part.strip("_")]
            if len(parts) > 1:
                # "wild-type" and "wild type" are the same words; "IL-10" and "my_app-v2" are names.
                if separator != "-" or _NAME.search(token):
                    whole = bounded(fold(token.strip("_")))
                    yield Member(whole, wholes, token)
                    wholes = (*wholes, whole)
                end = wholes
                if separator == "." and len(parts) > 2 and all(_CALLED.match(part) for part in parts[-2:]):
                    pair = bounded(fold(".".join(parts[-2:]).strip("_")))
                    yield Member(pair, wholes, pair)
                    end = (*wholes, pair)
                for place, part in enumerate(parts):
                    yield from self._expanded(part, end if place >= len(parts) - 2 else wholes)
                return
        yield from self._cased(token.strip("_"), wholes)

    def _cased(self, token: str, wholes: tuple[str, ...]) -> Iterator[Member]:
        parts = camel_parts(token)
        if len(parts) > 1:
            whole = bounded(fold(token))
            yield Member(whole, wholes, token)
            wholes = (*wholes, whole)
            for part in parts:
                if len(part) > 1:
                    yield from self._word(part, wholes)
        # Of an identifier this is its lower-case spelling, which cannot be told from a word.
        for member in self._word(token, wholes):
            if member.term not in wholes:
                yield member

    def _word(self, word: str, wholes: tuple[str, ...]) -> Iterator[Member]:
        folded = fold(word)
        if folded and folded not in self._stop_words:
            yield Member(bounded(self._stem(folded) if len(folded) <= LONGEST_TERM else folded), wholes, folded)


@cache
def _analyser(language: str) -> _Analyser:
    return _Analyser(checked(language))


def _bigrams(run: str) -> Iterator[Member]:
    if len(run) == 1:
        yield Member(run, (), run)
    for first, second in pairwise(run):
        yield Member(first + second, (), first + second)


def camel_parts(token: str) -> list[str]:
    """`moduleControllerCreate` and `HTTPServer` at their inner capitals; any other word in one piece."""
    if len(token) > LONGEST_TERM or token.islower() or token.isupper() or _ACRONYMS.fullmatch(token):
        return [token]
    cuts = [0]
    for index in range(1, len(token)):
        if token[index].isupper() and (
            not token[index - 1].isupper() or (index + 1 < len(token) and token[index + 1].islower())
        ):
            cuts.append(index)
    return [token[start:end] for start, end in zip(cuts, [*cuts[1:], len(token)], strict=True)]
