"""How much words count beside meaning in a calibrated fusion."""

from __future__ import annotations

from collections.abc import Sequence

from core_app.ports import AskedTerm

#: Of an ordinary question, and of one that is nothing but a rare name.
USUAL, OF_NAMES = 0.5, 0.9


def weight_of_words(terms: Sequence[AskedTerm], *, own: float | None) -> float:
    """The weight of words, 0 to 1: the collection's `own`, or else what the query calls for.

    USUAL + (OF_NAMES - USUAL) share, where share is what rare names have of the query's BM25 mass (weight times idf).
    """
    if own is not None:
        return own
    mass = sum(term.weight * term.idf for term in terms)
    names = sum(term.rarity * term.weight * term.idf for term in terms)
    return USUAL + (OF_NAMES - USUAL) * (names / mass if mass else 0.0)
