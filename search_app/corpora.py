"""BM25 of several corpora as one ranking: collections in other languages, or with another k1 or b, are counted apart.

The idf of a word, and so every score, is that of its corpus: in a larger one the same words add up to more. So scores
are compared as parts of what a query could get in its corpus:

    score'  = score largest most / most(c)
    most(c) = names(c) + known(c) + unknown(c) (1 - rarity(c) share(c) / largest share)      c has every name
    most(c) = names(c) + (known(c) + unknown(c)) (1 + sum of ratio(t) rarity(t))             c lacks the names t

`names` is what the names that c has can add, w(t) idf(t) each, `known` the same of all other words of the query that
c has, and `unknown` of those that it lacks, as if it had them once. `share` is known / (known + unknown), and `ratio`
what a name counts for each unit of the words known beside it, RATIO at most. So a corpus that knows one word of a
question is not better for that; none that lacks a rare name is before one that has it; of those that have it the one
that knows the question's other words is first; and one alone stays as it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from core_app.ports import AskedTerm

RATIO = 10.0

Corpus = TypeVar("Corpus", bound=Hashable)


def factors(asked: Mapping[Corpus, Sequence[AskedTerm]]) -> dict[Corpus, float]:
    """What the scores of each corpus are multiplied by, at least 1; `asked` has the query's terms as each has them."""
    worth: dict[str, float] = {}
    for terms in asked.values():
        known = _known(terms)
        for term in terms:
            if term.rarity and term.chunks:
                ratio = min(RATIO, _mass(term) / known) if known else RATIO
                worth[term.term] = max(ratio * term.rarity, worth.get(term.term, 0.0))
    having = [terms for terms in asked.values() if not _lacking(terms, worth)]
    largest_share = max(map(_share, having), default=0.0)
    most = {corpus: _most(terms, worth, largest_share) for corpus, terms in asked.items()}
    largest = max(most.values(), default=0.0)
    return {corpus: largest / found if found else 1.0 for corpus, found in most.items()}


def together(asked: Mapping[Corpus, Sequence[AskedTerm]], scaled: Mapping[Corpus, float]) -> list[AskedTerm]:
    """The query's terms as the corpus has them where they count most, by name; their weights are multiplied."""
    found: dict[str, AskedTerm] = {}
    for corpus, terms in asked.items():
        for term in terms:
            own = replace(term, weight=term.weight * scaled[corpus])
            if term.term not in found or _standing(own) > _standing(found[term.term]):
                found[term.term] = own
    return [found[term] for term in sorted(found)]


def _standing(term: AskedTerm) -> tuple[float, int, float, float]:
    return _mass(term), term.chunks, term.idf, term.rarity


def _most(terms: Sequence[AskedTerm], worth: Mapping[str, float], largest_share: float) -> float:
    named = [term for term in terms if term.rarity and term.chunks]
    names = sum(map(_mass, named))
    known, unknown = _known(terms), _unknown(terms, worth)
    if lacking := _lacking(terms, worth):
        return names + (known + unknown) * (1 + sum(lacking))
    rarity = sum(_mass(term) * term.rarity for term in named) / names if names else 0.0
    if largest_share:
        rarity *= _share(terms) / largest_share
    return names + known + unknown * (1 - rarity)


def _lacking(terms: Sequence[AskedTerm], worth: Mapping[str, float]) -> list[float]:
    """What the names that it lacks are worth."""
    has = {term.term for term in terms if term.chunks}
    return [value for name, value in worth.items() if name not in has]


def _known(terms: Sequence[AskedTerm]) -> float:
    return sum(_mass(term) for term in terms if term.chunks and not term.rarity)


def _unknown(terms: Sequence[AskedTerm], worth: Mapping[str, float]) -> float:
    return sum(term.idf for term in terms if not term.chunks and term.term not in worth)


def _share(terms: Sequence[AskedTerm]) -> float:
    """Of the words that are no names, those that it has."""
    known = _known(terms)
    everything = known + sum(term.idf for term in terms if not term.chunks)
    return known / everything if everything else 0.0


def _mass(term: AskedTerm) -> float:
    return term.weight * term.idf
