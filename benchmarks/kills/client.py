"""What the harness asks of the server under test: to index files, to find words, and how its jobs stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg

from benchmarks.kills.corpus import File
from benchmarks.kills.server import Server, wait_for

#: The most that a chunk has that only one leg of a search found, as its best.
BOTH_LEGS = 1 / 61
ANSWER_SECONDS = 120.0

_JOBS = """
SELECT state, finished_at IS NOT NULL,
    (SELECT max(attempts) FROM ingest_item WHERE job_id = job.id),
    (SELECT count(*) FROM ingest_payload JOIN ingest_item AS item ON item.id = item_id WHERE job_id = job.id)
FROM ingest_job AS job WHERE id = ANY(%(ids)s::uuid[]) ORDER BY created_at
"""
_UNFINISHED = "SELECT count(*) FROM ingest_job WHERE finished_at IS NULL"


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """A job as its row says."""

    state: str
    ended: bool
    #: How often the file was tried that was tried most.
    attempts: int
    #: Files whose bytes are still kept.
    payloads: int


def send(server: Server, name: str, jobs: Sequence[Sequence[File]]) -> list[str]:
    """Make a collection and send the files, one job for each group; the jobs' ids."""
    server.http.post("/collections", json={"name": name}).raise_for_status()
    ids = []
    for group in jobs:
        files = [("file", (file.name, file.content)) for file in group]
        answer = server.http.post(f"/api/rag/collections/{name}/documents", files=files)
        ids.append(str(answer.raise_for_status().json()["id"]))
    return ids


def job_rows(url: str, ids: Sequence[str]) -> list[JobRow]:
    """The jobs in the order in which they were sent."""
    with psycopg.connect(url) as database:
        rows = database.execute(_JOBS, {"ids": list(ids)}).fetchall()
    return [JobRow(state=state, ended=ended, attempts=tries or 0, payloads=kept) for state, ended, tries, kept in rows]


def wait_until_at_rest(server: Server) -> None:
    """Until it answers and nothing is left to do, upkeep included; started again where it has given up."""

    def look() -> bool | None:
        server.revive()
        if not server.is_healthy():
            return None
        with suppress(psycopg.Error), psycopg.connect(server.database_url()) as database:
            row = database.execute(_UNFINISHED).fetchone()
            return True if row is not None and row[0] == 0 else None
        return None

    wait_for(look, seconds=ANSWER_SECONDS * 2, what="a server at rest", pause=0.5)


def wait_until_ended(server: Server, ids: Sequence[str], *, seconds: float) -> list[JobRow]:
    """The jobs when all have ended. Raises TimeoutError."""

    def look() -> list[JobRow] | None:
        server.revive()
        with suppress(psycopg.Error):  # the database may be on its way back
            rows = job_rows(server.database_url(), ids)
            return rows if rows and all(row.ended for row in rows) else None
        return None

    return wait_for(look, seconds=seconds, what="the end of the job", pause=0.2)


def cancel(server: Server, ids: Sequence[str]) -> None:
    """Ask jobs to stop, as well as that goes: what is not waited for must not be at work in the next cell."""
    for job_id in ids:
        with suppress(httpx.HTTPError):
            server.http.post(f"/api/rag/jobs/{job_id}/cancel")


def canary_hits(server: Server, name: str, files: Sequence[File]) -> dict[str, int]:
    """How many passages a search for each file's own word finds that hold it, by the file's name."""
    return {file.name: _hits(server, name, file.canary) for file in files}


def passages_with(canary: str, results: Sequence[Mapping[str, Any]]) -> int:
    """How many results hold the word, and were found by words and by meaning."""
    held = [hit for hit in results if canary in hit["content"]]
    return sum(1 for hit in held if hit["metadata"]["rrf_score"] > BOTH_LEGS)


def _hits(server: Server, name: str, canary: str) -> int:
    def look() -> int | None:
        with suppress(httpx.HTTPError):  # the web server may be on its way back
            query = {"query": canary, "top_k": 100}
            answer = server.http.post(f"/api/rag/collections/{name}/search", json=query)
            if answer.status_code == 200:
                return passages_with(canary, answer.json()["results"])
        return None

    return wait_for(look, seconds=ANSWER_SECONDS, what="an answer to a search", pause=1)
