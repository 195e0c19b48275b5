"""Emptying on a whole server, with kill -9 in the middle of it: everything goes, or nothing does (A9.4, A9.5).

`RAGSITE_EMPTYING_CHUNKS=200000` runs it at full size, with every victim at each of five moments.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from tests.acceptance.server.test_whole_server import Server, wait_for_job, wait_until

GIVEN = os.environ.get("RAGSITE_EMPTYING_CHUNKS")
CHUNKS = int(GIVEN or 20_000)
BATCH = 10_000
#: Who is killed, and after which part of the time that an emptying takes.
PATTERNS = {"web": r"manage\.py serve", "control": r"celery .*worker.* control", "postgres": r"bin/postgres -D"}
SOME = [("web", 0.3), ("postgres", 0.5), ("control", 0.6), ("postgres", 0.8), ("web", 0.9)]
EVERY = [(victim, moment) for moment in (0.1, 0.3, 0.5, 0.7, 0.9) for victim in PATTERNS]
KILLS = EVERY if GIVEN else SOME
#: The supervisor gives up on a process that dies five times within a minute.
PAUSE_SECONDS = 15.0

PATH = "/collections/large/documents/all"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("emptying") / "data")
    server.start()
    try:
        assert server.http.post("/collections", json={"name": "large"}).status_code == 201
        assert server.http.post("/collections", json={"name": "other"}).status_code == 201
        add(server, "other", 100)
        yield server
    finally:
        server.http.close()
        if server.process is not None:
            server.process.terminate()
            server.process.wait(timeout=60)


def add(server: Server, name: str, count: int) -> None:
    for first in range(0, count, BATCH):
        numbers = range(first, min(first + BATCH, count))
        documents = [
            {"id": f"d{n}", "text": f"Number {n} of group {n % 97}.", "embedding": [1.0, n % 89, n % 13, n % 7]}
            for n in numbers
        ]
        answer = server.http.post(f"/collections/{name}/documents", json={"documents": documents}, timeout=120)
        assert answer.status_code == 201, answer.text


def fill(server: Server) -> None:
    """Chunks for the collection, unless they are all there still."""
    if held(server) == 0:
        add(server, "large", CHUNKS)
    assert held(server) == CHUNKS


def held(server: Server) -> int:
    """How many chunks there are, provided that rows, vectors and words agree."""
    dsn = json.loads((server.data / "runtime.json").read_text(encoding="utf-8"))["rag_database"]
    with psycopg.connect(dsn) as database:
        row = database.execute(
            """
            WITH large AS (SELECT id FROM collections_collection WHERE name = 'large')
            SELECT (SELECT count(*) FROM collections_chunk, large WHERE collection_id = large.id),
                   (SELECT count(*) FROM stores_vector, collections_generation AS generation, large
                    WHERE generation.id = generation_id AND generation.collection_id = large.id),
                   (SELECT coalesce(sum(live), 0) FROM stores_segment, large
                    WHERE collection_id = large.id AND NOT retired)
            """
        ).fetchone()
    assert row is not None
    assert row[0] == row[1] == row[2], row
    return int(row[0])


def is_healthy(server: Server) -> bool:
    try:
        return server.http.get("/health", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def emptied_in(server: Server) -> float:
    """Empty the collection undisturbed; the seconds it took."""
    fill(server)
    began = time.monotonic()
    # A9.4 allows 30 s for 50,000 documents.
    answer = server.http.delete(PATH, timeout=30 * max(1, CHUNKS / 50_000))
    took = time.monotonic() - began
    assert answer.json() == {"status": "emptied", "collection": "large", "count_deleted": CHUNKS}
    assert held(server) == 0
    return took


@pytest.fixture(scope="module")
def seconds(server: Server) -> float:
    return emptied_in(server)


def found(server: Server, name: str) -> list[str]:
    query = {"query_embedding": [1.0, 5.0, 5.0, 5.0], "top_k": 10}
    answer = server.http.post(f"/collections/{name}/query", json=query)
    assert answer.status_code == 200, answer.text
    return [hit["id"] for hit in answer.json()["results"]]


@pytest.mark.parametrize(("victim", "moment"), KILLS)
def test_a9_5_a_kill_leaves_all_or_nothing(server: Server, seconds: float, victim: str, moment: float) -> None:
    if GIVEN:
        time.sleep(PAUSE_SECONDS / len(PATTERNS))
    wait_until(lambda: is_healthy(server), seconds=60, what=server.text)
    fill(server)
    others = found(server, "other")
    job_id = None
    if victim == "control":
        job_id = str(server.http.delete(PATH, headers={"prefer": "respond-async"}).json()["id"])
        wait_until_begun(server, job_id)
    else:
        threading.Thread(target=ask_in_vain, args=(server,), daemon=True).start()
    time.sleep(seconds * moment)
    killed = server.child(PATTERNS[victim])
    killed.kill()
    killed.wait(timeout=30)
    wait_until(lambda: is_healthy(server), seconds=60, what=server.text)
    left = held(server)
    print(f"{victim} killed {seconds * moment:.2f} s into an emptying of {seconds:.2f} s: {left} of {CHUNKS} left")
    assert left in (0, CHUNKS)
    if job_id is not None:
        # Whichever it was: the job ends, and says what went, once.
        ended = wait_for_job(server, job_id)
        assert (ended["state"], ended["result"]["count_deleted"]) == ("succeeded", CHUNKS)
        left = held(server)
        assert left == 0
    assert len(found(server, "large")) == min(left, 10)
    assert found(server, "other") == others


def ask_in_vain(server: Server) -> None:
    """Nobody may be left to answer."""
    try:
        httpx.delete(f"{server.http.base_url}{PATH}", timeout=120)
    except httpx.HTTPError:
        return


def wait_until_begun(server: Server, job_id: str) -> None:
    """Closely: what follows is a matter of tenths of a second."""
    deadline = time.monotonic() + 60
    while server.http.get(f"/api/rag/jobs/{job_id}").json()["state"] == "queued":
        assert time.monotonic() < deadline, server.text()
        time.sleep(0.005)


def test_space_is_reclaimed_by_a_job_whose_end_can_be_seen(server: Server) -> None:
    wait_until(lambda: is_healthy(server), seconds=60, what=server.text)
    emptied_in(server)

    def ended() -> bool:
        jobs = server.http.get("/api/rag/jobs", params={"kind": "reclaim"}).json()["jobs"]
        return bool(jobs) and jobs[0]["state"] == "succeeded"

    wait_until(ended, seconds=120, what=server.text)
