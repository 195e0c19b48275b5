"""Moving a collection to another system and back: cut off, cancelled, failed, tried again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collections_app.services import delete_collection
from connections_app.opening import close_all, opened_store
from connections_app.providers.sqlite import SqliteProvider
from connections_app.services import delete_connection, get_connection
from core_app.errors import Conflict, FarSideFailed, InvalidInput, NotFound
from core_app.providers import HeldChunk
from ingest_app import move_jobs
from ingest_app.models import Job
from ingest_app.move_jobs import HERE, start_move
from ingest_app.steering import cancel_job, retry_job
from stores_app import delivering
from stores_app.delivering import deliver_due
from stores_app.models import Leftover, Outgoing, Placement
from tests.integration.ingest.filling import WorkerDied, expire, fill, work_off
from tests.integration.stores.placing import (
    DIMENSION,
    assert_same,
    connect,
    differences,
    filled,
    move,
    near,
    placement_of,
    put,
    store_of,
)

pytestmark = pytest.mark.django_db
JSON = "application/json"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What was opened_store for rows that are gone after the test."""
    yield
    close_all()


@pytest.fixture
def there(settings: Any, tmp_path: Path) -> None:
    connect(settings, tmp_path, "one", "two")


def test_it_goes_from_place_to_place_and_back(there: None, settings: Any) -> None:
    filled()
    move("c", "one")
    put("c", "more")
    move("c", "two")
    assert_same()
    assert placement_of("c").connection.name == "two"
    deliver_due()
    with opened_store(get_connection(name="one")) as one, pytest.raises(NotFound):
        one.get_collection(name="c")
    move("c", HERE)
    assert store_of("c") == "pgvector"
    assert not Placement.objects.exists()
    deliver_due()
    assert not Leftover.objects.exists()
    with opened_store(get_connection(name="two")) as two, pytest.raises(NotFound):
        two.get_collection(name="c")
    assert len(near([1] * DIMENSION, top_k=60)) == 41


def test_a_collection_that_is_deleted_goes_there_too(there: None) -> None:
    filled()
    move("c", "one")
    delete_collection(name="c")
    deliver_due()
    with opened_store(get_connection(name="one")) as one:
        assert not one.list_collections(limit=None, offset=0).collections


def test_what_stands_there_already_is_left_alone(there: None) -> None:
    filled()
    with opened_store(get_connection(name="one")) as one:
        one.create_collection(name="c", metadata={}, distance="cosine")
        one.add(name="c", chunks=[HeldChunk(id="x", text="", metadata={}, embedding=np.ones(2, np.float32))])
        job = move("c", "one")
        assert (job.state, job.code) == (Job.State.FAILED, "taken_there")
        assert one.get_collection(name="c").count == 1
    assert len(near([1] * DIMENSION)) == 10


def test_a_move_that_is_cut_off_goes_on(there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    filled()
    monkeypatch.setattr(delivering, "BATCH", 7)
    job = start_move(name="c", service="one")
    before, calls = SqliteProvider.add, []

    def dies(self: SqliteProvider, *, name: str, chunks: Any) -> None:
        calls.append([chunk.id for chunk in chunks])
        before(self, name=name, chunks=chunks)
        if len(calls) == 3:
            raise WorkerDied

    monkeypatch.setattr(SqliteProvider, "add", dies)
    with pytest.raises(WorkerDied):
        work_off(job)
    expire(job)
    assert_same()
    put("c", "meanwhile")
    assert work_off(job).state == Job.State.SUCCEEDED
    assert sum(map(len, calls)) <= 41 + 7
    assert differences("c") == 0


def test_a_move_that_is_cancelled_leaves_nothing_there(there: None) -> None:
    filled()
    job = start_move(name="c", service="one")
    cancel_job(job=job)
    assert not Placement.objects.exists()
    put("c", "more")
    assert not Outgoing.objects.exists()
    assert len(near([1] * DIMENSION, top_k=60)) == 41
    assert move("c", "two").state == Job.State.SUCCEEDED


def test_a_move_that_was_cancelled_is_tried_again_from_the_beginning(there: None) -> None:
    filled()
    job = start_move(name="c", service="one")
    cancel_job(job=job)
    other = start_move(name="c", service="two")
    with pytest.raises(Conflict):
        retry_job(job=job)
    cancel_job(job=other)
    retry_job(job=job)
    ended = work_off(job)
    assert (ended.state, ended.result and ended.result["chunks"]) == (Job.State.SUCCEEDED, 40)
    assert placement_of("c").connection.name == "one"
    assert differences("c") == 0


def test_a_chunk_that_was_refused_is_sent_again_with_the_next_try(there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    filled()

    def refuses(self: SqliteProvider, **_: Any) -> None:
        raise InvalidInput("Not today.")

    with monkeypatch.context() as broken:
        broken.setattr(SqliteProvider, "add", refuses)
        job = move("c", "one")
    assert (job.state, job.code) == (Job.State.FAILED, "refused_there")
    retry_job(job=job)
    assert work_off(job).state == Job.State.SUCCEEDED
    assert not Outgoing.objects.exists()


def test_a_system_that_is_away_for_long_is_waited_for_while_it_goes_on(
    there: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is when it last did something."""
    filled()
    now = [0.0]
    monkeypatch.setattr("ingest_app.move_jobs.time.monotonic", lambda: now[0])
    monkeypatch.setattr("ingest_app.move_jobs.time.sleep", lambda _: now.__setitem__(0, now[0] + 200))
    monkeypatch.setattr(delivering, "BATCH", 7)
    before, calls = SqliteProvider.add, []

    def away(self: SqliteProvider, *, name: str, chunks: Any) -> None:
        calls.append(1)
        if len(calls) % 3:
            raise FarSideFailed("It is away.")
        before(self, name=name, chunks=chunks)

    monkeypatch.setattr(SqliteProvider, "add", away)
    assert move("c", "one").state == Job.State.SUCCEEDED
    assert now[0] > move_jobs.PATIENCE_SECONDS


def test_a_move_that_fails_can_be_tried_again(there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    filled()

    def refuses(self: SqliteProvider, **_: Any) -> None:
        raise FarSideFailed("The key is refused.", code="far_side_refused")

    with monkeypatch.context() as broken:
        broken.setattr(SqliteProvider, "create_collection", refuses)
        job = move("c", "one")
    assert (job.state, job.code) == (Job.State.FAILED, "far_side_refused")
    assert len(near([1] * DIMENSION)) == 10
    retry_job(job=job)
    assert work_off(job).state == Job.State.SUCCEEDED


def test_what_cannot_be_is_refused(there: None) -> None:
    filled()
    with pytest.raises(NotFound):
        start_move(name="c", service="nowhere")
    with pytest.raises(NotFound):
        start_move(name="nowhere", service="one")
    with pytest.raises(Conflict, match="here already"):
        start_move(name="c", service=HERE)
    start_move(name="c", service="one")
    with pytest.raises(Conflict, match="being moved"):
        start_move(name="c", service="two")


def test_a_connection_in_use_stays(there: None) -> None:
    filled()
    move("c", "one")
    with pytest.raises(Conflict, match="Move them"):
        delete_connection(name="one")
    with pytest.raises(Conflict, match="already"):
        start_move(name="c", service="one")
    filled("d", 3)
    with pytest.raises(Conflict, match="Another collection"):
        start_move(name="d", service="one", name_there="c")
    fill("d", 2, first=10, dimension=DIMENSION)
