"""Means of the ranking metrics over one run, checked against trec_eval in the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core_app.metrics import hit, ndcg, recall, reciprocal_rank

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
