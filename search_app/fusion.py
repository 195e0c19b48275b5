"""Merging ranked lists of chunk ids into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The scores of one leg, from `low` to `high`, as numbers from 0 to 1."""

    low: float
    high: float

    @classmethod
    def of(cls, scores: Sequence[float], *, floor: float | None = None) -> Scale:
        """From the worst to the best of these; from `floor` where a leg could not find more."""
        if not scores:
            return cls(low=0.0, high=0.0)
        return cls(low=min(scores) if floor is None else floor, high=max(scores))

    def normalised(self, score: float | None) -> float:
        """0 for what a leg does not know. Where all are alike, all are the best."""
        if score is None:
            return 0.0
        if self.high <= self.low:
            return 1.0 if score >= self.high else 0.0
        return min(1.0, max(0.0, (score - self.low) / (self.high - self.low)))


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """What each leg says of a chunk on its scale, and both together by their weights."""

    dense: float
    lexical: float
    score: float


def calibrated_fusion(
    order: Sequence[int],
    *,
    similarities: Mapping[int, float],
    lexical: Mapping[int, float],
    dense_scale: Scale,
    lexical_scale: Scale,
    lexical_weight: float,
) -> dict[int, Calibrated]:
    """score(id) = (1 - w) similarity' + w bm25', both on their legs' scales from 0 to 1, w the weight of words.

    Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", TOIS 2023, compare this
    combination of min-max scores with RRF. Best first; ties stay in the `order` given.
    """
    fused: dict[int, Calibrated] = {}
    for identifier in order:
        dense = dense_scale.normalised(similarities.get(identifier))
        words = lexical_scale.normalised(lexical.get(identifier))
        score = (1 - lexical_weight) * dense + lexical_weight * words
        fused[identifier] = Calibrated(dense=dense, lexical=words, score=score)
    return dict(sorted(fused.items(), key=lambda entry: -entry[1].score))
