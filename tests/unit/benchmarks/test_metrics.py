"""Our metrics against trec_eval's, through ir-measures."""

from __future__ import annotations

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, R, ScoredDoc, Success, nDCG

from benchmarks.quality.metrics import evaluate

documents = st.integers(0, 30).map(lambda n: f"d{n}")
rankings = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.lists(documents, unique=True, max_size=25))
grades = st.dictionaries(documents, st.integers(0, 3), min_size=1, max_size=12).filter(
    lambda found: any(grade > 0 for grade in found.values())
)
judgements = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), grades, min_size=1)


@given(run=rankings, judged=judgements)
def test_metrics_agree_with_trec_eval(run: dict[str, list[str]], judged: dict[str, dict[str, int]]) -> None:
    ours = evaluate(run=run, judgements=judged)
    scored = [
        ScoredDoc(query, document, 1.0 / rank)
        for query, ranking in run.items()
        for rank, document in enumerate(ranking, start=1)
    ]
    qrels = [ir_measures.Qrel(q, d, g) for q, found in judged.items() for d, g in found.items()]
    reference = ir_measures.calc_aggregate(
        [nDCG @ 10, R @ 10, R @ 100, RR @ 10, Success @ 1, Success @ 5], qrels, scored
    )
    assert ours.ndcg_at_10 == pytest.approx(reference[nDCG @ 10])
    assert ours.recall_at_10 == pytest.approx(reference[R @ 10])
    assert ours.recall_at_100 == pytest.approx(reference[R @ 100])
    assert ours.mrr_at_10 == pytest.approx(reference[RR @ 10])
    assert ours.hit_at_1 == pytest.approx(reference[Success @ 1])
    assert ours.hit_at_5 == pytest.approx(reference[Success @ 5])


def test_a_set_without_relevant_documents_is_refused() -> None:
    with pytest.raises(ValueError, match="no query"):
        evaluate(run={}, judgements={"q": {"d": 0}})
