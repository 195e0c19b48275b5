"""Archives become the files in them: items of the same job, each with its own outcome."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from collections_app.models import Chunk, Document
from collections_app.services import create_collection
from ingest_app import submitting, taking_apart
from ingest_app.models import Item, Job, Payload
from ingest_app.steering import can_be_retried
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from tests.integration.ingest.filling import WorkerDied, expire, never

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _collection() -> None:
    create_collection(name="c")


def zipped(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


FILES = {
    "a.md": b"# A\n\nalpha",
    "deep/b.txt": b"beta",
    "broken.pdf": b"%PDF-1.4 nothing",
    "picture.png": b"\x89PNG\r\n\x1a\n\0\1",
}


def ingest(content: bytes, **more: Any) -> Job:
    job = submit(collection_name="c", sources=[Source(name="all.zip", content=content, **more)])
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    return job


def outcomes(job: Job) -> dict[str, str]:
    return {item.source: item.code or item.state for item in Item.objects.filter(job=job)}


def test_every_file_has_its_own_outcome(client: Client) -> None:
    job = ingest(zipped(FILES), metadata={"team": "tea"})
    assert job.state == Job.State.PARTIAL
    assert outcomes(job) == {
        "all.zip": "unpacked",
        "all.zip/a.md": "succeeded",
        "all.zip/deep/b.txt": "succeeded",
        "all.zip/broken.pdf": "corrupt_file",
        "all.zip/picture.png": "unsupported_type",
    }
    shown = client.get(f"/api/rag/jobs/{job.pk}").json()
    assert (shown["total"], shown["done"], shown["failed"]) == (5, 3, 2)
    ready = Document.objects.filter(state=Document.State.READY)
    assert set(ready.values_list("source", flat=True)) == {"all.zip/a.md", "all.zip/deep/b.txt"}
    assert all(document.metadata == {"team": "tea"} for document in ready)


def test_nothing_but_what_failed_is_kept_of_the_bytes() -> None:
    ingest(zipped(FILES))
    assert list(Payload.objects.values_list("item__source", flat=True)) == ["all.zip/broken.pdf"]


def test_the_same_archive_again_changes_nothing() -> None:
    ingest(zipped({"a.md": b"alpha"}))
    assert outcomes(ingest(zipped({"a.md": b"alpha", "b.md": b"beta"}))) == {
        "all.zip": "unpacked",
        "all.zip/a.md": "skipped",
        "all.zip/b.md": "succeeded",
    }


def test_archives_within_archives_are_opened_so_deep() -> None:
    content = zipped({"leaf.md": b"leaf"})
    for level in range(taking_apart.MAX_DEPTH):
        content = zipped({f"{level}.zip": content, f"{level}.md": b"beside"})
    job = ingest(content)
    assert outcomes(job) == {
        "all.zip": "unpacked",
        "all.zip/1.md": "succeeded",
        "all.zip/1.zip": "unpacked",
        "all.zip/1.zip/0.md": "succeeded",
        "all.zip/1.zip/0.zip": "unsupported_type",
    }


@pytest.mark.parametrize(
    ("content", "code"),
    [(zipped({}), "empty_file"), (zipped({"__MACOSX/x": b"x"}), "empty_file"), (zipped(FILES)[:-40], "corrupt_file")],
)
def test_an_archive_that_gives_nothing_says_why(content: bytes, code: str) -> None:
    job = ingest(content)
    assert (job.state, outcomes(job)) == (Job.State.FAILED, {"all.zip": code})


def test_a_death_while_it_is_taken_apart_adds_no_file_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    original = submitting.add_item
    calls = iter(range(100))

    def dying(**arguments: Any) -> None:
        if next(calls) == 2:
            raise WorkerDied
        original(**arguments)

    monkeypatch.setattr(taking_apart, "add_item", dying)
    job = submit(collection_name="c", sources=[Source(name="all.zip", content=zipped(FILES))])
    with pytest.raises(WorkerDied):
        run_job(job_id=job.pk, stopping=never)
    expire(job)
    run_job(job_id=job.pk, stopping=never)
    assert sorted(Item.objects.filter(job=job).values_list("source", flat=True)) == sorted(
        ["all.zip", *(f"all.zip/{name}" for name in FILES)]
    )


def test_a_file_that_is_too_large_is_named(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    limits = settings.RAGSITE.ingestion.model_copy(update={"max_file_bytes": 1000})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"ingestion": limits})
    job = ingest(zipped({"large.txt": b"word " * 1000, "small.txt": b"word"}))
    assert outcomes(job) == {
        "all.zip": "unpacked",
        "all.zip/large.txt": "too_large",
        "all.zip/small.txt": "succeeded",
    }


def test_an_archive_beside_other_files_stops_none() -> None:
    sources = [Source(name="all.zip", content=zipped(FILES)), Source(name="x.md", content=b"ex")]
    job = submit(collection_name="c", sources=sources)
    run_job(job_id=job.pk, stopping=never)
    assert outcomes(job)["x.md"] == "succeeded"


@pytest.mark.parametrize("before", [b"PK\x03\x04 cut off", b"a plain text"])
def test_what_stood_under_its_name_before_goes(before: bytes) -> None:
    """A damaged archive's error, or the text of a file that was no archive."""
    ingest(before)
    assert Document.objects.filter(source="all.zip").exists()
    ingest(zipped({"a.md": b"alpha"}))
    assert list(Document.objects.values_list("source", flat=True)) == ["all.zip/a.md"]
    assert [chunk.text for chunk in Chunk.objects.all()] == ["alpha"]


def test_an_archive_is_counted_apart_from_its_files(client: Client) -> None:
    job = ingest(zipped({"a.md": b"alpha", "b.md": b"beta"}))
    shown = client.get(f"/api/rag/jobs/{job.pk}").json()
    assert (shown["total"], shown["done"], shown["unpacked"]) == (3, 3, 1)


def test_an_archive_of_no_bytes_is_empty() -> None:
    job = ingest(zipped({"inner.zip": b"", "a.md": b"alpha"}))
    assert outcomes(job)["all.zip/inner.zip"] == "empty_file"


def test_what_failed_before_it_could_be_opened_is_not_tried_again() -> None:
    older = ingest(b"PK\x03\x04 cut off")
    ingest(zipped({"a.md": b"alpha"}))
    assert not can_be_retried(job=older)


def test_an_archive_of_which_nothing_could_be_indexed_has_failed() -> None:
    assert ingest(zipped({"broken.pdf": b"%PDF-1.4 nothing"})).state == Job.State.FAILED
