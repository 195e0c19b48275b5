"""Jobs that meet each other, other writers and a tired database: no file pays for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client
from psycopg.errors import DeadlockDetected, LockNotAvailable

from collections_app.models import Document
from collections_app.services import CollectionGone, create_collection, delete_collection, lock_collection
from core_app.errors import Conflict, RagsiteError
from ingest_app import indexing, item_work, services
from ingest_app.leases import claim, hold
from ingest_app.models import Connector, Item, Job, Payload
from ingest_app.steering import cancel_job, retry_job
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app.services import search


def never() -> bool:
    return False


def send(text: str, name: str = "note", **more: Any) -> Job:
    source = Source(name=name, content=text.encode(), **{"is_text": True, **more})
    return submit(collection_name="c", sources=[source])


def stored() -> list[str]:
    return [hit.content for hit in search(collection_name="c", query="version", top_k=100).hits]


@pytest.mark.django_db
class TestOrder:
    @pytest.fixture(autouse=True)
    def _collection(self) -> None:
        create_collection(name="c")

    def test_an_older_job_that_ends_later_does_not_bring_its_version_back(self) -> None:
        older, newer = send("old version"), send("new version")
        run_job(job_id=newer.pk, stopping=never)
        run_job(job_id=older.pk, stopping=never)
        assert stored() == ["new version"]
        item = Item.objects.get(job=older)
        assert (item.state, item.code) == ("skipped", "superseded")
        assert Payload.objects.count() == 0

    def test_nor_does_a_cancelled_one_that_is_tried_again(self) -> None:
        older = cancel_job(job=send("old version"))
        newer = send("new version")
        retry_job(job=older)
        run_job(job_id=newer.pk, stopping=never)
        run_job(job_id=older.pk, stopping=never)
        assert stored() == ["new version"]

    def test_there_is_nothing_to_try_again_once_a_newer_version_is_stored(self) -> None:
        older = cancel_job(job=send("old version"))
        run_job(job_id=send("new version").pk, stopping=never)
        with pytest.raises(Conflict):
            retry_job(job=older)

    def test_the_newest_of_three_wins_though_the_first_came_back_unchanged(self) -> None:
        run_job(job_id=send("first version").pk, stopping=never)
        middle, last = send("middle version"), send("first version")
        run_job(job_id=last.pk, stopping=never)
        run_job(job_id=middle.pk, stopping=never)
        assert stored() == ["first version"]

    def test_the_bytes_of_failed_older_versions_are_forgotten(self) -> None:
        for _ in range(2):
            run_job(job_id=send(" ").pk, stopping=never)
        assert Payload.objects.count() == 2
        run_job(job_id=send("good version").pk, stopping=never)
        assert Payload.objects.count() == 0

    def test_the_same_bytes_read_as_another_type_are_not_unchanged(self) -> None:
        text = "# Head\n\nversion"
        run_job(job_id=send(text, is_text=False, name="report.txt").pk, stopping=never)
        run_job(job_id=send(text, name="report.txt").pk, stopping=never)
        assert Item.objects.filter(state="skipped").count() == 1, "the extension decides in both cases"
        run_job(job_id=send(text, is_text=False, name="report").pk, stopping=never)
        run_job(job_id=send(text, name="report").pk, stopping=never)
        assert Document.objects.get(source="report").media_type == "text/markdown"

    @pytest.mark.parametrize("name", ["bad\udcff.md", "nul\0.md"])
    def test_a_name_that_cannot_be_stored_is_cleaned(self, name: str) -> None:
        job = send("version", name=name)
        run_job(job_id=job.pk, stopping=never)
        assert Item.objects.get(job=job).state == "succeeded"

    @pytest.mark.parametrize(("cause", "attempts"), [(LockNotAvailable, 0), (DeadlockDetected, 0), (None, 1)])
    def test_a_tired_database_gives_the_job_back(
        self, monkeypatch: pytest.MonkeyPatch, cause: type[Exception] | None, attempts: int
    ) -> None:
        """A lock that took too long says nothing about the file; a lost connection may."""

        def tired(**_: Any) -> None:
            raise OperationalError from cause() if cause else None

        job = send("version")
        with monkeypatch.context() as broken:
            broken.setattr(item_work, "write_draft", tired)
            run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, job.lease_token) == ("queued", None)
        assert Item.objects.get(job=job).attempts == attempts
        run_job(job_id=job.pk, stopping=never)
        assert stored() == ["version"]

    def test_a_collection_deleted_since_it_was_looked_up_is_a_sentence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(CollectionGone), transaction.atomic():
            lock_collection(collection_id=10**9)

    def test_a_stopping_worker_that_lost_its_lease_touches_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        job = send("version")
        calls = iter(range(100))

        def stop_after_losing() -> bool:
            if next(calls) == 0:
                return False
            Job.objects.filter(pk=job.pk).update(lease_expires_at=None)
            assert claim(job_id=job.pk) is not None
            Item.objects.filter(job=job).update(attempts=2)
            return True

        run_job(job_id=job.pk, stopping=stop_after_losing)
        item = Item.objects.get(job=job)
        assert (item.state, item.attempts) == ("running", 2)


def in_thread(work_: Callable[[], None]) -> threading.Thread:
    def run() -> None:
        try:
            work_()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [Job.Kind.INGEST, Job.Kind.SYNC])
def test_a_connection_that_breaks_silently_counts_for_what_was_written_alone(
    monkeypatch: pytest.MonkeyPatch, kind: Job.Kind
) -> None:
    """Should it be what brings the database down, it is set aside in the end, and the others are indexed."""
    collection = create_collection(name="c")
    sources = [Source(name=f"s{n}", content=f"version {n}".encode(), is_text=True) for n in range(3)]
    job = submit(collection_name="c", sources=sources)
    connector = Connector.objects.create(collection=collection, kind="urls", origin="urls:1")
    Job.objects.filter(pk=job.pk).update(kind=kind, connector=connector, result={})
    original = indexing.write_draft

    def breaking(*, draft: Any, **others: Any) -> None:
        if draft.item.source == "s1":
            raise OperationalError("server closed the connection unexpectedly") from ConnectionError()
        original(draft=draft, **others)

    monkeypatch.setattr(item_work, "write_draft", breaking)
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    tries = dict(Item.objects.filter(job=job).values_list("source", "attempts"))
    assert (job.state, tries) == ("queued", {"s0": 1, "s1": 1, "s2": 0})
    for _ in range(3):
        run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    outcomes = list(Item.objects.filter(job=job).order_by("ordinal").values_list("state", "code"))
    assert job.state == "partial"
    assert outcomes == [("succeeded", ""), ("failed", "quarantined"), ("succeeded", "")]


@pytest.mark.django_db(transaction=True)
class TestLocks:
    def test_a_failing_item_and_a_delete_do_not_wait_for_each_other(self) -> None:
        """Both take the collection first, then the job."""
        create_collection(name="c")
        job = send(" ")
        errors: list[BaseException] = []

        def delete() -> None:
            try:
                delete_collection(name="c")
            except (RagsiteError, OperationalError) as error:
                errors.append(error)

        locked = threading.Event()
        original = hold

        def slow_hold(**arguments: Any) -> Any:
            held = original(**arguments)
            locked.set()
            return held

        thread = None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ingest_app.outcomes.hold", slow_hold)
            thread = in_thread(lambda: run_job(job_id=job.pk, stopping=never))
            locked.wait(10)
            other = in_thread(delete)
            thread.join(30)
            other.join(30)
        assert errors == []
        assert not Document.objects.exists()

    def test_a_database_that_goes_away_counts_against_no_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """However often, and even while the same single file is worked on."""
        create_collection(name="c")
        job = send("version")

        def cut_off(**_: Any) -> None:
            with connection.cursor() as cursor:
                cursor.execute("select pg_terminate_backend(pg_backend_pid())")

        with monkeypatch.context() as broken:
            broken.setattr(item_work, "write_draft", cut_off)
            for _ in range(5):
                run_job(job_id=job.pk, stopping=never)
                job.refresh_from_db()
                assert (job.state, job.lease_token) == ("queued", None)
        assert Item.objects.get(job=job).attempts == 0
        run_job(job_id=job.pk, stopping=never)
        assert stored() == ["version"]

    def test_who_waits_for_a_job_holds_no_connection(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        create_collection(name="c")
        job = send("version")
        held: list[bool] = []
        monkeypatch.setattr("ingest_app.services.time.sleep", lambda _: held.append(connection.connection is not None))
        services.wait_for_job(job_id=job.pk, seconds=0.05)
        assert held
        assert not any(held)
