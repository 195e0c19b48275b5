"""Merging ranked lists of chunk ids into one."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank
#: learning methods", SIGIR 2009, use 60; so does requirement B4.1.
RRF_K = 60


def reciprocal_rank_fusion(rankings: Sequence[Sequence[int]], *, k: int = RRF_K) -> dict[int, float]:
    """score(id) = sum over the rankings that hold it of 1 / (k + rank), ranks from 1 (B4.1, B4.2).

    An id that a ranking lacks gets nothing from it (B4.4). The result is ordered by score, best first,
    ties by the smaller id (B4.5): an order that favours neither leg, as breaking ties by similarity would.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, identifier in enumerate(ranking, start=1):
            scores[identifier] = scores.get(identifier, 0.0) + 1.0 / (k + rank)
    return dict(sorted(scores.items(), key=lambda entry: (-entry[1], entry[0])))


def similarity(distance: float, *, metric: str) -> float:
    """A distance as a similarity from 0 to 1, 1 for the nearest; one formula a metric.

    `metric` is `cosine` (distance 1 - cosine), `l2` (Euclidean) or `ip` (the negative inner product,
    as pgvector gives it). NaN, the cosine distance of a vector of zeros, is no similarity at all.
    """
    if math.isnan(distance):
        return 0.0
    if metric == "cosine":
        value = 1.0 - distance
    elif metric == "l2":
        value = 1.0 / (1.0 + max(distance, 0.0))
    else:
        value = (1.0 + max(-1.0, min(1.0, -distance))) / 2.0
    return max(0.0, min(1.0, value))
