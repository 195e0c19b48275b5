"""Reciprocal rank fusion (B4, C-REQ-003) and similarities (README 2), against their definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core_app.similarity import similarity
from search_app.fusion import RRF_K, reciprocal_rank_fusion

RANKING = st.lists(st.integers(1, 30), unique=True, max_size=20)


def test_b4_1_the_constant_is_60() -> None:
    assert RRF_K == 60
    assert reciprocal_rank_fusion([[7]]) == {7: 1 / 61}


def test_b4_2_ranks_count_from_one() -> None:
    assert reciprocal_rank_fusion([[5, 6, 7]]) == {5: 1 / 61, 6: 1 / 62, 7: 1 / 63}


def test_b4_3_b4_4_scores_add_up_where_both_lists_hold_an_id() -> None:
    fused = reciprocal_rank_fusion([[1, 2], [2, 3]])
    assert fused == {2: pytest.approx(1 / 62 + 1 / 61), 1: pytest.approx(1 / 61), 3: pytest.approx(1 / 62)}
    assert list(fused) == [2, 1, 3]


def test_b4_5_equal_scores_are_ordered_by_the_smaller_id() -> None:
    assert list(reciprocal_rank_fusion([[9, 3], [3, 9]])) == [3, 9]
    assert list(reciprocal_rank_fusion([[9], [3]])) == [3, 9]


def test_nothing_found_is_nothing_merged() -> None:
    assert reciprocal_rank_fusion([]) == {}
    assert reciprocal_rank_fusion([[], []]) == {}


def test_another_constant_can_be_asked_for() -> None:
    assert reciprocal_rank_fusion([[1]], k=0) == {1: 1.0}


@given(st.lists(RANKING, max_size=3))
def test_b4_2_the_formula_holds_for_any_lists(rankings: list[list[int]]) -> None:
    expected = {
        identifier: sum(
            (Fraction(1, 60 + ranking.index(identifier) + 1) for ranking in rankings if identifier in ranking),
            Fraction(0),
        )
        for identifier in {identifier for ranking in rankings for identifier in ranking}
    }
    fused = reciprocal_rank_fusion(rankings)
    assert set(fused) == set(expected)
    assert all(math.isclose(fused[identifier], expected[identifier], rel_tol=1e-12) for identifier in fused)


@given(st.lists(RANKING, max_size=3))
def test_b4_5_the_order_is_by_score_then_by_id(rankings: list[list[int]]) -> None:
    entries = list(reciprocal_rank_fusion(rankings).items())
    assert entries == sorted(entries, key=lambda entry: (-entry[1], entry[0]))


@given(RANKING)
def test_one_list_keeps_its_order(ranking: list[int]) -> None:
    assert list(reciprocal_rank_fusion([ranking])) == ranking
    assert list(reciprocal_rank_fusion([ranking, []])) == ranking


@given(RANKING, RANKING)
def test_the_order_of_the_two_lists_does_not_matter(one: list[int], other: list[int]) -> None:
    assert list(reciprocal_rank_fusion([one, other]).items()) == list(reciprocal_rank_fusion([other, one]).items())


@given(st.lists(st.integers(1, 30), unique=True, min_size=2, max_size=20), RANKING, st.integers(0, 100))
def test_a_better_rank_never_lowers_the_score(one: list[int], other: list[int], number: int) -> None:
    identifier = one[1 + number % (len(one) - 1)]
    raised = [identifier, *(i for i in one if i != identifier)]
    assert reciprocal_rank_fusion([raised, other])[identifier] > reciprocal_rank_fusion([one, other])[identifier]


VECTOR = st.lists(st.floats(-10, 10, width=32), min_size=3, max_size=3).map(lambda v: np.array(v, dtype=np.float64))


@pytest.mark.parametrize(
    ("metric", "distance", "expected"),
    [
        ("cosine", 0.0, 1.0),
        ("cosine", 0.25, 0.75),
        ("cosine", 1.0, 0.0),
        ("cosine", 1.5, 0.0),
        ("cosine", 2.0, 0.0),
        ("cosine", -1e-7, 1.0),
        ("l2", 0.0, 1.0),
        ("l2", 1.0, 0.5),
        ("l2", 3.0, 0.25),
        ("l2", -1e-7, 1.0),
        ("l2", math.inf, 0.0),
        ("ip", -1.0, 1.0),
        ("ip", 0.0, 0.5),
        ("ip", 1.0, 0.0),
        ("ip", -0.5, 0.75),
        ("ip", -42.0, 1.0),
        ("ip", 42.0, 0.0),
        ("cosine", math.nan, 0.0),
        ("l2", math.nan, 0.0),
        ("ip", math.nan, 0.0),
    ],
)
def test_readme_2_similarity_by_metric(metric: str, distance: float, expected: float) -> None:
    assert similarity(distance, metric=metric) == pytest.approx(expected, abs=1e-12)


@given(VECTOR, VECTOR)
def test_readme_2_similarity_of_vectors_is_as_defined(one: np.ndarray, other: np.ndarray) -> None:
    inner = float(one @ other)
    euclidean = float(np.linalg.norm(one - other))
    assert similarity(euclidean, metric="l2") == pytest.approx(1 / (1 + euclidean))
    assert similarity(-inner, metric="ip") == pytest.approx((1 + min(1.0, max(-1.0, inner))) / 2)
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    assume(norms > 1e-6)
    cosine = inner / norms
    assert similarity(1 - cosine, metric="cosine") == pytest.approx(min(1.0, max(0.0, cosine)), abs=1e-9)


@given(
    st.sampled_from(["cosine", "l2", "ip"]),
    st.floats(allow_nan=False, width=32),
    st.floats(allow_nan=False, width=32),
)
def test_similarity_stays_in_0_to_1_and_falls_with_distance(metric: str, one: float, other: float) -> None:
    near, far = sorted((one, other))
    assert 0.0 <= similarity(far, metric=metric) <= similarity(near, metric=metric) <= 1.0
