"""Searches through a vector index, beside what was added after it was built."""

from __future__ import annotations

from typing import Any

import numpy as np
import psycopg
import pytest
from django.db import connection
from psycopg import sql

from core_app.ports import DistanceName, IndexState
from core_app.snapshot import snapshot
from core_app.where import And, Compare, Where
from stores_app import hnsw, search_plan, selectivity
from stores_app.models import Vector
from tests.integration.stores.clusters import DIMENSION, Clusters, explained

pytestmark = pytest.mark.usefixtures("small_indexes")

EVERY_OTHER: Where = Compare("even", "$eq", True)
FEW: Where = Compare("number", "$lt", 100)
RARE: Where = And((Compare("tag", "$eq", "rare"), Compare("even", "$eq", True)))


def described(count: int, *, first: int = 0) -> list[dict[str, Any]]:
    """Half of them even, and every five hundredth rare."""
    return [
        {"number": n, "even": n % 2 == 0, "tag": "rare" if n % 500 == 0 else "usual"}
        for n in range(first, first + count)
    ]


def filled(distance: DistanceName = "cosine", *, indexed: int = 2000, late: int = 150) -> Clusters:
    clusters = Clusters(distance)
    clusters.add(clusters.draw(indexed), described(indexed))
    clusters.build()
    clusters.add(clusters.draw(late), described(late, first=indexed))
    return clusters


@pytest.mark.parametrize("distance", ["cosine", "l2", "ip"])
def test_nearly_all_is_found_through_index_and_tail(distance: DistanceName) -> None:
    """A5, B3.1"""
    clusters = filled(distance)
    with explained() as plans:
        assert clusters.recall(clusters.draw(20)) >= 0.95
    index = hnsw.standing(clusters.shelf.space)
    assert index is not None
    assert len(plans) == 20
    for plan in plans:
        assert f"Index Scan using {index.name}" in plan
        assert "stores_vector_pkey" in plan, "the tail is a range of the primary key"
    assert clusters.shelf.store.index_state(space=clusters.shelf.space) == IndexState(
        indexed=2000, unindexed=150, wanted=False
    )


@pytest.mark.parametrize("where", [EVERY_OTHER, FEW, RARE], ids=["half", "5 %", "0.1 %"])
def test_b6_4_filters_let_through_only_what_they_say_and_never_too_little(where: Where) -> None:
    clusters = filled()
    for limit in (3, 10, 60):
        assert clusters.recall(clusters.draw(15), limit=limit, where=where) >= 0.95


def test_a_filter_of_many_is_searched_through_the_index_in_its_order() -> None:
    clusters = filled()
    with explained() as plans:
        clusters.search(clusters.draw(1)[0], where=EVERY_OTHER)
    index = hnsw.standing(clusters.shelf.space)
    assert index is not None
    assert f"Index Scan using {index.name}" in plans[-1]
    assert "SubPlan" in plans[-1]


def test_what_was_just_added_is_found_at_once() -> None:
    clusters = filled()
    (new,) = clusters.draw(1)
    (chunk_id,) = clusters.add(new[np.newaxis], [{"even": True}])
    for where in (None, EVERY_OTHER):
        assert clusters.search(new, where=where)[0].chunk_id == chunk_id


def test_a_filter_for_what_came_after_the_index_finds_it_all() -> None:
    clusters = filled(late=30)
    where = Compare("number", "$gte", 2000)
    assert clusters.recall(clusters.draw(5), limit=50, where=where) == 1.0
    assert len(clusters.search(clusters.draw(1)[0], limit=50, where=where)) == 30


def test_removed_chunks_never_come_back() -> None:
    clusters = filled()
    (query,) = clusters.draw(1)
    best = [hit.chunk_id for hit in clusters.search(query, limit=40)]
    clusters.remove(best)
    assert not {hit.chunk_id for hit in clusters.search(query, limit=40)} & set(best)
    assert clusters.recall(query[np.newaxis], limit=40) >= 0.95


@pytest.mark.parametrize("where", [None, EVERY_OTHER], ids=["all", "half"])
def test_where_the_index_has_little_left_all_the_rest_is_found(where: Where | None) -> None:
    clusters = filled(indexed=2000, late=4)
    clusters.remove(sorted(clusters.vectors)[:1995])
    assert clusters.recall(clusters.draw(3), limit=10, where=where) == 1.0


def test_equal_distances_go_to_the_smaller_chunk_id_across_index_and_tail() -> None:
    clusters = Clusters()
    same = np.ones((1, DIMENSION), np.float32)
    ids = clusters.add(np.concatenate([clusters.draw(150), np.repeat(same, 4, axis=0)]))
    clusters.build()
    ids += clusters.add(np.repeat(same, 3, axis=0))
    assert [hit.chunk_id for hit in clusters.search(same[0], limit=7)] == ids[150:]


def test_zero_vectors_are_unrelated_to_every_query_and_a_zero_query_to_everything() -> None:
    clusters = Clusters()
    clusters.add(np.concatenate([clusters.draw(150), np.zeros((3, DIMENSION), np.float32)]))
    clusters.build()
    (query,) = clusters.draw(1)
    with explained() as plans:
        found = {hit.chunk_id: hit.distance for hit in clusters.search(query, limit=153)}
    assert "stores_hnsw" in plans[0]
    assert [found[chunk_id] for chunk_id in sorted(clusters.vectors)[-3:]] == [1.0] * 3
    nothing = clusters.search(np.zeros(DIMENSION, np.float32), limit=5)
    assert [(hit.chunk_id, hit.distance) for hit in nothing] == [(pk, 1.0) for pk in sorted(clusters.vectors)[:5]]


@pytest.mark.parametrize("scale", [1e6, 1e-8])
def test_a_direction_always_fits_the_index(scale: float) -> None:
    clusters = Clusters("cosine")
    clusters.add(clusters.draw(500) * np.float32(scale))
    clusters.build()
    with explained() as plans:
        assert clusters.recall(clusters.draw(10) * np.float32(scale)) >= 0.95
    assert "stores_hnsw" in plans[0]


@pytest.mark.parametrize("scale", [1e6, 1e-8])
@pytest.mark.parametrize("distance", ["l2", "ip"])
def test_numbers_without_half_precision_are_compared_one_by_one(distance: DistanceName, scale: float) -> None:
    clusters = Clusters(distance)
    ids = clusters.add(clusters.draw(300) * np.float32(scale))
    state = clusters.shelf.store.index_state(space=clusters.shelf.space)
    assert state == IndexState(indexed=0, unindexed=300, wanted=False)
    clusters.build()
    assert hnsw.catalogued(clusters.shelf.space) == []
    assert clusters.search(clusters.vectors[ids[5]] * np.float32(1), limit=300)


def test_a_query_too_large_for_the_index_is_compared_one_by_one() -> None:
    clusters = filled("l2", late=0)
    query = clusters.draw(1)[0] + np.array([1e5] + [0] * (DIMENSION - 1), np.float32)
    with explained() as plans:
        assert len(clusters.search(query)) == 10
    assert "stores_hnsw" not in plans[0]


def test_a_number_too_large_for_an_index_is_found_beside_the_one_that_stands() -> None:
    clusters = filled("l2")
    before = hnsw.standing(clusters.shelf.space)
    far = np.full((1, DIMENSION), 1e5, np.float32)
    ids = clusters.add(np.concatenate([clusters.draw(500), far]))
    assert clusters.search(far[0], limit=1)[0].chunk_id == ids[-1]
    assert not clusters.shelf.store.index_state(space=clusters.shelf.space).wanted
    clusters.build()
    assert hnsw.catalogued(clusters.shelf.space) == [before]
    assert clusters.recall(clusters.draw(5)) >= 0.95


def test_longer_vectors_than_an_index_can_hold_get_none() -> None:
    clusters = Clusters(dimension=hnsw.MAX_DIMENSION + 1)
    clusters.add(clusters.draw(3))
    assert not clusters.shelf.store.index_state(space=clusters.shelf.space).wanted
    clusters.build()
    assert hnsw.catalogued(clusters.shelf.space) == []
    assert clusters.recall(clusters.draw(1), limit=3) == 1.0


def test_an_emptied_space_is_filled_anew_beside_its_old_index() -> None:
    """A9"""
    clusters = filled()
    other = filled(indexed=120, late=0)
    store, space = clusters.shelf.store, clusters.shelf.space
    with clusters.shelf.locked():
        store.empty(collection_id=space.collection_id)
    clusters.vectors.clear()
    clusters.metadata.clear()
    assert clusters.search(clusters.draw(1)[0]) == []
    assert clusters.search(clusters.draw(1)[0], where=EVERY_OTHER) == []
    assert store.index_state(space=space) == IndexState(indexed=0, unindexed=0, wanted=True)
    (chunk_id,) = clusters.shelf.add({"new": "text"}, {"new": clusters.draw(1)[0].tolist()}).values()
    assert [hit.chunk_id for hit in clusters.search(clusters.draw(1)[0])] == [chunk_id]
    clusters.build()
    assert hnsw.catalogued(space) == []
    assert Vector.objects.filter(generation_id=other.shelf.space.generation_id).count() == 120


@pytest.mark.parametrize("first", ["filter", "distance"])
def test_without_an_index_both_orders_of_work_are_exact(first: str, small_indexes: pytest.MonkeyPatch) -> None:
    small_indexes.setattr(search_plan, "is_filter_first", lambda **_: first == "filter")
    clusters = Clusters("ip")
    clusters.add(np.round(clusters.draw(400)), described(400))
    for where in (EVERY_OTHER, RARE, Compare("number", "$lt", 0), Compare("tag", "$ne", "usual")):
        for query in np.round(clusters.draw(3)):
            found = [hit.chunk_id for hit in clusters.search(query, limit=9, where=where)]
            assert found == [chunk_id for chunk_id, _ in clusters.expected(query, limit=9, where=where)]


def test_a_sample_tells_how_much_passes_even_where_metadata_repeats_or_keys_have_gaps() -> None:
    other, clusters = Clusters(), Clusters()
    for start in range(0, 2000, 500):
        clusters.add(clusters.draw(500), described(500, first=start))
        other.add(other.draw(500), [{"even": False}] * 500)
    clusters.build()
    clusters.add(clusters.draw(500), described(500, first=2000))
    index = hnsw.standing(clusters.shelf.space)
    for where, share in ((EVERY_OTHER, 0.5), (Compare("number", "$lt", 500), 0.25), (RARE, 0.002)):
        found = selectivity.estimate(space=clusters.shelf.space, index=index, where=where)
        assert found.share == pytest.approx(share, abs=0.12)
        assert found.indexed == 2000
        assert found.late == pytest.approx(500, rel=0.5)
    late = selectivity.estimate(space=clusters.shelf.space, index=index, where=Compare("number", "$gte", 2000))
    assert late.share < 0.05 < 0.9 < late.late_share


def test_an_estimate_is_remembered_and_tells_1_from_true(django_assert_num_queries: Any) -> None:
    clusters = filled(late=0)
    space, index = clusters.shelf.space, hnsw.standing(clusters.shelf.space)
    once = selectivity.estimate(space=space, index=index, where=Compare("even", "$eq", True))
    with django_assert_num_queries(0):
        assert selectivity.estimate(space=space, index=index, where=Compare("even", "$eq", True)) is once
    assert selectivity.estimate(space=space, index=index, where=Compare("even", "$eq", 1)).share < 0.1 < once.share


def test_an_index_that_is_dropped_while_a_search_has_begun_breaks_nothing() -> None:
    clusters = filled()
    space, (query,) = clusters.shelf.space, clusters.draw(1)
    with snapshot():
        assert clusters.shelf.collection.generations.exists()
        index = hnsw.standing(space)
        assert index is not None
        with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
            other.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(index.name)))
        assert hnsw.standing(space) == index, "the snapshot still shows it"
        hits = clusters.shelf.store.dense(space=space, query=query, limit=10).hits
    assert [hit.chunk_id for hit in hits] == [chunk_id for chunk_id, _ in clusters.expected(query)]
