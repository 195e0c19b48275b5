"""0007 of the jobs on a database with rows, and what a migration does about a table in use."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError, connection, transaction
from django.db.migrations.loader import MigrationLoader

from collections_app.models import Chunk
from collections_app.services import create_collection
from core_app import migrating
from ingest_app.models import Item, Job
from tests.integration.ingest.filling import fill, ingest

JOBS = (("ingest", "0006_rewording"), ("ingest", "0007_imports_copies_and_times"))


def applied_again(before: tuple[str, str], name: tuple[str, str]) -> None:
    loader = MigrationLoader(connection)
    migration = loader.graph.nodes[name]
    with connection.schema_editor() as editor:
        migration.unapply(loader.project_state(before), editor)
    with connection.schema_editor() as editor:
        migration.apply(loader.project_state(before), editor)


@pytest.mark.django_db
def test_jobs_that_were_there_have_no_times_and_stay() -> None:
    create_collection(name="c")
    job = ingest("c", "one", "two")
    applied_again(*JOBS)
    again = Job.objects.get(pk=job.pk)
    assert (again.state, again.options) == ("succeeded", None)
    assert list(Item.objects.filter(job=job).values_list("started_at", "finished_at")) == [(None, None)] * 2
    assert not again.parts.exists()


@pytest.mark.django_db(transaction=True)
def test_a_table_in_use_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever holds it is waited for in short tries, so that others wait behind none of them for long."""
    create_collection(name="c")
    fill("c", 3)
    monkeypatch.setattr(migrating, "WAIT_SECONDS", 0.05)
    tries = threading.Event()
    held, over = threading.Event(), threading.Event()

    def wait(_seconds: float) -> None:
        tries.set()
        over.wait(10)

    monkeypatch.setattr("core_app.migrating.time.sleep", wait)

    def hold() -> None:
        with transaction.atomic():
            Chunk.objects.select_for_update().first()
            held.set()
            tries.wait(10)
        over.set()
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    operation = migrating.lock_tables("collections_chunk", "collections_generation")
    with connection.schema_editor() as editor:
        operation.code(None, editor)  # type: ignore[arg-type]  # it needs no models
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted")
            assert cursor.fetchone()[0] >= 2
    thread.join()
    assert tries.is_set()


@pytest.mark.django_db(transaction=True)
def test_one_that_never_gets_its_table_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrating, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(migrating, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(migrating, "TRIES", 2)
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE collections_chunk IN ACCESS SHARE MODE")
            held.set()
            over.wait(10)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    try:
        with pytest.raises(OperationalError), connection.schema_editor() as editor:
            migrating.lock_tables("collections_chunk").code(None, editor)  # type: ignore[arg-type]
    finally:
        over.set()
        thread.join()
