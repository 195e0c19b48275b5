"""Distances as similarities."""

from __future__ import annotations

import math


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
