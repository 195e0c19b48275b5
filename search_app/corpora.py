"""BM25 of several corpora as one ranking: collections in other languages, or with another k1 or b, are counted apart.

The idf of a word, and so every score, is that of its corpus: in a larger one the same words add up to more. So scores
are compared as parts of what a query could get in its corpus:

    most(c) = names(c) + rest(c) (1 + sum over the names that c lacks of ratio(t))
    score'  = score largest most / most(c)

`names` is what the names that c has can add, w(t) idf(t) each; `rest` the same of all other words of the query, those
that c lacks as if it had them once. `ratio` is what a name counts for each unit of the words known beside it, RATIO at
most. Where c has every name that any corpus has, words that it lacks do not count. So a corpus that knows one word of a
question is not better for that, none that lacks its name is before one that has it, and one alone stays as it is.
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
    ratios: dict[str, float] = {}
    for terms in asked.values():
        rest = _rest(terms)
        for term in terms:
            if term.rarity and term.chunks:
                ratio = min(RATIO, _mass(term) / rest) if rest else RATIO
                ratios[term.term] = max(ratio, ratios.get(term.term, 0.0))
    most = {corpus: _most(terms, ratios) for corpus, terms in asked.items()}
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


def _most(terms: Sequence[AskedTerm], ratios: Mapping[str, float]) -> float:
    known = {term.term for term in terms if term.chunks}
    lacking = [ratio for name, ratio in ratios.items() if name not in known]
    if ratios and not lacking:
        return sum(_mass(term) for term in terms if term.chunks)
    names = sum(_mass(term) for term in terms if term.term in ratios and term.chunks)
    rest = sum(_mass(term) if term.chunks else term.idf for term in terms if term.term not in ratios)
    return names + rest * (1 + sum(lacking))


def _rest(terms: Sequence[AskedTerm]) -> float:
    return sum(_mass(term) for term in terms if term.chunks and not term.rarity)


def _mass(term: AskedTerm) -> float:
    return term.weight * term.idf
