"""Vector indexes are built beside everything else: given up, killed, raced, and cleared away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, transaction
from psycopg import errors, sql

from core_app.ports import IndexState
from core_app.snapshot import snapshot
from stores_app import hnsw, maintenance
from stores_app.hnsw import VectorIndex
from stores_app.index_upkeep import _TABLES
from tests.integration.stores.clusters import Clusters

pytestmark = pytest.mark.usefixtures("small_indexes")


Start = Callable[[Callable[[], object]], Future[object]]


class GivenUp(Exception):
    """What a cancelled job raises."""


@pytest.fixture
def clusters() -> Clusters:
    """Enough vectors for an index, and none yet."""
    clusters = Clusters()
    clusters.add(clusters.draw(300))
    return clusters


def standing() -> list[tuple[str, bool]]:
    return sorted((index.name, index.is_valid) for index in hnsw.catalogued())


def name(clusters: Clusters) -> str:
    """Of an index over all its vectors."""
    return f"stores_hnsw_g{clusters.shelf.space.generation_id}_w{max(clusters.vectors)}_n{len(clusters.vectors)}"


def another_session() -> psycopg.Connection[Any]:
    return psycopg.connect(**connection.get_connection_params(), autocommit=True)


@contextmanager
def a_write_that_takes_long() -> Iterator[None]:
    """While it lasts no index of the table is finished."""
    with another_session() as session:
        session.execute("BEGIN")
        session.execute("LOCK TABLE stores_vector IN ROW EXCLUSIVE MODE")
        yield
        session.execute("COMMIT")


@pytest.fixture
def elsewhere() -> Iterator[Start]:
    """Starts work in a thread, which has a connection of its own."""

    def run(work: Callable[[], object]) -> object:
        try:
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor() as threads:
        yield lambda work: threads.submit(run, work)


def builder() -> int:
    """The process of the database that builds an index, once it waits for others to end."""
    deadline = time.monotonic() + 30
    with another_session() as session:
        while time.monotonic() < deadline:
            row = session.execute(
                "SELECT pid FROM pg_stat_activity WHERE query LIKE %s AND wait_event_type = 'Lock'",
                ["%CREATE INDEX CONCURRENTLY%"],
            ).fetchone()
            if row:
                return int(row[0])
            time.sleep(0.01)
    raise AssertionError("nobody builds")


def test_an_index_is_wanted_once_there_are_enough_vectors_and_again_when_many_came_after(clusters: Clusters) -> None:
    store, space = clusters.shelf.store, clusters.shelf.space
    few = Clusters()
    few.add(few.draw(99))
    assert store.index_state(space=few.shelf.space) == IndexState(indexed=0, unindexed=99, wanted=False)
    assert store.index_state(space=space) == IndexState(indexed=0, unindexed=300, wanted=True)
    clusters.build()
    assert store.index_state(space=space) == IndexState(indexed=300, unindexed=0, wanted=False)
    first = name(clusters)
    clusters.add(clusters.draw(99))
    assert store.index_state(space=space) == IndexState(indexed=300, unindexed=99, wanted=False)
    clusters.add(clusters.draw(1))
    assert store.index_state(space=space) == IndexState(indexed=300, unindexed=100, wanted=True)
    assert standing() == [(first, True)]
    clusters.build()
    assert standing() == [(name(clusters), True)]
    assert store.index_state(space=space) == IndexState(indexed=400, unindexed=0, wanted=False)


def test_a_large_index_is_built_anew_only_for_a_quarter_more(clusters: Clusters) -> None:
    clusters.add(clusters.draw(300))
    clusters.build()
    clusters.add(clusters.draw(149))
    assert not clusters.shelf.store.index_state(space=clusters.shelf.space).wanted
    clusters.add(clusters.draw(1))
    assert clusters.shelf.store.index_state(space=clusters.shelf.space).wanted


def test_an_index_outlives_the_threshold_until_half_of_that_is_left() -> None:
    clusters = Clusters()
    clusters.add(clusters.draw(120))
    store, space = clusters.shelf.store, clusters.shelf.space
    clusters.build()
    clusters.remove(sorted(clusters.vectors)[:70])
    assert store.index_state(space=space) == IndexState(indexed=50, unindexed=0, wanted=False)
    clusters.remove(sorted(clusters.vectors)[:1])
    assert store.index_state(space=space).wanted
    clusters.build()
    assert standing() == []
    assert not store.index_state(space=space).wanted


def test_an_index_is_built_anew_when_much_of_it_was_deleted(clusters: Clusters) -> None:
    store, space = clusters.shelf.store, clusters.shelf.space
    clusters.build()
    clusters.remove(sorted(clusters.vectors)[-99:])
    assert store.index_state(space=space) == IndexState(indexed=201, unindexed=0, wanted=False)
    clusters.remove(sorted(clusters.vectors)[-1:])
    assert store.index_state(space=space).wanted
    clusters.build()
    assert standing() == [(name(clusters), True)]
    assert not store.index_state(space=space).wanted


def test_building_again_changes_nothing(clusters: Clusters) -> None:
    clusters.build()
    before = oid(name(clusters))
    clusters.build()
    assert oid(name(clusters)) == before


def oid(relation: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s)::oid", [relation])
        return int(cursor.fetchone()[0])


def test_a_build_that_is_given_up_leaves_nothing(clusters: Clusters, elsewhere: Start) -> None:
    calls = []

    def give_up() -> None:
        calls.append(builder())
        if len(calls) == 3:
            raise GivenUp

    blocked = threading.Event()

    def write() -> None:
        with a_write_that_takes_long():
            blocked.set()
            while len(calls) < 3:
                time.sleep(0.01)

    writing = elsewhere(write)
    assert blocked.wait(10)
    with pytest.raises(GivenUp):
        clusters.shelf.store.build_index(space=clusters.shelf.space, check=give_up)
    writing.result()
    assert standing() == []
    assert clusters.shelf.store.index_state(space=clusters.shelf.space).wanted
    clusters.build()
    assert standing() == [(name(clusters), True)]


def kill_build(clusters: Clusters, elsewhere: Start) -> None:
    """Have the database end a build; its index stays behind, unfinished."""
    with a_write_that_takes_long():
        building = elsewhere(clusters.build)
        with another_session() as session:
            session.execute("SELECT pg_terminate_backend(%s)", [builder()])
        assert isinstance(building.exception(), OperationalError)
    assert (name(clusters), False) in standing()


def test_searches_and_writes_go_on_beside_what_a_killed_build_left_and_the_next_repairs_it(
    clusters: Clusters, elsewhere: Start
) -> None:
    kill_build(clusters, elsewhere)
    clusters.add(clusters.draw(5))
    assert clusters.recall(clusters.draw(3)) == 1.0
    assert clusters.shelf.store.index_state(space=clusters.shelf.space).wanted
    clusters.build()
    assert standing() == [(name(clusters), True)]
    assert clusters.recall(clusters.draw(10)) >= 0.95


def test_what_a_killed_build_left_does_not_stop_one_of_the_same_vectors(clusters: Clusters, elsewhere: Start) -> None:
    kill_build(clusters, elsewhere)
    clusters.build()
    assert standing() == [(name(clusters), True)]


def test_two_builders_at_once_leave_one_index(clusters: Clusters, elsewhere: Start) -> None:
    with a_write_that_takes_long():
        builders = [elsewhere(clusters.build) for _ in range(2)]
        builder()
    for building in builders:
        building.result()
    assert standing() == [(name(clusters), True)]


def test_a_builder_that_waits_for_another_can_be_given_up(clusters: Clusters, elsewhere: Start) -> None:
    def give_up() -> None:
        raise GivenUp

    with a_write_that_takes_long():
        building = elsewhere(clusters.build)
        builder()
        with pytest.raises(GivenUp):
            clusters.shelf.store.build_index(space=clusters.shelf.space, check=give_up)
    building.result()
    assert standing() == [(name(clusters), True)]


def test_what_is_added_and_deleted_during_a_build_is_there_and_gone(clusters: Clusters, elsewhere: Start) -> None:
    with a_write_that_takes_long():
        building = elsewhere(clusters.build)
        builder()
        added = clusters.add(clusters.draw(20))
        clusters.remove(sorted(clusters.vectors)[:20])
    for _ in range(10):
        added += clusters.add(clusters.draw(3))
        clusters.remove(sorted(clusters.vectors)[:3])
    building.result()
    assert [is_valid for _, is_valid in standing()] == [True]
    for chunk_id in added:
        assert clusters.search(clusters.vectors[chunk_id], limit=1)[0].chunk_id == chunk_id
    assert clusters.recall(clusters.draw(20)) >= 0.95


def test_searches_go_on_while_the_index_is_replaced(clusters: Clusters, elsewhere: Start) -> None:
    clusters.build()
    clusters.add(clusters.draw(200))
    (query,) = clusters.draw(1)
    store, space = clusters.shelf.store, clusters.shelf.space
    with snapshot():
        before = store.dense(space=space, query=query, limit=10).hits
        building = elsewhere(clusters.build)
        builder()
        assert store.dense(space=space, query=query, limit=10).hits == before
    building.result()
    assert standing() == [(name(clusters), True)]
    assert clusters.recall(clusters.draw(5)) >= 0.95


def test_inside_a_transaction_a_build_would_wait_for_itself_and_is_refused(clusters: Clusters) -> None:
    with transaction.atomic(), pytest.raises(transaction.TransactionManagementError):
        clusters.build()
    assert standing() == []


def test_without_room_for_shared_memory_one_process_builds(
    clusters: Clusters, small_indexes: pytest.MonkeyPatch
) -> None:
    run = maintenance.Upkeep.run
    refused: list[str] = []

    def without_room(self: maintenance.Upkeep, query: sql.Composed, *, check: Callable[[], None]) -> None:
        workers = self._own.execute("SHOW max_parallel_maintenance_workers").fetchone()
        if "CREATE INDEX" in query.as_string() and workers != ("0",):
            refused.append(query.as_string())
            raise errors.DiskFull("could not resize shared memory segment")
        run(self, query, check=check)

    small_indexes.setattr(maintenance.Upkeep, "run", without_room)
    clusters.build()
    assert len(refused) == 1
    assert standing() == [(name(clusters), True)]


def test_reclaiming_drops_what_serves_no_search_and_keeps_the_rest(clusters: Clusters, elsewhere: Start) -> None:
    emptied = Clusters()
    emptied.add(emptied.draw(200))
    emptied.build()
    with emptied.shelf.locked():
        emptied.shelf.store.empty(collection_id=emptied.shelf.collection.pk)
    clusters.build()
    generation = clusters.shelf.space.generation_id
    superseded = VectorIndex(generation_id=generation, watermark=5, rows=3)
    worn = VectorIndex(generation_id=generation, watermark=max(clusters.vectors), rows=900)
    orphan = VectorIndex(generation_id=10**9, watermark=5, rows=3)
    with connection.cursor() as cursor:
        for index in (superseded, worn, orphan):
            cursor.execute(sql.SQL("CREATE INDEX {} ON stores_vector (chunk_id)").format(sql.Identifier(index.name)))
    unfinished = Clusters()
    unfinished.add(unfinished.draw(200))
    kill_build(unfinished, elsewhere)
    assert [is_valid for _, is_valid in standing()].count(False) == 1
    assert len(standing()) == 6
    told: list[tuple[str, int, int]] = []
    clusters.shelf.store.reclaim(check=lambda *step: told.append(step))
    assert standing() == [(name(clusters), True)]
    steps = ["vector indexes", "emptied word indexes", *_TABLES]
    assert list(dict.fromkeys(told)) == [(step, done, len(steps)) for done, step in enumerate(steps)]


def test_reclaiming_builds_worn_indexes_anew_before_it_vacuums(clusters: Clusters) -> None:
    little = Clusters()
    little.add(little.draw(300))
    for each in (clusters, little):
        each.build()
    before = name(little)
    clusters.remove(sorted(clusters.vectors)[:4])
    little.remove(sorted(little.vectors)[:3])
    clusters.shelf.store.reclaim(check=lambda *_: None)
    assert {each for each, is_valid in standing() if is_valid} == {name(clusters), before}
    assert len(standing()) == 2


def test_reclaiming_vacuums_every_table_and_can_be_given_up_between_two(clusters: Clusters) -> None:
    def give_up(step: str, done: int, total: int) -> None:
        if step == "stores_postingblock":
            raise GivenUp

    before = times("vacuum_count")
    with pytest.raises(GivenUp):
        clusters.shelf.store.reclaim(check=give_up)
    after = times("vacuum_count")
    assert {table for table in after if after[table] > before[table]} == {"stores_vector"}
    clusters.shelf.store.reclaim(check=lambda *_: None)
    after = times("vacuum_count")
    assert {table for table in after if after[table] > before[table]} == set(_TABLES)


def times(what: str) -> dict[str, int]:
    """How often it was done, by table."""
    with connection.cursor() as cursor:
        query = "SELECT relname, {} FROM pg_stat_user_tables WHERE relname = ANY(%s)"
        cursor.execute(sql.SQL(query).format(sql.Identifier(what)), [list(_TABLES)])
        return dict(cursor.fetchall())


def test_a_build_tells_the_planner_what_was_loaded(clusters: Clusters) -> None:
    before = times("analyze_count")
    clusters.build()
    after = times("analyze_count")
    assert {table for table in after if after[table] > before[table]} == {"stores_vector", "collections_chunk"}
