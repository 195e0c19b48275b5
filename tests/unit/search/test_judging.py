"""Which judgement is about which result, and what a ranking is worth."""

from __future__ import annotations

import math

import pytest

from core_app.metrics import first_relevant, hit, ndcg, recall, reciprocal_rank
from search_app.judging import Judged, Result, holds, matched, worth
from search_app.models import TestRun
from search_app.testruns import change


def found(*rows: tuple[str, str, str]) -> list[Result]:
    return [Result(external_id=external_id, source=source, text=text) for external_id, source, text in rows]


RESULTS = found(("a:0", "a", "Foxes hunt."), ("b:0", "b", "Dogs sleep."), ("b:1", "b", "Cats climb."))
GOOD = Judged(external_id="b:0", grade=1, source="b", excerpt="Dogs sleep.")


def ids(results: list[Result], judged: Judged, **standing: str) -> list[str]:
    texts = {key.replace("_", ":"): text for key, text in standing.items()}
    told = matched(results, [judged], standing=texts)
    return [result.external_id for result, one in zip(results, told, strict=True) if one is not None]


def test_a_passage_is_known_by_its_id() -> None:
    assert ids(RESULTS, GOOD, b_0="Dogs  sleep.\n") == ["b:0"]


def test_where_its_source_was_cut_anew_by_its_beginning() -> None:
    anew = found(("b:0", "b", "A new first part."), ("b:1", "b", "Now here: Dogs\nsleep. And more."))
    assert ids(anew, GOOD, b_0="A new first part.") == ["b:1"]
    assert ids(anew[:1], GOOD, b_0="A new first part.") == ["b:0"], "its text has changed in its place"
    other = found(("c:0", "c", "Dogs sleep."))
    assert ids(other, GOOD, b_0="x") == [], "another source may say the same"


def test_where_it_is_gone_the_first_of_its_source() -> None:
    anew = found(("a:0", "a", "Foxes."), ("b:7", "b", "Dogs dream."), ("b:8", "b", "Cats."))
    assert ids(anew, GOOD) == ["b:7"]
    assert ids(anew, Judged(external_id="b:0", grade=0, source="b", excerpt="Dogs sleep.")) == []
    assert ids(anew, Judged(external_id="b:0", grade=1)) == [], "nothing else is known of it"


def test_what_stands_is_taken_before_what_is_guessed() -> None:
    gone = Judged(external_id="b:9", grade=1, source="b", excerpt="Birds fly.")
    told = matched(RESULTS, [gone, GOOD], standing={"b:0": "Dogs sleep."})
    assert told == [None, GOOD, gone]


@pytest.mark.parametrize(
    ("text", "excerpt", "expected"), [("a  b\nc", "a b", True), ("b", "a", False), ("a", "", False), ("", " ", False)]
)
def test_a_beginning_is_found_whatever_the_spaces(text: str, excerpt: str, *, expected: bool) -> None:
    assert holds(text, excerpt) is expected


def test_a_ranking_is_worth_what_was_judged() -> None:
    """Järvelin and Kekäläinen 2002, by hand."""
    best, other = Judged(external_id="x", grade=2), Judged(external_id="y", grade=1)
    about = worth([None, best, None, other], [best, other], most=1)
    expected = (2 / math.log2(3) + 1 / math.log2(5)) / (2 / math.log2(2) + 1 / math.log2(3))
    assert about.ndcg_at_10 == pytest.approx(expected)
    assert (about.first_rank, about.hit) == (2, False)
    assert worth([None, best], [best], most=2).hit
    nothing = worth([None] * 12, [best], most=5)
    assert (nothing.first_rank, nothing.hit, nothing.ndcg_at_10) == (None, False, 0.0)
    late = worth([None] * 10 + [best], [best], most=20)
    assert (late.first_rank, late.hit, late.ndcg_at_10) == (11, True, 0.0)


def test_the_metrics_by_hand() -> None:
    grades = {"a": 1.0, "b": 0.0, "c": 3.0}
    assert first_relevant(["b", "x", "c"], grades) == 3
    assert first_relevant(["b"], grades) is None
    assert reciprocal_rank(["b", "c"], grades, 10) == 0.5
    assert reciprocal_rank(["b", "c"], grades, 1) == 0.0
    assert recall(["a", "x"], grades, 2) == 0.5
    assert (hit(["x", "a"], grades, 1), hit(["x", "a"], grades, 2)) == (0.0, 1.0)
    assert ndcg(["c", "a"], grades, 10) == 1.0
    assert ndcg(["a", "c"], grades, 10) < 1.0


def run(ndcg_at_10: float | None, rank: int | None = None, error: str = "") -> TestRun:
    return TestRun(ndcg_at_10=ndcg_at_10, first_rank=rank, error=error)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (None, run(0.5, 1), "first"),
        (run(0.5, 2), run(0.6, 2), "better"),
        (run(0.6, 1), run(0.5, 1), "worse"),
        (run(0.5, 2), run(0.5 + 1e-12, 2), "same"),
        (run(0.0, 12), run(0.0, 11), "better"),
        (run(0.0, 12), run(0.0, None), "worse"),
        (run(0.0, None), run(0.0, None), "same"),
        (run(None, error="x"), run(0.4, 1), "first"),
        (run(0.4, 1), run(None, error="x"), "failed"),
    ],
)
def test_better_and_worse(before: TestRun | None, now: TestRun, expected: str) -> None:
    assert change(before, now) == expected
