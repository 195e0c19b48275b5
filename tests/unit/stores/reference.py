"""BM25 as it is written in books: slow, and obviously right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log


def bm25(
    documents: Mapping[int, Sequence[str]], weights: Mapping[str, float], *, k1: float, b: float
) -> list[tuple[int, float]]:
    """(id, score) of every document that has a term, best first, ties by id."""
    if not documents:
        return []
    average = sum(len(terms) for terms in documents.values()) / len(documents)
    scores: dict[int, float] = {}
    for key, terms in documents.items():
        for term, weight in weights.items():
            tf = list(terms).count(term)
            if tf == 0:
                continue
            df = sum(term in other for other in documents.values())
            idf = log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            share = tf / (tf + k1 * (1 - b + b * len(terms) / average))
            scores[key] = scores.get(key, 0.0) + weight * idf * share
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
