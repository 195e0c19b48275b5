"""BM25 of several corpora as one ranking: collections in other languages, or with another k1 or b, are counted apart.

The idf of a word, and so every score, is that of its corpus: in a larger one the same words add up to more. So scores
are compared as parts of what a query could get in its corpus:

    score'  = score units(c) / (names(c) + known(c))
    units(c) = known(c) / (known(c) + unknown(c)) + sum of worth(t) over the names t that c has

`names` is what the names that c has can add, w(t) idf(t) each, `known` the same of all other words of the query that
c has, and `unknown` of those that it lacks and another corpus has, as if it had them once. Words are those that were
written, for each language has stems of its own; one that says nothing in a language, as `the`, is not lacking there.
`worth` is what a name counts where all other words of the query together count 1: its rarity in c, and more where it is
made of words (`AskedTerm.worth`). So units are the same in every corpus: a corpus that knows one word of a question is
not better for that, a name says nothing where everything has it, and one alone stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from collections_app.models import Collection as CollectionRow
from core_app.ports import AskedTerm, Bm25
from core_app.wiring import app_settings, store

Corpus = TypeVar("Corpus", bound=Hashable)


def factors(asked: Mapping[Corpus, Sequence[AskedTerm]]) -> dict[Corpus, float]:
    """What the scores of each corpus are multiplied by, at least 1; `asked` has the query's terms as each has them."""
    everything = [term for terms in asked.values() for term in terms]
    known = {word for term in everything if term.chunks for word in term.words}
    names = {word for term in everything if term.rarity for word in term.words}
    # What no corpus has says nothing of any of them, and a name is no ordinary word where it is lacking either.
    words = known - names
    found = {corpus: _units_of_a_score(terms, words=words) for corpus, terms in asked.items()}
    least = min((factor for factor in found.values() if factor), default=1.0)
    return {corpus: factor / least if factor else 1.0 for corpus, factor in found.items()}


def together(asked: Mapping[Corpus, Sequence[AskedTerm]], scaled: Mapping[Corpus, float]) -> list[AskedTerm]:
    """The query's terms as the corpus has them where they count most, by name; their weights are multiplied."""
    everything = [
        replace(term, weight=term.weight * scaled[corpus]) for corpus, terms in asked.items() for term in terms
    ]
    found: dict[str, AskedTerm] = {}
    covered: set[str] = set()
    for term in sorted(everything, key=_standing, reverse=True):
        # What a corpus has is listed with its own stem, and what none of them has once.
        if term.chunks or not covered.issuperset(term.words):
            covered.update(term.words)
            found.setdefault(term.term, term)
    return [found[term] for term in sorted(found)]


def _standing(term: AskedTerm) -> tuple[float, int, float, float, str]:
    return _mass(term), term.chunks, term.idf, term.rarity, term.term


def _units_of_a_score(terms: Sequence[AskedTerm], *, words: Collection[str]) -> float:
    """0 where nothing can have a score; `words` are what it costs to lack."""
    named = [term for term in terms if term.chunks and term.rarity]
    known = sum(_mass(term) for term in terms if term.chunks and not term.rarity)
    unknown = sum(term.idf for term in terms if not term.chunks and any(word in words for word in term.words))
    attainable = known + sum(map(_mass, named))
    if not attainable:
        return 0.0
    share = known / (known + unknown) if known else 0.0
    return (share + sum(term.worth for term in named)) / attainable


def _mass(term: AskedTerm) -> float:
    return term.weight * term.idf


def alike(collections: Sequence[CollectionRow]) -> dict[tuple[str, Bm25], list[CollectionRow]]:
    """Those that weigh words alike, by their store and how they do."""
    found: dict[tuple[str, Bm25], list[CollectionRow]] = {}
    for collection in collections:
        found.setdefault((store(collection.store).home, bm25_of(collection)), []).append(collection)
    return found


def bm25_of(collection: CollectionRow) -> Bm25:
    """How the collection's words are weighed."""
    section = app_settings().search
    return Bm25(
        language=collection.language,
        k1=section.k1 if collection.k1 is None else collection.k1,
        b=section.b if collection.b is None else collection.b,
    )
