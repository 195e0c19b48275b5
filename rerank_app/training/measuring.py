"""How good an order is, and how much the cross-encoder is to count in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core_app import metrics
from rerank_app.training.judged import Candidates

_DEPTH = 10
#: Of the cross-encoder against the candidates' own score.
WEIGHTS = tuple(step / 10 for step in range(1, 10))


@dataclass(frozen=True, kw_only=True)
class Quality:
    """nDCG@10, means over the held-out queries."""

    #: In the order that the candidates came in.
    candidates: float
    #: By the cross-encoder.
    alone: float
    #: By both.
    interpolated: float


@dataclass(frozen=True, kw_only=True)
class Ordering:
    """What is put in order, and what is known of it; both by query."""

    candidates: Mapping[str, Candidates]
    grades: Mapping[str, Mapping[str, float]]

    def ndcg(self, queries: Sequence[str], scores: Mapping[str, Candidates], weight: float) -> float:
        """The mean, with the cross-encoder's scores counting `weight`: 0 is the candidates' own order."""
        orders = [merged(self.candidates[query], scores.get(query, {}), weight=weight) for query in queries]
        return sum(ndcg(order, self.grades[query]) for query, order in zip(queries, orders, strict=True)) / len(queries)

    def quality(self, queries: Sequence[str], scores: Mapping[str, Candidates], weight: float) -> Quality:
        candidates, alone, interpolated = (self.ndcg(queries, scores, share) for share in (0.0, 1.0, weight))
        return Quality(candidates=candidates, alone=alone, interpolated=interpolated)


def ndcg(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    """Against the ideal order of all that is judged, found or not; gains are the grades, as trec_eval has it."""
    return metrics.ndcg(ranked, grades, _DEPTH)


def merged(candidates: Candidates, scores: Candidates, *, weight: float) -> list[str]:
    """Those with scores in their new order, then the others as they were; both sides are brought to 0..1 first."""
    before = _min_max({name: candidates[name] for name in scores})
    after = _min_max(scores)
    total = {name: weight * after[name] + (1 - weight) * before[name] for name in scores}
    first = sorted(scores, key=lambda name: -total[name])
    return first + [name for name in candidates if name not in scores]


def _min_max(scores: Candidates) -> Candidates:
    least, most = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {name: (score - least) / (most - least) if most > least else 1.0 for name, score in scores.items()}
