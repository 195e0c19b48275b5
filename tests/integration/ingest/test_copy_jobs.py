"""Copies too large for a request: a job makes them in one transaction, so there is a whole copy or none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client

from collections_app import cloning
from collections_app.adding import NewChunk, add_chunks
from collections_app.disabling import set_disabled
from collections_app.filters import save_filter
from collections_app.models import Chunk, Collection, KeptVector, NamedFilter
from collections_app.services import create_collection, delete_collection
from core_app import wiring
from core_app.errors import Conflict
from core_app.sql import statement
from ingest_app import copy_jobs
from ingest_app.copy_jobs import start_copy
from ingest_app.models import Job
from ingest_app.steering import can_be_retried, cancel_job, retry_job
from ingest_app.work import run_job
from search_app.models import Judgement, TestCase
from search_app.services import search
from tests.integration.ingest.filling import WorkerDied, expire, fill, held, never, work_off

COUNT = 30
JSON = "application/json"


class _Here(Executor):
    """Runs in the thread that asks, whose transaction is the test's."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(None if fn is copy_jobs._close else fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - the future's, whatever it is
            future.set_exception(error)
        return future


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collections of more than ten chunks are large, and seven are copied at a time."""
    monkeypatch.setattr(cloning, "MOST_CHUNKS", 10)
    monkeypatch.setattr(cloning, "CHUNKS_AT_A_TIME", 7)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy_jobs, "ThreadPoolExecutor", lambda **_: _Here())


def large() -> Collection:
    """Chunks of which one is disabled, a filter, a test case with two judgements."""
    made = create_collection(name="tea", metadata={"a": 1})
    fill("tea", COUNT)
    set_disabled(collection_name="tea", external_id="d3", disabled=True)
    save_filter(collection_name="tea", name="low", where={"n": {"$lt": 3}}, description="D")
    case = TestCase.objects.create(
        collection=made, name="t", query="Passage 2", settings={"mode": "fast"}, saved_by="j"
    )
    for number in (2, 4):
        Judgement.objects.create(case=case, external_id=f"d{number}", excerpt="Passage", grade=number // 2)
    return Collection.objects.get(pk=made.pk)


def submitted(name: str = "copy", **along: bool) -> Job:
    made = start_copy(name="tea", new_name=name, along=cloning.Along(**along))
    assert isinstance(made, Job)
    return made


def contents(name: str) -> list[Any]:
    rows = Chunk.objects.filter(collection__name=name).order_by("position")
    return list(rows.values_list("external_id", "text", "metadata", "disabled_at"))


def hits(name: str) -> list[tuple[str, float]]:
    found = search(collection_name=name, query="Passage 12", top_k=5, asked_by="test", mode="fast")
    return [(hit.id, round(hit.score, 6)) for hit in found.hits]


def at_batch(monkeypatch: pytest.MonkeyPatch, number: int, then: Callable[[], object]) -> None:
    original, seen = copy_jobs._told, 0

    def watched(*given: Any) -> None:
        nonlocal seen
        original(*given)
        seen += 1
        if seen == number + 1:  # the first is before the transaction
            then()

    monkeypatch.setattr(copy_jobs, "_told", watched)


def die() -> None:
    raise WorkerDied


@pytest.mark.django_db
@pytest.mark.usefixtures("here")
class TestTheCopy:
    def test_it_has_everything(self, client: Client) -> None:
        source = large()
        answer = client.post("/collections/tea/clone", {"name": "copy"}, JSON)
        assert answer.status_code == 202
        assert not Collection.objects.filter(name="copy").exists()
        job = work_off(Job.objects.get(pk=answer.json()["id"]))
        assert (job.state, job.done, job.total) == ("succeeded", COUNT, COUNT)
        copy = Collection.objects.get(name="copy")
        assert (contents("copy"), hits("copy")) == (contents("tea"), hits("tea"))
        assert hits("copy")
        assert job.result == {"chunks": COUNT, "collection_id": copy.pk}
        (one, other) = (KeptVector.objects.get(chunk__collection=row) for row in (source, copy))
        assert bytes(one.numbers) == bytes(other.numbers)
        assert other.generation_id == copy.active_generation_id
        assert NamedFilter.objects.get(collection=copy).where == {"n": {"$lt": 3}}
        case = TestCase.objects.get(collection=copy)
        judged = dict(case.judgements.values_list("external_id", "grade"))
        assert (case.query, case.settings, judged) == ("Passage 2", {"mode": "fast"}, {"d2": 1, "d4": 2})
        assert Chunk.objects.filter(collection=copy, external_id__in=judged).count() == 2

    def test_what_goes_along_is_chosen(self, client: Client) -> None:
        large()
        work_off(submitted(filters=False, test_cases=False))
        assert held("copy") == COUNT
        assert not NamedFilter.objects.filter(collection__name="copy").exists()
        assert not TestCase.objects.filter(collection__name="copy").exists()
        assert client.post("/collections/tea/clone", {"name": "b", "filters": "yes"}, JSON).status_code == 400

    def test_a_name_that_is_taken(self) -> None:
        large()
        with pytest.raises(Conflict, match="already exists"):
            submitted("tea")
        job = submitted()
        with pytest.raises(Conflict, match="Another job makes"):
            submitted()
        create_collection(name="copy")
        work_off(job)
        assert (job.state, job.code, held("copy")) == ("failed", "collection_exists", 0)
        assert not can_be_retried(job=job)
        with pytest.raises(Conflict, match="Copy the collection again"):
            retry_job(job=job)

    def test_chunks_without_vectors_are_told_by_the_job(self) -> None:
        Chunk.objects.create(collection=large(), external_id="x", text="t")
        job = work_off(submitted())
        assert (job.state, job.code) == ("failed", "chunks_without_vectors")
        assert not Collection.objects.filter(name="copy").exists()

    @pytest.mark.parametrize(("name", "model"), [("search_testcase", TestCase), ("search_judgement", Judgement)])
    def test_no_column_of_test_cases_is_forgotten(self, name: str, model: Any) -> None:
        """A column that is new belongs into the statement, or its value is lost in copies."""
        head = statement("search_app", "clone_test_cases").partition(f"INSERT INTO {name} (")[2].partition(")")[0]
        written = {column.strip().strip('"') for column in head.split(",")}
        assert written | {"id"} == {field.column for field in model._meta.concrete_fields}


@pytest.mark.django_db(transaction=True)
class TestOthersMeanwhile:
    """On connections of their own, as they are."""

    @pytest.fixture(autouse=True)
    def _tidy(self) -> Iterator[None]:
        yield
        connection.close()

    @pytest.mark.parametrize("number", [1, 3, 5])
    def test_a_worker_that_dies_leaves_nothing(self, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
        large()
        job = submitted()
        with monkeypatch.context() as killing:
            at_batch(killing, number, die)
            with pytest.raises(WorkerDied):
                run_job(job_id=job.pk, stopping=never)
        assert not Collection.objects.filter(name="copy").exists()
        assert Chunk.objects.count() == COUNT
        expire(job)
        work_off(job)
        assert (job.state, contents("copy")) == ("succeeded", contents("tea"))

    def test_a_cancelled_one_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        large()
        job = submitted()
        at_batch(monkeypatch, 2, lambda: beside(lambda: cancel_job(job=job)))
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, job.finished_at is None) == ("cancelled", False)
        assert not Collection.objects.filter(name="copy").exists()
        assert Chunk.objects.count() == COUNT

    def test_one_that_was_made_before_its_worker_died_is_not_made_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        large()
        job = submitted()
        with monkeypatch.context() as killing:
            killing.setattr(copy_jobs, "_finish", lambda *_: die())
            with pytest.raises(WorkerDied):
                run_job(job_id=job.pk, stopping=never)
        assert held("copy") == COUNT
        expire(job)
        work_off(job)
        assert (job.state, job.done, Collection.objects.count()) == ("succeeded", COUNT, 2)

    @pytest.mark.parametrize("is_silent", [False, True])
    def test_one_that_is_cancelled_at_the_very_end_leaves_nothing(
        self, is_silent: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After its last look at the job, and also where its lease ran out by then."""
        large()
        job = submitted()
        original = wiring.copy_test_cases

        def cancelled(**given: Any) -> None:
            original(**given)
            if is_silent:
                beside(lambda: expire(job))
            beside(lambda: cancel_job(job=job))

        monkeypatch.setattr(cloning, "copy_test_cases", cancelled)
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, Collection.objects.filter(name="copy").exists()) == ("cancelled", False)
        assert Chunk.objects.count() == COUNT

    def test_who_cancels_while_it_is_committed_finds_it_succeeded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        large()
        job = submitted()
        original = copy_jobs.Fence.close
        waiting = threading.Thread(target=lambda: beside(lambda: cancel_job(job=job)))

        def close(fence: copy_jobs.Fence) -> None:
            original(fence)
            waiting.start()
            waiting.join(0.3)
            assert waiting.is_alive()

        monkeypatch.setattr(copy_jobs.Fence, "close", close)
        run_job(job_id=job.pk, stopping=never)
        waiting.join()
        job.refresh_from_db()
        assert (job.state, job.cancel_requested, held("copy")) == ("succeeded", False, COUNT)

    def test_others_write_to_the_original_and_see_how_far_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        large()
        before = contents("tea")
        job = submitted()
        seen: list[tuple[int, str, int]] = []

        def write() -> None:
            row = Job.objects.get(pk=job.pk)
            seen.append((row.done, row.step, Collection.objects.filter(name="copy").count()))
            chunks = [NewChunk(external_id="d20", text="Another.", metadata={})]
            add_chunks(collection_name="tea", chunks=chunks, embeddings=_one_vector)

        at_batch(monkeypatch, 2, lambda: beside(write))
        work_off(job)
        assert seen == [(14, "Copying chunks: 14 of 30.", 0)]
        assert (job.state, contents("copy")) == ("succeeded", before)
        assert contents("tea") != before

    def test_an_original_that_is_deleted_meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        large()
        before, job = contents("tea"), submitted()
        at_batch(monkeypatch, 2, lambda: beside(lambda: delete_collection(name="tea")))
        run_job(job_id=job.pk, stopping=never)
        # The job went with it. What was there when the copy was begun is copied, or nothing is.
        assert not Job.objects.filter(pk=job.pk).exists()
        assert contents("copy") in ([], before)
        assert Chunk.objects.exclude(collection__name="copy").count() == 0


def _one_vector() -> Any:
    return np.ones((1, 3), dtype=np.float32)


def beside(work: Callable[[], object]) -> None:
    """In another thread, which has a connection of its own."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
