"""Imports and copies on a whole server, with kill -9 in the middle of them: nothing is lost, doubled or half there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.server.test_whole_server import Server, job_of, wait_for_job, wait_until

CHUNKS = 12_000
BATCH = 6_000
WORKER = r"celery .*worker.* default"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("exchange") / "data")
    server.start()
    try:
        assert server.http.post("/collections", json={"name": "large"}).status_code == 201
        for first in range(0, CHUNKS, BATCH):
            documents = [
                {"id": f"d{n}", "text": f"Number {n} of group {n % 97}.", "embedding": [1.0, n % 89, n % 13, n % 7]}
                for n in range(first, first + BATCH)
            ]
            answer = server.http.post("/collections/large/documents", json={"documents": documents}, timeout=120)
            assert answer.status_code == 201, answer.text
        yield server
    finally:
        server.http.close()
        if server.process is not None:
            server.process.terminate()
            server.process.wait(timeout=60)


def found(server: Server, name: str) -> list[Any]:
    asked = {"query_embedding": [1.0, 7.0, 5.0, 3.0], "top_k": 20}
    return list(server.http.post(f"/collections/{name}/query", json=asked).json()["results"])


def begun(server: Server, job_id: str) -> None:
    """Once the job has stored something."""
    wait_until(lambda: job_of(server, job_id)["done"] > 0, seconds=120, what=server.text)


def test_an_import_goes_on_after_its_worker_was_killed(server: Server) -> None:
    file = server.http.get("/api/rag/collections/large/export", timeout=120).content
    there, kind = "/api/rag/collections/imported/import?create=true", {"content-type": "application/x-ndjson"}
    answer = server.http.post(there, content=file, headers=kind, timeout=120)
    assert answer.status_code == 202, answer.text
    job_id = answer.json()["id"]
    begun(server, job_id)
    server.child(WORKER).kill()
    stored = server.http.get("/collections/imported").json()["count"]
    assert 0 < stored < CHUNKS
    job = wait_for_job(server, job_id)
    assert (job["state"], job["attempts"]) == ("succeeded", 2), job
    assert job["result"]["stored"] == CHUNKS
    assert server.http.get("/collections/imported").json()["count"] == CHUNKS
    assert found(server, "imported") == found(server, "large") != []


@pytest.mark.parametrize("victim", [WORKER, r"bin/postgres -D"])
def test_a_copy_is_whole_or_not_there(server: Server, victim: str) -> None:
    name = "copied-once" if victim == WORKER else "copied-twice"
    answer = server.http.post("/collections/large/clone", json={"name": name}, timeout=120)
    assert answer.status_code == 202, answer.text
    job_id = answer.json()["id"]
    begun(server, job_id)
    assert server.http.get(f"/collections/{name}").status_code == 404
    server.child(victim).kill()
    time.sleep(1)
    job = wait_for_job(server, job_id)
    assert job["state"] == "succeeded", job
    assert server.http.get(f"/collections/{name}").json()["count"] == CHUNKS
    assert found(server, name) == found(server, "large") != []
