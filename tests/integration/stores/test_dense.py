from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_app.errors import InvalidInput
from core_app.ports import DistanceName, IndexedChunk
from stores_app.models import Vector
from tests.integration.stores.shelf import Shelf, new_shelf

pytestmark = pytest.mark.django_db

VECTORS = {"east": [1.0, 0.0], "north": [0.0, 3.0], "west": [-2.0, 0.0], "northeast": [1.0, 1.0]}


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("cosine", [("east", 0.0), ("northeast", 1 - 0.5**0.5), ("north", 1.0), ("west", 2.0)]),
        ("l2", [("east", 1.0), ("northeast", 2**0.5), ("north", 13**0.5), ("west", 4.0)]),
        ("ip", [("east", -2.0), ("northeast", -2.0), ("north", 0.0), ("west", 4.0)]),
    ],
)
def test_each_distance_orders_by_its_own_measure(distance: DistanceName, expected: list[tuple[str, float]]) -> None:
    """A5, B3.1"""
    shelf = new_shelf(distance)
    shelf.add(dict.fromkeys(VECTORS, "text"), VECTORS)
    found = shelf.nearest([2.0, 0.0])
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected], abs=1e-6)
    assert shelf.nearest([2.0, 0.0], limit=2) == found[:2]


def test_cosine_with_a_zero_vector_is_one_and_never_nan(shelf: Shelf) -> None:
    shelf.add(
        dict.fromkeys(["zero", "same", "opposite"], "text"),
        {"zero": [0.0, 0.0], "same": [1.0, 0.0], "opposite": [-1.0, 0.0]},
    )
    assert shelf.nearest([5.0, 0.0]) == [("same", 0.0), ("zero", 1.0), ("opposite", 2.0)]
    assert shelf.nearest([0.0, 0.0]) == [("zero", 1.0), ("same", 1.0), ("opposite", 1.0)]


def test_ties_go_to_the_smaller_chunk_id(shelf: Shelf) -> None:
    names = [f"chunk {index}" for index in range(20)]
    shelf.add(dict.fromkeys(names, "text"))
    assert [name for name, _ in shelf.nearest([1.0, 0.0], limit=7)] == names[:7]


def test_distances_of_given_chunks_equal_those_of_a_search(shelf: Shelf) -> None:
    ids = shelf.add(dict.fromkeys(VECTORS, "text"), VECTORS)
    wanted = [ids["west"], ids["northeast"], 10**12]
    found = shelf.store.distances(space=shelf.space, query=np.array([1, 0], np.float32), chunk_ids=wanted)
    by_name = dict(shelf.nearest([1.0, 0.0]))
    assert found == {ids[name]: by_name[name] for name in ("west", "northeast")}
    assert shelf.store.distances(space=shelf.space, query=np.array([1, 0], np.float32), chunk_ids=[]) == {}


def test_another_generation_and_collection_are_not_seen(shelf: Shelf) -> None:
    other = new_shelf(dimension=3)
    other.add({"a": "text"}, {"a": [1.0, 2.0, 3.0]})
    shelf.add({"b": "text"})
    assert [name for name, _ in shelf.nearest([1.0, 0.0])] == ["b"]
    assert [name for name, _ in other.nearest([1.0, 0.0, 0.0])] == ["a"]


@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_below_one_finds_nothing(shelf: Shelf, limit: int) -> None:
    shelf.add({"a": "text"})
    assert shelf.nearest([1.0, 0.0], limit=limit) == []


@pytest.mark.parametrize(
    ("vector", "code"),
    [
        ([1.0, 2.0, 3.0], "dimension_mismatch"),
        ([[1.0, 2.0]], "dimension_mismatch"),
        ([float("nan"), 1.0], "invalid_vector"),
        ([float("inf"), 1.0], "invalid_vector"),
        ([3e38, 3e38], "invalid_vector"),
        ([1e300, 0.0], "invalid_vector"),
    ],
)
def test_vectors_that_do_not_fit_are_refused_and_nothing_is_written(
    shelf: Shelf, vector: list[float], code: str
) -> None:
    good = shelf.add({"good": "words"})
    chunks = [
        IndexedChunk(chunk_id=good["good"] + 1, text="other", embedding=np.array([1, 0], np.float32)),
        IndexedChunk(chunk_id=good["good"] + 2, text="other", embedding=np.array(vector)),
    ]
    with pytest.raises(InvalidInput) as caught:
        shelf.store.add(space=shelf.space, language="english", chunks=chunks)
    assert caught.value.code == code
    with pytest.raises(InvalidInput):
        shelf.store.dense(space=shelf.space, query=np.array(vector), limit=1)
    assert Vector.objects.filter(generation_id=shelf.space.generation_id).count() == 1
    assert shelf.words("other") == []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    vectors=st.lists(
        st.lists(st.floats(-(2.0**50), 2.0**50, width=32), min_size=3, max_size=3), min_size=1, max_size=8
    ),
    distance=st.sampled_from(["cosine", "l2", "ip"]),
)
def test_distances_are_always_numbers_in_ascending_order(
    db: None, vectors: list[list[float]], distance: DistanceName
) -> None:
    shelf = new_shelf(distance, dimension=3)
    names = {f"{index}": vector for index, vector in enumerate(vectors)}
    shelf.add(dict.fromkeys(names, ""), names)
    values = [value for _, value in shelf.nearest(vectors[0])]
    assert len(values) == len(vectors)
    assert np.isfinite(values).all()
    assert values == sorted(values)
