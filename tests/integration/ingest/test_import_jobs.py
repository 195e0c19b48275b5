"""Imports too large for a request: a job stores them batch by batch, whoever dies, and nothing of the file is left."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Count
from django.test import Client

from access_app.acting import Door, acting
from access_app.models import AuditEntry
from collections_app.exporting import export_collection
from collections_app.models import Chunk, Collection, Document
from collections_app.services import change_collection, create_collection, delete_collection
from core_app.errors import Conflict, Unavailable
from ingest_app import exchange_api, exchange_rows, import_jobs, importing, kept_files
from ingest_app.exchange_rows import Report
from ingest_app.import_jobs import start_import
from ingest_app.kept_files import keep, kept
from ingest_app.leases import LeaseLostError
from ingest_app.models import Job, UploadPart
from ingest_app.selectors import report
from ingest_app.steering import can_be_retried, cancel_job, retry_job
from ingest_app.work import run_job
from tests.integration.ingest.filling import WorkerDied, expire, fill, held, ingest, never, work_off

pytestmark = pytest.mark.django_db

COUNT = 30
LINES = "application/x-ndjson"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of more than ten chunks are large, and are read in batches of four lines and pieces of 100 bytes."""
    monkeypatch.setattr(importing, "MOST_CHUNKS", 10)
    monkeypatch.setattr(importing, "LINES_AT_A_TIME", 4)
    monkeypatch.setattr(kept_files, "PIECE_BYTES", 100)


@pytest.fixture
def file(db: None) -> bytes:
    create_collection(name="tea")
    fill("tea", COUNT)
    return b"".join(export_collection(name="tea"))


def submitted(file: bytes, name: str = "copy") -> Job:
    made = start_import(name=name, stream=io.BytesIO(file))
    assert isinstance(made, Job)
    return made


def same(name: str = "copy") -> bool:
    """Whether the collection has what the exported one has, in its order."""
    rows = [
        list(Chunk.objects.filter(collection__name=one).order_by("position").values_list("external_id", "text"))
        for one in ("tea", name)
    ]
    return rows[0] == rows[1]


def at_batch(monkeypatch: pytest.MonkeyPatch, number: int, then: Callable[[], object], *, step: str = "stored") -> None:
    """Let `then` happen at this batch, before it is committed (`storing`) or after (`stored`)."""
    original: Callable[..., None] = getattr(import_jobs._Work, step)
    seen = 0

    def watched(work: Any, found: Report) -> None:
        nonlocal seen
        seen += 1
        original(work, found)
        if seen == number:
            then()

    monkeypatch.setattr(import_jobs._Work, step, watched)


def die() -> None:
    raise WorkerDied


def recorded(name: str = "copy") -> list[Any]:
    """What the audit log has of imports into the collection."""
    entries = AuditEntry.objects.filter(collection=name, action="collection.imported").order_by("at", "id")
    return list(entries.values_list("after", flat=True))


def counts(chunks: int, *, documents: int = 0, removed: int = 0) -> dict[str, int]:
    return {"documents": documents, "chunks": chunks, "removed": removed}


def test_a_large_file_is_stored_by_a_job(file: bytes) -> None:
    job = submitted(file)
    assert (job.kind, job.total, held("copy")) == ("import", COUNT, 0)
    assert UploadPart.objects.filter(job=job).count() == -(-len(file) // 100)
    work_off(job)
    assert (job.state, job.done, job.step) == ("succeeded", COUNT, "")
    assert job.result == {
        "documents": 0,
        "documents_changed": 0,
        "chunks": COUNT,
        "stored": COUNT,
        "unchanged": 0,
        "removed": 0,
        "embedded": 0,
    }
    assert same()
    assert not UploadPart.objects.exists()
    assert AuditEntry.objects.filter(collection="copy", action="job.submitted").count() == 1
    assert recorded() == [counts(COUNT)]


def test_a_small_file_is_stored_at_once(file: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MOST_CHUNKS", COUNT)
    made = start_import(name="copy", stream=io.BytesIO(file))
    assert isinstance(made, Report)
    assert same()
    assert not Job.objects.exists()


@pytest.mark.parametrize("step", ["checked", "storing", "stored", "ending"])
def test_a_worker_that_dies_loses_and_doubles_nothing(file: bytes, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submitted(file)
    with monkeypatch.context() as killing:
        at_batch(killing, 1 if step == "ending" else 3, die, step=step)
        with pytest.raises(WorkerDied):
            run_job(job_id=job.pk, stopping=never)
    assert held("copy") == {"checked": 0, "storing": 8, "stored": 12, "ending": COUNT}[step]
    assert UploadPart.objects.filter(job=job).exists()
    assert recorded() == []
    expire(job)
    work_off(job)
    assert recorded() == [counts(COUNT)]
    assert (job.state, job.attempts, same()) == ("succeeded", 2, True)
    assert job.result is not None
    assert (job.result["stored"], job.result["unchanged"]) == (COUNT, 0)
    assert not UploadPart.objects.exists()


def test_a_cancelled_import_keeps_what_is_stored_and_drops_the_file(
    file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submitted(file)
    at_batch(monkeypatch, 3, lambda: cancel_job(job=job))
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    assert (job.state, held("copy"), UploadPart.objects.count()) == ("cancelled", 12, 0)
    assert job.result is not None
    assert job.result["stored"] == 12
    assert recorded() == [counts(12)]
    assert not can_be_retried(job=job)
    with pytest.raises(Conflict, match="Import the file again"):
        retry_job(job=job)
    again = work_off(submitted(file))
    assert again.result is not None
    assert (again.result["stored"], again.result["unchanged"], same()) == (COUNT - 12, 12, True)


@pytest.mark.parametrize("step", ["storing", "stored"])
def test_of_one_that_is_cut_short_the_log_has_what_was_committed(
    file: bytes, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that is taken back is not in it, and who cancels what a dead worker left did not import it."""
    with acting(door=Door.API, name="ann"):
        job = submitted(file)
    at_batch(monkeypatch, 3, die, step=step)
    with pytest.raises(WorkerDied):
        run_job(job_id=job.pk, stopping=never)
    expire(job)
    with acting(door=Door.CONSOLE, name="bob"):
        assert cancel_job(job=job).state == "cancelled"
    assert held("copy") == {"storing": 8, "stored": 12}[step]
    assert recorded() == [counts(held("copy"))]
    entry = AuditEntry.objects.get(action="collection.imported")
    assert (entry.actor, entry.door) == ("ann", "task")


@pytest.mark.parametrize("is_lost", [False, True])
def test_of_one_that_fails_or_is_lost(file: bytes, is_lost: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who lost the job says nothing of it: who has it now does."""
    job = submitted(file)

    def end() -> None:
        raise LeaseLostError if is_lost else Conflict("No more.")

    at_batch(monkeypatch, 3, end)
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    assert (job.state, held("copy")) == ("running" if is_lost else "failed", 12)
    assert recorded() == ([] if is_lost else [counts(12)])


def test_the_log_counts_documents_once(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was stored by a worker that died is stored again, for it has no hash before the end."""
    create_collection(name="words")
    ingest("words", *(f"Text {n}." for n in range(11)))
    job = submitted(b"".join(export_collection(name="words")))
    with monkeypatch.context() as killing:
        at_batch(killing, 4, die)
        with pytest.raises(WorkerDied):
            run_job(job_id=job.pk, stopping=never)
    assert held("copy") > 0
    expire(job)
    work_off(job)
    assert recorded() == [counts(11, documents=11)]


@pytest.mark.parametrize("number", [3, 5, 6, 8, 11])
def test_chunks_of_documents_are_counted_whoever_dies(db: None, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of documents that are the same and lack a chunk, or have one that the file has not, which goes batch by batch."""
    monkeypatch.setattr(exchange_rows, "SLICE", 2)
    create_collection(name="words")
    ingest("words", *(f"Text {n}." for n in range(11)))
    file = b"".join(export_collection(name="words"))
    work_off(submitted(file))
    odd = Chunk.objects.filter(collection__name="copy", document__source__in=("s1", "s2", "s8"))
    for chunk in odd:
        Chunk.objects.filter(pk=chunk.pk).update(external_id=f"odd {chunk.pk}")
    Document.objects.filter(collection__name="copy", source="s5").update(chunk_count=0)
    Chunk.objects.filter(collection__name="copy", document__source="s5").delete()
    more = Document.objects.get(collection__name="copy", source="s0")
    Document.objects.filter(pk=more.pk).update(chunk_count=2)
    Chunk.objects.create(collection=more.collection, document=more, external_id="more", text="t")
    job = submitted(file)
    with monkeypatch.context() as killing:
        at_batch(killing, number, die)
        with suppress(WorkerDied):
            run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    if job.finished_at is None:
        expire(job)
        work_off(job)
    found = Document.objects.filter(collection__name="copy").annotate(held=Count("chunks"))
    assert set(found.values_list("chunk_count", "held")) == {(1, 1)}
    assert not found.filter(content_hash="").exists()
    assert (recorded()[-1]["chunks"], recorded()[-1]["removed"]) == (4, 4)


def test_removing_what_the_file_has_not_can_be_cancelled(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_rows, "SLICE", 2)
    create_collection(name="words")
    ingest("words", *(f"Text {n}." for n in range(11)))
    file = b"".join(export_collection(name="words"))
    for chunk in Chunk.objects.filter(collection__name="words"):
        Chunk.objects.filter(pk=chunk.pk).update(external_id=f"odd {chunk.pk}")
    job = submitted(file, "words")
    storing = import_jobs._Work.storing

    def watched(work: Any, found: Report) -> None:
        storing(work, found)
        if found.removed == 4:
            Job.objects.filter(pk=job.pk).update(cancel_requested=True)

    monkeypatch.setattr(import_jobs._Work, "storing", watched)
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    assert (job.state, held("words")) == ("cancelled", 22 - 4)
    assert recorded("words") == [counts(11, removed=4)]


def test_one_that_waits_is_cancelled_at_once(file: bytes) -> None:
    job = cancel_job(job=submitted(file))
    assert (job.state, UploadPart.objects.count(), held("copy")) == ("cancelled", 0, 0)
    run_job(job_id=job.pk, stopping=never)
    assert held("copy") == 0


def test_a_line_that_cannot_be_stored_is_told_by_the_job(file: bytes) -> None:
    job = work_off(submitted(file.replace(b'"id":"d29"', b'"id":""')))
    assert (job.state, job.code, held("copy")) == ("failed", "lines_refused", 0)
    assert "id: use 1 to" in job.error
    assert job.error.endswith("made for it is empty: import the mended file into it, or delete it.")
    assert not UploadPart.objects.exists()


def test_of_a_collection_that_was_there_it_says_nothing(file: bytes) -> None:
    create_collection(name="copy")
    job = work_off(submitted(file.replace(b'"id":"d29"', b'"id":""')))
    assert (job.code, "delete it" in job.error) == ("lines_refused", False)


def test_of_what_is_stored_by_then_it_does_not_say_that_it_is_empty(
    file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end() -> None:
        raise Conflict("No more.")

    at_batch(monkeypatch, 1, end)
    assert work_off(submitted(file)).error == "No more."


def test_what_is_no_export_is_refused_at_once(file: bytes) -> None:
    with pytest.raises(Exception, match="no exported collection"):
        start_import(name="copy", stream=io.BytesIO(b"{}\n" * 100))
    assert not Job.objects.exists()
    assert not Collection.objects.filter(name="copy").exists()


def test_one_import_into_a_collection_at_a_time(file: bytes) -> None:
    job = submitted(file)
    with pytest.raises(Conflict, match="Another import into this collection"):
        submitted(file)
    submitted(file, "other")
    cancel_job(job=job)
    submitted(file)


def test_a_full_queue_takes_no_more(file: bytes, settings: Any) -> None:
    section = settings.RAGSITE.ingestion.model_copy(update={"max_waiting_bytes": len(file) + 10})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"ingestion": section})
    submitted(file)
    with pytest.raises(Unavailable):
        submitted(file, "other")
    assert not Collection.objects.filter(name="other").exists()


def test_a_collection_that_is_deleted_meanwhile_ends_the_job(file: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submitted(file)
    at_batch(monkeypatch, 2, lambda: delete_collection(name="copy"))
    run_job(job_id=job.pk, stopping=never)
    assert not Job.objects.filter(pk=job.pk).exists()
    assert not Collection.objects.filter(name="copy").exists()
    assert not UploadPart.objects.exists()


@pytest.mark.parametrize("step", ["checked", "stored"])
def test_a_collection_that_is_renamed_meanwhile_gets_the_file(
    file: bytes, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not the one that has its name by then."""
    job = submitted(file)

    def rename() -> None:
        change_collection(name="copy", new_name="renamed")
        create_collection(name="copy")

    at_batch(monkeypatch, 2, rename, step=step)
    work_off(job)
    assert (job.state, held("renamed"), held("copy")) == ("succeeded", COUNT, 0)
    assert (recorded("renamed"), recorded("copy")) == ([counts(COUNT)], [])


def test_its_progress_is_told_while_it_runs(file: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int, str]] = []
    job = submitted(file)

    def look() -> None:
        found = report(job=Job.objects.get(pk=job.pk))
        seen.append((found.ended, found.total, found.job.step))

    for number in (2, 5):
        at_batch(monkeypatch, number, look)
    run_job(job_id=job.pk, stopping=never)
    assert seen == [(8, COUNT, "Storing chunks: 8 of 30."), (20, COUNT, "Storing chunks: 20 of 30.")]


def test_over_http_the_answer_is_the_job(client: Client, file: bytes) -> None:
    there = "/api/rag/collections/copy/import"
    assert client.generic("POST", there, file, LINES).status_code == 404
    checked = client.generic("POST", f"{there}?create=true&dry_run=true", file, LINES).json()
    assert (checked["status"], checked["chunks"]["new"]) == ("checked", COUNT)
    answer = client.post(f"{there}?create=true", {"file": SimpleUploadedFile("x.jsonl", file)})
    assert answer.status_code == 202
    assert (answer.json()["kind"], answer.json()["state"], answer.json()["total"]) == ("import", "queued", COUNT)
    job = work_off(Job.objects.get(pk=answer.json()["id"]))
    shown = client.get(answer["Location"]).json()
    assert (shown["state"], shown["result"]["stored"], shown["done"]) == ("succeeded", COUNT, COUNT)
    assert client.post(f"{answer['Location']}/retry").json()["code"] == "import_again"
    assert job.collection_name == "copy"
    assert exchange_api.LINES == LINES


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 1000])
def test_a_kept_file_reads_as_it_was(size: int, file: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job.objects.create(kind="import", collection=Collection.objects.get(name="tea"))
    given = bytes(n % 251 for n in range(size)).replace(b"\x0a", b"\x0b") + b"\nx"
    keep(job=job, stream=io.BytesIO(given))
    with kept(job_id=job.pk) as stream:
        assert stream.read() == given
        stream.seek(0)
        assert stream.readline() == given[: size + 1]
        assert stream.tell() == size + 1
        assert stream.readline() == b"x"
        assert stream.readline() == b""
