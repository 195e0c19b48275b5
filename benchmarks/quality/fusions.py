"""Ways of merging two legs, over arrays: what the defaults of hybrid search are chosen from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from search_app.ranking import SCALED

Numbers = NDArray[np.float64]
RRF_K = 60


@dataclass(frozen=True, kw_only=True)
class Merged:
    """What both legs found of one query: arrays of one length, by chunk."""

    chunks: NDArray[np.int64]
    #: From 1; 0 where the leg did not find it.
    dense_rank: NDArray[np.int64]
    lexical_rank: NDArray[np.int64]
    #: Of every chunk, found by meaning or not.
    similarity: Numbers
    #: 0 where words did not find it.
    bm25: Numbers


def reciprocal_ranks(merged: Merged) -> Numbers:
    return _reciprocal(merged.dense_rank) + _reciprocal(merged.lexical_rank)


def min_max(merged: Merged, *, lexical_weight: float) -> Numbers:
    """Each leg's scores from 0 for its last to 1 for its first, weighed. What a leg did not find has 0 of it.

    Of words from 0 for no word at all, where they found fewer than the search asks for (`search_app.ranking`).
    """
    return lexical_weight * lexical_unit(merged) + (1 - lexical_weight) * dense_unit(merged)


def lexical_unit(merged: Merged) -> Numbers:
    found = merged.lexical_rank > 0
    return _unit(merged.bm25, found, floor=0.0 if found.sum() < SCALED else None)


def dense_unit(merged: Merged) -> Numbers:
    return _unit(merged.similarity, merged.dense_rank > 0)


def z_scores(merged: Merged, *, lexical_weight: float) -> Numbers:
    """Each leg's scores in standard deviations from its mean; what a leg did not find has its lowest."""
    return lexical_weight * _standard(merged.bm25, merged.lexical_rank > 0) + (1 - lexical_weight) * _standard(
        merged.similarity, merged.dense_rank > 0
    )


def _reciprocal(ranks: NDArray[np.int64]) -> Numbers:
    return np.where(ranks > 0, 1.0 / (RRF_K + ranks), 0.0)


def _unit(values: Numbers, found: NDArray[np.bool_], *, floor: float | None = None) -> Numbers:
    if not found.any():
        return np.zeros(len(values))
    low, high = values[found].min() if floor is None else floor, values[found].max()
    if high == low:
        return found.astype(np.float64)
    scaled: Numbers = np.clip((values - low) / (high - low), 0.0, 1.0)
    return scaled


def _standard(values: Numbers, found: NDArray[np.bool_]) -> Numbers:
    if not found.any():
        return np.zeros(len(values))
    spread = values[found].std() or 1.0
    standard: Numbers = (np.maximum(values, values[found].min()) - values[found].mean()) / spread
    return standard
