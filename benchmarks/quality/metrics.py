"""Ranking metrics over one run; the same definitions as trec_eval, checked against it in the tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: query id → document id → grade; grades above 0 are relevant.
Judgements = Mapping[str, Mapping[str, int]]
#: query id → document ids, best first, each once.
Run = Mapping[str, Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Means over all judged queries; a query without an answer counts as 0."""

    ndcg_at_10: float
    recall_at_10: float
    recall_at_100: float
    mrr_at_10: float
    hit_at_1: float
    hit_at_5: float


def evaluate(*, run: Run, judgements: Judgements) -> Scores:
    """The scores of a run on the queries that have at least one relevant document."""
    judged = {query: grades for query, grades in judgements.items() if any(g > 0 for g in grades.values())}
    if not judged:
        raise ValueError("no query has a relevant document")

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(judged)

    ranked = {query: list(run.get(query, ())) for query in judged}
    return Scores(
        ndcg_at_10=mean([ndcg(ranked[query], judged[query], 10) for query in judged]),
        recall_at_10=mean([recall(ranked[query], judged[query], 10) for query in judged]),
        recall_at_100=mean([recall(ranked[query], judged[query], 100) for query in judged]),
        mrr_at_10=mean([reciprocal_rank(ranked[query], judged[query], 10) for query in judged]),
        hit_at_1=mean([hit(ranked[query], judged[query], 1) for query in judged]),
        hit_at_5=mean([hit(ranked[query], judged[query], 5) for query in judged]),
    )


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """Järvelin and Kekäläinen (2002): sum of grade / log2(rank + 1), over that of the ideal order."""
    gained = [max(0, grades.get(document, 0)) for document in ranking[:depth]]
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:depth]
    return _discounted(gained) / _discounted(ideal)


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """The share of relevant documents among the first `depth`."""
    relevant = {document for document, grade in grades.items() if grade > 0}
    return len(relevant & set(ranking[:depth])) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """1 / rank of the first relevant document, 0 when the first `depth` hold none."""
    for rank, document in enumerate(ranking[:depth], start=1):
        if grades.get(document, 0) > 0:
            return 1 / rank
    return 0.0


def hit(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """1 when the first `depth` hold a relevant document, else 0; also called success."""
    return float(any(grades.get(document, 0) > 0 for document in ranking[:depth]))


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
