"""Collections that another program holds come here by a job: batches, a place to go on from, a last comparison."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from collections_app.models import Chunk, Collection
from collections_app.services import create_collection
from connections_app.opening import close_all, opened_store
from connections_app.providers.sqlite import SqliteProvider
from connections_app.services import create_connection, get_connection
from core_app.errors import Conflict, FarSideFailed, NotFound
from core_app.providers import HeldChunk
from core_app.wiring import embedder
from ingest_app import fetch_jobs
from ingest_app.fetch_jobs import check_fetch, start_fetch
from ingest_app.models import Job
from ingest_app.steering import cancel_job, retry_job
from ingest_app.work import run_job
from tests.integration.ingest.filling import JSON, WorkerDied, expire, fill, never, work_off

pytestmark = pytest.mark.django_db(transaction=True)
COUNT = 30


@pytest.fixture(autouse=True)
def _there(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A file of SQLite with a collection of 30 chunks, read seven at a time."""
    monkeypatch.setattr(fetch_jobs, "BATCH", 7)
    settings.DATA_DIR = tmp_path
    create_connection(name="theirs", provider="sqlite", settings={"file": "theirs.db"})
    with opened_store(get_connection(name="theirs")) as provider:
        provider.create_collection(name="tea", metadata={"of": "them"}, distance="l2")
    put(*(held(n) for n in range(COUNT)))
    yield
    close_all()


def held(number: int, *, text: str = "", dimension: int = 3, **metadata: Any) -> HeldChunk:
    vector = np.random.default_rng(number).standard_normal(dimension).astype(np.float32)
    found = {"n": number, "share": 1.0, **metadata}
    return HeldChunk(id=f"d{number}", text=text or f"Passage {number}.", metadata=found, embedding=vector)


def put(*chunks: HeldChunk, name: str = "tea") -> None:
    with opened_store(get_connection(name="theirs")) as provider:
        provider.add(name=name, chunks=chunks)


def texts(name: str = "copy") -> dict[str, str]:
    return dict(Chunk.objects.filter(collection__name=name).values_list("external_id", "text"))


def at_batch(monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException) -> None:
    """Let this reading of a batch fail."""
    original, seen = SqliteProvider.scan, 0

    def scan(self: SqliteProvider, **asked: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == number:
            raise error
        return original(self, **asked)

    monkeypatch.setattr(SqliteProvider, "scan", scan)


def test_a_collection_of_a_connection_is_imported_and_compared() -> None:
    found = check_fetch(name="copy", service="theirs", name_there="tea")
    assert (found.is_new, found.fetched.chunks, found.fetched.refused) == (True, COUNT, 0)
    assert not Collection.objects.filter(name="copy").exists()
    job = work_off(start_fetch(name="copy", service="theirs", name_there="tea"))
    assert (job.state, job.error) == (Job.State.SUCCEEDED, "")
    assert job.result is not None
    assert (job.result["chunks"], job.result["stored"], len(job.result["checksum"])) == (COUNT, COUNT, 64)
    made = Collection.objects.select_related("active_generation").get(name="copy")
    assert (made.distance, made.metadata) == ("l2", {"of": "them"})
    assert made.active_generation is not None
    assert made.active_generation.embedding_model is None
    assert texts() == {f"d{n}": f"Passage {n}." for n in range(COUNT)}


def test_it_stores_nothing_twice_and_replaces_what_differs() -> None:
    work_off(start_fetch(name="copy", service="theirs", name_there="tea"))
    put(held(3, text="Another text."))
    job = work_off(start_fetch(name="copy", service="theirs", name_there="tea"))
    assert job.result is not None
    assert (job.result["stored"], job.result["unchanged"]) == (1, COUNT - 1)
    assert (len(texts()), texts()["d3"]) == (COUNT, "Another text.")


def test_who_dies_leaves_the_place_to_go_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    job = start_fetch(name="copy", service="theirs", name_there="tea")
    at_batch(monkeypatch, 3, WorkerDied())
    with suppress(WorkerDied):
        run_job(job_id=job.pk, stopping=never)
    assert len(texts()) == 14
    expire(job)
    done = work_off(job)
    assert done.result is not None
    assert (done.state, done.result["stored"], done.result["unchanged"]) == (Job.State.SUCCEEDED, COUNT, 0)


def test_a_system_that_fails_fails_the_job_which_can_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    at_batch(monkeypatch, 3, FarSideFailed("It does not answer."))
    job = work_off(start_fetch(name="copy", service="theirs", name_there="tea"))
    assert (job.state, job.error) == (Job.State.FAILED, "It does not answer.")
    done = work_off(retry_job(job=job))
    assert done.result is not None
    assert (done.state, done.result["stored"]) == (Job.State.SUCCEEDED, COUNT)


def test_a_cancelled_one_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    job = start_fetch(name="copy", service="theirs", name_there="tea")
    cancel_job(job=job)
    job.refresh_from_db()
    assert job.state == Job.State.CANCELLED
    assert work_off(retry_job(job=job)).state == Job.State.SUCCEEDED


def test_what_cannot_be_held_is_counted_and_said() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    put(held(1, deep=deep), held(2, text="a\0b"))
    job = work_off(start_fetch(name="copy", service="theirs", name_there="tea"))
    assert job.result is not None
    assert (job.state, job.result["refused"], job.result["stored"]) == (Job.State.SUCCEEDED, 2, COUNT - 2)
    assert {one["id"] for one in job.result["refusals"]} == {"d1", "d2"}


def test_vectors_are_of_the_servers_model_only_where_it_is_said() -> None:
    with pytest.raises(Conflict, match="Import them into a new collection"):
        start_fetch(name="copy", service="theirs", name_there="tea", model="server")
    with opened_store(get_connection(name="theirs")) as provider:
        provider.create_collection(name="ours", metadata={}, distance="cosine")
    put(held(1, dimension=embedder().dimension), name="ours")
    work_off(start_fetch(name="ours", service="theirs", model="server"))
    made = Collection.objects.select_related("active_generation").get(name="ours")
    assert made.active_generation is not None
    assert made.active_generation.embedding_model == embedder().model
    with pytest.raises(Conflict, match="unknown model"):
        start_fetch(name="ours", service="theirs")


def test_what_does_not_fit_is_refused_before_a_job() -> None:
    create_collection(name="cosine")
    fill("cosine", 3)
    with pytest.raises(Conflict, match="distance"):
        start_fetch(name="cosine", service="theirs", name_there="tea")
    create_collection(name="wide", distance="l2")
    fill("wide", 3, dimension=4)
    with pytest.raises(Conflict, match="numbers"):
        start_fetch(name="wide", service="theirs", name_there="tea")
    with pytest.raises(NotFound):
        start_fetch(name="copy", service="theirs", name_there="nothing")
    assert not Job.objects.exists()


def test_there_is_one_import_at_a_time() -> None:
    start_fetch(name="copy", service="theirs", name_there="tea")
    with pytest.raises(Conflict, match="on its way"):
        start_fetch(name="copy", service="theirs", name_there="tea")


def test_the_api_counts_first_and_answers_with_a_job(client: Client) -> None:
    there, body = "/api/rag/collections/copy/import/connection", {"connection": "theirs", "name_there": "tea"}
    assert client.post(there, body, JSON).status_code == 404
    checked = client.post(f"{there}?dry_run=true&create=true", body, JSON).json()
    assert (checked["status"], checked["is_new"], checked["chunks"], checked["dimension"]) == ("checked", True, 30, 3)
    answer = client.post(f"{there}?create=true", body, JSON)
    assert (answer.status_code, answer.json()["kind"]) == (202, "import")
    assert work_off(Job.objects.get()).state == Job.State.SUCCEEDED
    assert client.post(there, {"connection": "nowhere"}, JSON).json()["code"] == "connection_not_found"
    assert client.post(there, {**body, "model": "x"}, JSON).json()["code"] == "invalid"


def test_the_command_counts_copies_and_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["copy", "--from-service", "theirs", "--name-there", "tea"]
    call_command("import_collection", *given, "--dry-run")
    assert "Chunks there: 30" in capsys.readouterr().out
    call_command("import_collection", *given)
    assert "30 stored, 0 unchanged" in capsys.readouterr().out
    with pytest.raises(CommandError, match="alone"):
        call_command("import_collection", "file", *given)
