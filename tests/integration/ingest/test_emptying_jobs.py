"""Emptying a large collection is a job: who does it, what kills leave behind, what a caller is told."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from collections_app.models import Chunk, Collection, Generation
from collections_app.services import create_collection, delete_collection, lock_collection
from core_app.errors import Conflict
from ingest_app import emptying, services
from ingest_app.leases import claim
from ingest_app.models import Job
from ingest_app.services import start_emptying
from ingest_app.steering import cancel_job, retry_job
from ingest_app.work import run_job
from tests.integration.ingest.filling import WorkerDied, empty, expire, fill, held, never

COUNT = 5
EMPTIED = {"status": "emptied", "collection": "c", "count_deleted": COUNT}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "IN_REQUEST_CHUNKS", COUNT - 1)
    monkeypatch.setattr(services, "TAKE_OVER_SECONDS", 0.01)
    monkeypatch.setattr("ingest_app.api.EMPTYING_SECONDS", 0.05)


@pytest.fixture
def collection(db: None) -> Collection:
    made = create_collection(name="c")
    fill("c", COUNT)
    return made


def at_step(monkeypatch: pytest.MonkeyPatch, step: str, then: Callable[[], object]) -> None:
    """Let `then` happen within the transaction, after this step of it."""
    if step in {"hold", "request_reclaim", "touch"}:
        original: Callable[..., Any] = getattr(emptying, step)

        def noticed(**arguments: Any) -> Any:
            result = original(**arguments)
            then()
            return result

        monkeypatch.setattr(emptying, step, noticed)
        return
    run = emptying._run

    def watched(name: str, *arguments: Any, **more: Any) -> int:
        deleted = run(name, *arguments, **more)
        if name == step:
            then()
        return deleted

    monkeypatch.setattr(emptying, "_run", watched)


def die() -> None:
    raise WorkerDied


class TestWhoDoesIt:
    def test_without_a_worker_the_web_process_does(self, client: Client, collection: Collection) -> None:
        answer = empty(client, "c")
        assert (answer.status_code, answer.json()) == (200, EMPTIED)
        assert held("c") == 0
        job = Job.objects.get()
        assert (job.kind, job.state, job.attempts) == ("empty", "succeeded", 1)

    def test_a_worker_that_comes_in_time_does(
        self, client: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def work(_seconds: float) -> None:
            run_job(job_id=Job.objects.get().pk, stopping=never)

        def refuse(**_: Any) -> None:
            raise AssertionError("the web process must leave it to the worker")

        monkeypatch.setattr(services, "time", SimpleNamespace(sleep=work, monotonic=time.monotonic))
        monkeypatch.setattr(services, "run_job", refuse)
        assert empty(client, "c").json() == EMPTIED

    def test_while_a_worker_is_on_it_the_caller_is_given_the_job(self, client: Client, collection: Collection) -> None:
        job = start_emptying(name="c")
        claim(job_id=job.pk)
        ended = services.attend(job=job, seconds=0.05)
        assert (ended.state, held("c")) == ("running", COUNT)

    def test_when_patience_ends_the_answer_is_the_job(
        self, client: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(services, "run_job", lambda **_: None)
        answer = empty(client, "c")
        assert answer.status_code == 202
        assert "Preference-Applied" not in answer.headers
        assert answer.headers["Location"] == f"/api/rag/jobs/{Job.objects.get().pk}"
        assert (answer.json()["kind"], answer.json()["state"]) == ("empty", "queued")

    def test_who_would_not_wait_long_enough_does_not_do_it(self, collection: Collection) -> None:
        emptied = services.empty_collection(name="c", seconds=0.001)
        assert emptied.job is not None
        assert (emptied.job.state, held("c")) == ("queued", COUNT)

    def test_it_goes_to_the_queue_of_short_tasks(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
    ) -> None:
        queues: list[str] = []
        monkeypatch.setattr("celery.current_app.send_task", lambda *_, queue, **__: queues.append(queue))
        with django_capture_on_commit_callbacks(execute=True):
            start_emptying(name="c")
        assert queues == ["control"]

    def test_no_model_is_loaded_for_it(self, collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("core_app.wiring._embedder", die)
        run_job(job_id=start_emptying(name="c").pk, stopping=never)
        assert held("c") == 0


class TestKills:
    @pytest.mark.parametrize(
        "step", ["delete_all_chunks", "delete_all_documents", "delete_generations", "touch", "hold"]
    )
    def test_a_worker_that_dies_within_the_transaction_leaves_everything(
        self, client: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        job = start_emptying(name="c")
        with monkeypatch.context() as killing:
            at_step(killing, step, die)
            with pytest.raises(WorkerDied):
                run_job(job_id=job.pk, stopping=never)
        assert held("c") == COUNT
        assert Generation.objects.count() == 1
        run_job(job_id=job.pk, stopping=never)
        assert held("c") == COUNT, "the lease still holds"
        expire(job)
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, held("c"), job.result) == ("succeeded", 0, {"count_deleted": COUNT, "documents_deleted": 0})

    def test_what_was_committed_is_not_done_again(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The worker is killed after the commit; what came since then stays, and the count is the true one."""
        job = start_emptying(name="c")

        def work_and_die(*arguments: Any) -> None:
            emptying.run(*arguments)
            raise WorkerDied

        with monkeypatch.context() as killing:
            killing.setattr("ingest_app.work.WORK", {"empty": work_and_die})
            with pytest.raises(WorkerDied):
                run_job(job_id=job.pk, stopping=never)
        fill("c", 2)
        expire(job)
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert job.result is not None
        assert (job.state, job.result["count_deleted"], held("c")) == ("succeeded", COUNT, 2)

    def test_what_came_after_it_was_cut_off_is_not_deleted_when_it_goes_on(
        self, client: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever saw the call fail may have emptied and filled the collection again by then."""
        job = start_emptying(name="c")
        with monkeypatch.context() as killing:
            at_step(killing, "touch", die)
            with pytest.raises(WorkerDied):
                run_job(job_id=job.pk, stopping=never)
        emptying.empty_now(collection_id=collection.pk)
        fill("c", 2)
        expire(job)
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, job.code, held("c")) == ("failed", "collection_changed", 2)
        run_job(job_id=retry_job(job=job).pk, stopping=never)
        assert held("c") == 0

    def test_the_caller_who_waited_for_it_is_told(
        self, client: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def cut_off_and_go_on(*, job_id: Any, **_: Any) -> None:
            with monkeypatch.context() as killing:
                at_step(killing, "touch", die)
                with pytest.raises(WorkerDied):
                    run_job(job_id=job_id, stopping=never)
            fill("c", 1, first=50)
            expire(Job.objects.get())
            run_job(job_id=job_id, stopping=never)

        monkeypatch.setattr(services, "run_job", cut_off_and_go_on)
        answer = empty(client, "c")
        assert (answer.status_code, answer.json()["code"], held("c")) == (409, "collection_changed", COUNT + 1)

    def test_what_is_added_before_it_begins_goes_too(self, collection: Collection) -> None:
        job = start_emptying(name="c")
        fill("c", 2, first=50)
        run_job(job_id=job.pk, stopping=never)
        assert held("c") == 0

    def test_a_worker_that_lost_its_lease_deletes_nothing(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = start_emptying(name="c")

        def lose() -> None:
            Job.objects.filter(pk=job.pk).update(lease_token=uuid.uuid4())

        at_step(monkeypatch, "touch", lose)
        run_job(job_id=job.pk, stopping=never)
        assert (Job.objects.get().state, held("c")) == ("running", COUNT)

    def test_what_keeps_killing_its_workers_is_set_aside_and_can_be_tried_again(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = start_emptying(name="c")
        with monkeypatch.context() as killing:
            at_step(killing, "touch", die)
            for _ in range(3):
                with pytest.raises(WorkerDied):
                    run_job(job_id=job.pk, stopping=never)
                expire(job)
            run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, job.code, held("c")) == ("failed", "quarantined", COUNT)
        run_job(job_id=retry_job(job=job).pk, stopping=never)
        assert held("c") == 0

    def test_a_stopping_worker_gives_it_back_without_counting_the_attempt(self, collection: Collection) -> None:
        job = start_emptying(name="c")
        run_job(job_id=job.pk, stopping=lambda: True)
        job.refresh_from_db()
        assert (job.state, job.attempts, job.lease_token, held("c")) == ("queued", 0, None, COUNT)

    def test_an_interrupted_command_gives_it_back_at_once(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        job = start_emptying(name="c")
        at_step(monkeypatch, "touch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_job(job_id=job.pk, stopping=never)
        assert cancel_job(job=job).state == "cancelled"
        assert held("c") == COUNT


class TestEnds:
    def test_an_error_is_the_job_s_and_the_caller_s(
        self, client: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail() -> None:
            raise ZeroDivisionError("secret detail")

        at_step(monkeypatch, "touch", fail)
        answer = empty(client, "c")
        assert (answer.status_code, answer.json()["code"]) == (500, "server_error")
        assert b"secret" not in answer.content
        shown = client.get(f"/api/rag/jobs/{Job.objects.get().pk}").json()
        assert (shown["state"], shown["code"], shown["error"]) == ("failed", "server_error", answer.json()["detail"])
        assert held("c") == COUNT

    def test_one_that_waits_is_cancelled_at_once_and_can_be_tried_again(self, collection: Collection) -> None:
        job = cancel_job(job=start_emptying(name="c"))
        assert job.state == "cancelled"
        run_job(job_id=job.pk, stopping=never)
        assert held("c") == COUNT
        run_job(job_id=retry_job(job=job).pk, stopping=never)
        assert held("c") == 0
        with pytest.raises(Conflict):
            retry_job(job=job)

    @pytest.mark.parametrize("step", ["delete_all_chunks", "delete_all_documents", "touch"])
    def test_one_that_runs_is_taken_back_as_a_whole(
        self, client: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        """The request to stop comes from another connection; here it is the same, so it is written at the end."""
        asked = []
        at_step(monkeypatch, step, lambda: asked.append(cancel_job(job=Job.objects.get())))
        answer = empty(client, "c")
        assert (answer.status_code, answer.json()["code"], len(asked)) == (409, "cancelled", 1)
        assert held("c") == COUNT

    def test_a_collection_that_is_deleted_meanwhile_is_404(
        self, client: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(services, "run_job", lambda **_: delete_collection(name="c"))
        answer = empty(client, "c")
        assert (answer.status_code, answer.json()["code"]) == (404, "collection_not_found")


@pytest.fixture
def thread() -> Iterator[Callable[[Callable[[], object]], threading.Thread]]:
    """Starts threads with connections of their own, and waits for them."""
    started: list[threading.Thread] = []

    def start(work: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            finally:
                connection.close()

        started.append(threading.Thread(target=run))
        started[-1].start()
        return started[-1]

    yield start
    for one in started:
        one.join(30)


@pytest.mark.django_db(transaction=True)
class TestBeside:
    """With what happens at the same time on other connections."""

    def test_the_job_s_row_stays_free_while_it_deletes(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch, thread: Any
    ) -> None:
        """The heartbeat and whoever cancels write to it: a cancel is seen although the deletes are done."""
        job = start_emptying(name="c")
        at_step(monkeypatch, "touch", lambda: thread(lambda: cancel_job(job=job)).join(10))
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, held("c")) == ("cancelled", COUNT)

    def test_what_is_added_meanwhile_lands_afterwards_as_a_whole(
        self, client: Client, collection: Collection, monkeypatch: pytest.MonkeyPatch, thread: Any
    ) -> None:
        adding = threading.Event()
        started: list[threading.Thread] = []

        def add() -> None:
            adding.set()
            fill("c", 4, first=100, dimension=7)

        def begin() -> None:
            started.append(thread(add))
            assert adding.wait(10)

        at_step(monkeypatch, "delete_all_chunks", begin)
        answer = empty(client, "c")
        assert answer.json() == EMPTIED
        started[0].join(30)
        assert sorted(Chunk.objects.values_list("external_id", flat=True)) == ["d100", "d101", "d102", "d103"]
        assert Generation.objects.get().dimension == 7

    def test_another_write_in_its_way_costs_time_and_no_attempt(self, collection: Collection, thread: Any) -> None:
        job = start_emptying(name="c")
        with pytest.MonkeyPatch.context() as hasty:
            hasty.setattr(emptying, "lock_collection", _without_waiting)
            with transaction.atomic():
                lock_collection(collection_id=collection.pk)
                thread(lambda: run_job(job_id=job.pk, stopping=never)).join(10)
        job.refresh_from_db()
        assert (job.state, job.attempts, held("c")) == ("queued", 0, COUNT)
        run_job(job_id=job.pk, stopping=never)
        assert held("c") == 0

    def test_a_database_that_goes_away_within_it_leaves_everything(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def cut_off() -> None:
            with connection.cursor() as cursor:
                cursor.execute("select pg_terminate_backend(pg_backend_pid())")

        job = start_emptying(name="c")
        with monkeypatch.context() as broken:
            at_step(broken, "delete_all_documents", cut_off)
            for _ in range(5):
                run_job(job_id=job.pk, stopping=never)
                job.refresh_from_db()
                assert (job.state, job.attempts, held("c")) == ("queued", 0, COUNT)
        run_job(job_id=job.pk, stopping=never)
        assert held("c") == 0


def _without_waiting(*, collection_id: int) -> Collection:
    with connection.cursor() as cursor:
        cursor.execute("set local lock_timeout = '20ms'")
    return Collection.objects.select_for_update(no_key=True, of=("self",)).get(pk=collection_id)
