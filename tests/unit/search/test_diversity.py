"""Results that differ (MMR), against the formula as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_app.ports import Vectors
from search_app.diversity import maximal_marginal_relevance


def vectors(**numbers: Sequence[float]) -> dict[int, Vectors]:
    return {int(name[1:]): np.array(vector, np.float32) for name, vector in numbers.items()}


#: Two that say the same, one across, one opposite.
FOUR = vectors(_1=[1, 0], _2=[1, 0.01], _3=[0, 1], _4=[-1, 0])
RELEVANCE = {1: 0.9, 2: 0.8, 3: 0.5, 4: 0.4}


def first(relevance: Mapping[int, float], given: Mapping[int, Vectors], diversity: float, limit: int = 10) -> list[int]:
    return maximal_marginal_relevance(relevance=relevance, vectors=given, diversity=diversity, limit=limit)


def test_without_diversity_the_order_is_that_of_relevance() -> None:
    assert first(RELEVANCE, FOUR, 0.0) == [1, 2, 3, 4]
    assert first(dict.fromkeys([3, 1, 2], 0.5), FOUR, 0.0) == [3, 1, 2], "ties as they came"


def test_a_double_gives_way_to_what_says_something_else() -> None:
    assert first(RELEVANCE, FOUR, 0.5) == [1, 4, 3, 2]
    assert first(RELEVANCE, FOUR, 0.1) == [1, 2, 3, 4]
    assert first({1: 0.9, 2: 0.8, 3: 0.5}, FOUR, 0.5) == [1, 3, 2]
    assert first({1: 0.9, 2: 0.8, 3: 0.5}, FOUR, 0.5, limit=2) == [1, 3]


def test_with_nothing_but_diversity_the_most_different_comes_next() -> None:
    assert first(RELEVANCE, FOUR, 1.0) == [1, 4, 3, 2]


def test_what_has_no_vector_is_similar_to_nothing() -> None:
    assert first(RELEVANCE, {}, 0.7) == [1, 2, 3, 4]
    some = {pk: FOUR[pk] for pk in (1, 3)}
    assert first({1: 0.9, 3: 0.8, 2: 0.7}, some | vectors(_3=[1, 0]), 0.9) == [1, 2, 3]


def test_vectors_of_several_lengths_and_without_direction_are_compared_with_their_own_kind() -> None:
    """Collections searched together may have other models."""
    given = vectors(_1=[1, 0], _2=[1, 0, 0], _3=[1, 0], _4=[1, 0, 0], _5=[0, 0])
    relevance = {1: 0.9, 3: 0.89, 2: 0.88, 4: 0.87, 5: 0.86}
    assert first(relevance, given, 0.9) == [1, 2, 5, 3, 4]


@pytest.mark.parametrize("limit", [0, 1, 3, 4, 5])
def test_no_more_than_there_are_and_each_once(limit: int) -> None:
    found = first(RELEVANCE, FOUR, 0.3, limit)
    assert len(found) == len(set(found)) == min(limit, 4)
    assert first({}, {}, 0.3, limit) == []
    assert first({8: 0.1}, {}, 0.3, limit) == [8][:limit]


def by_the_book(relevance: Mapping[int, float], given: Mapping[int, Vectors], diversity: float) -> list[float]:
    """The gain of each choice; ties make the choices themselves arbitrary."""
    low, high = min(relevance.values()), max(relevance.values())
    scaled = {pk: (score - low) / (high - low) if high > low else 1.0 for pk, score in relevance.items()}

    def cosine(one: int, other: int) -> float:
        if one not in given or other not in given:
            return 0.0
        lengths = float(np.linalg.norm(given[one]) * np.linalg.norm(given[other]))
        return float(given[one] @ given[other]) / lengths if lengths else 0.0

    chosen: list[int] = []
    gains: list[float] = []
    for picked in maximal_marginal_relevance(
        relevance=relevance, vectors=given, diversity=diversity, limit=len(relevance)
    ):
        gain = {
            pk: (1 - diversity) * scaled[pk] - diversity * max((cosine(pk, before) for before in chosen), default=0.0)
            for pk in relevance
            if pk not in chosen
        }
        gains.append(gain[picked] - max(gain.values()))
        chosen.append(picked)
    return gains


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.none() | st.lists(st.integers(-3, 3), min_size=3, max_size=3)),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 10),
)
def test_every_choice_is_the_best_by_the_formula(rows: list[tuple[int, list[int] | None]], tenths: int) -> None:
    ordered = sorted(rows, key=lambda row: -row[0])
    relevance = {place: row[0] / 20 for place, row in enumerate(ordered)}
    given = {place: np.array(row[1], np.float64) for place, row in enumerate(ordered) if row[1] is not None}
    assert all(gain >= -1e-9 for gain in by_the_book(relevance, given, tenths / 10))  # type: ignore[arg-type]
