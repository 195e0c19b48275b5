"""Results that differ from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from core_app.ports import Vectors


def maximal_marginal_relevance(
    *, relevance: Mapping[int, float], vectors: Mapping[int, Vectors], diversity: float, limit: int
) -> list[int]:
    """The first `limit` ids, each the best by (1 - diversity) relevance - diversity (largest similarity to one before).

    Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking", SIGIR 1998; their lambda is 1 - diversity.
    `relevance` is scaled to 0 to 1, and is in an order that decides ties. Similarity is cosine; what has no vector,
    or one of another length, is similar to nothing.
    """
    ids = list(relevance)
    scores = _scaled([relevance[identifier] for identifier in ids])
    likeness = _likeness([vectors.get(identifier) for identifier in ids])
    nearest = np.zeros(len(ids))
    left = np.ones(len(ids), np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(limit, len(ids)):
        gain = np.where(left, (1 - diversity) * scores - diversity * nearest, -np.inf)
        best = int(np.argmax(gain))
        chosen.append(ids[best])
        left[best] = False
        # What points away from the first is less than not similar to it.
        nearest = np.maximum(nearest, likeness[best]) if len(chosen) > 1 else likeness[best]
    return chosen


def _scaled(scores: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = np.asarray(scores, np.float64)
    low, high = (found.min(), found.max()) if len(found) else (0.0, 0.0)
    return (found - low) / (high - low) if high > low else np.ones(len(found))


def _likeness(vectors: Sequence[Vectors | None]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Cosine of each two of them."""
    alike = np.zeros((len(vectors), len(vectors)))
    for length in {len(vector) for vector in vectors if vector is not None}:
        places = [place for place, vector in enumerate(vectors) if vector is not None and len(vector) == length]
        stacked = np.asarray([vectors[place] for place in places], np.float64)
        norms = np.linalg.norm(stacked, axis=1, keepdims=True)
        directions = np.divide(stacked, norms, out=np.zeros_like(stacked), where=norms > 0)
        alike[np.ix_(places, places)] = directions @ directions.T
    return alike
