"""Names in a query: what a rare one counts, so that the other words of a long question do not drown it.

A name is a term that stands for a whole identifier (`hook.player.connected`), or one with a digit (`E501`, `1040`), but
not a plain number (`12`, `0.5`, `3-4`), if the collection has it. It is rare by min(1, RARE / df): wholly in up to RARE
chunks, half in twice as many.

    weight(t) = w(t) (1 + rarity(t) (max(BOOST, rest / mass(t)) - 1))       mass(t) = w(t) idf(t)

`rest` is the mass of all that is no name: a rare name counts at least BOOST times, and as much as all other words
together. A query without one is standard BM25. Measured in docs/benchmarks.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from stores_app.lexical.analysis import QueryTerm

RARE = 10
BOOST = 2.0
#: Shorter ones, such as `1a`, name nothing.
_SHORTEST = 3
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d{1,3}|\d+[.-]\d+")


def rarities(asked: Iterable[QueryTerm], chunks: Mapping[str, int]) -> dict[str, float]:
    """The query's names and how rare each is, above 0 to 1; `chunks` says in how many each known term is."""
    terms = list(asked)
    wholes = {whole for term in terms for whole in term.wholes if whole in chunks}
    numbered = {term.term for term in terms if _has_number(term.term) and not wholes.intersection(term.wholes)}
    found = {name for name in wholes | numbered if name in chunks and not _NUMBER.fullmatch(name)}
    return {name: min(1.0, RARE / chunks[name]) for name in found}


def raised(
    weights: Mapping[str, float], *, idfs: Mapping[str, float], rarities: Mapping[str, float]
) -> dict[str, float]:
    """The weights of the known terms, those of names raised; `idfs` has the terms that the collection knows."""
    masses = {term: weights[term] * idf for term, idf in idfs.items()}
    rest = sum(mass for term, mass in masses.items() if term not in rarities)
    return {
        term: weights[term] * (1 + rarities.get(term, 0.0) * (max(BOOST, rest / masses[term]) - 1)) for term in masses
    }


def _has_number(term: str) -> bool:
    return len(term) >= _SHORTEST and _DIGIT.search(term) is not None
