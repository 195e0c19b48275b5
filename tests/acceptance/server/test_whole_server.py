"""The main job on a server of its own, started as a user starts it: kills, restarts, and a clean end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
READY = "Ragsite is ready"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A whole server in a folder of its own."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_port()
        self.output = data.parent / f"{data.name}.out"
        self.process: subprocess.Popen[bytes] | None = None
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30)

    def log(self, child: str) -> list[dict[str, Any]]:
        """The lines that a process has logged."""
        whole, _, _ = (self.data / "logs" / f"{child}.log").read_text(encoding="utf-8").rpartition("\n")
        return [json.loads(line) for line in whole.splitlines() if line.startswith("{")]

    def start(self) -> None:
        environ = {
            name: value
            for name, value in os.environ.items()
            if "__" not in name and not name.startswith(("RAGSITE_", "DJANGO_"))
        }
        environ |= {"RAGSITE_ADMIN_PASSWORD": "correct horse battery", "Ingestion__LeaseSeconds": "5"}
        environ |= {"Telemetry__LogFormat": "json"}
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ragsite.up", "--data", str(self.data), "--port", str(self.port), "--no-demo"],
                cwd=ROOT,
                env=environ,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        wait_until(lambda: READY in self.text(), seconds=120, but_not=lambda: self.process_ended(), what=self.text)

    def text(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace")

    def process_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def family(self) -> list[psutil.Process]:
        assert self.process is not None
        return psutil.Process(self.process.pid).children(recursive=True)

    def child(self, pattern: str) -> psutil.Process:
        def command(process: psutil.Process) -> str:
            try:
                return " ".join(process.cmdline())
            except psutil.Error:
                return ""

        return min((child for child in self.family() if re.search(pattern, command(child))), key=lambda c: c.pid)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it and make sure that nothing is left; the exit status."""
        assert self.process is not None
        family = self.family()
        self.process.send_signal(number)
        status = self.process.wait(timeout=60)
        _, alive = psutil.wait_procs(family, timeout=5)
        assert alive == [], alive
        self.process = None
        return status


def wait_until(check: Any, *, seconds: float, what: Any, but_not: Any = lambda: False) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert not but_not(), what()
        assert time.monotonic() < deadline, what()
        time.sleep(0.2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "data")
    server.start()
    try:
        yield server
    finally:
        server.http.close()
        if server.process is not None:
            server.process.terminate()
            server.process.wait(timeout=60)


def book(words: str, chapters: int) -> bytes:
    """A document that takes the model a while: every chapter is a chunk or two of its own."""
    parts = [f"## Chapter {n}\n\n" + f"In chapter {n} {words} number {n}. " * 12 for n in range(chapters)]
    return ("# Book\n\n" + "\n\n".join(parts)).encode()


def job_of(server: Server, job_id: str) -> Any:
    return server.http.get(f"/api/rag/jobs/{job_id}").json()


def wait_for_job(server: Server, job_id: str, seconds: float = 180) -> Any:
    def ended() -> bool:
        try:
            return job_of(server, job_id)["finished_at"] is not None
        except (httpx.HTTPError, KeyError):
            return False  # the database is being killed and started meanwhile

    wait_until(ended, seconds=seconds, what=lambda: f"{job_of(server, job_id)}\n{server.text()[-3000:]}")
    return job_of(server, job_id)


def said(server: Server, child: str, event: str) -> list[dict[str, Any]]:
    return [line for line in server.log(child) if line["event"] == event]


def find(server: Server, collection: str, query: str, top_k: int = 5) -> list[Any]:
    answer = server.http.post(f"/api/rag/collections/{collection}/search", json={"query": query, "top_k": top_k})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["results"])


def test_a_file_is_found_by_meaning_and_by_exact_term(server: Server) -> None:
    assert server.http.get("/health").json()["status"] == "healthy"
    assert server.http.post("/collections", json={"name": "tour"}).status_code == 201
    files = [
        ("file", ("bikes.md", b"# Bikes\n\n## Tyres\n\nInflate them to four bar. See bikeTyrePressure.")),
        ("file", ("tea.html", b"<html><title>Tea</title><body><h1>Tea</h1><p>Steep oolong at ninety degrees "
                              b"for three minutes and pour it out.</p></body></html>")),
        ("file", ("empty.txt", b"")),
    ]  # fmt: skip
    answer = server.http.post("/api/rag/collections/tour/documents?wait=60", files=files, timeout=90)
    assert answer.status_code in (200, 202), answer.text
    job = wait_for_job(server, answer.json()["id"])
    assert job["state"] == "partial"
    assert {item["source"]: item["state"] for item in job["items"]} == {
        "bikes.md": "succeeded",
        "tea.html": "succeeded",
        "empty.txt": "failed",
    }
    by_meaning = find(server, "tour", "how hot should the water be for brewing")[0]
    assert by_meaning["metadata"]["source"] == "tea.html"
    by_term = find(server, "tour", "bikeTyrePressure")[0]
    assert (by_term["metadata"]["source"], by_term["metadata"]["section"]) == ("bikes.md", "Tyres")


def test_b7_a_request_and_the_job_that_it_starts_have_one_id_in_both_logs(server: Server) -> None:
    """A search has one too, with B7.2, B7.3 and B7.5 in its lines."""
    given = {"documents": [{"source": "a", "text": "The quick brown fox."}]}
    assert server.http.post("/collections", json={"name": "logged"}).status_code == 201
    answer = server.http.post("/api/rag/collections/logged/documents", json=given, headers={"X-Request-Id": "add-17"})
    assert answer.headers["X-Request-Id"] == "add-17"
    job_id = answer.json()["id"]
    assert wait_for_job(server, job_id)["state"] == "succeeded"
    for child, event in (("web", "sent to a worker"), ("worker", "claimed"), ("worker", "ended: succeeded")):
        # A line may come a moment after what it tells of.
        wait_until(
            lambda child=child, event=event: said(server, child, f"job {job_id} {event}"), seconds=10, what=server.text
        )
        (line,) = said(server, child, f"job {job_id} {event}")
        assert line["request_id"] == "add-17"
        assert {"level", "logger", "timestamp"} <= {*line}
    by_worker = [line for line in server.log("worker") if line.get("request_id") == "add-17"]
    assert {line["task"] for line in by_worker} == {"ingest.run_job"}

    headers = {"X-Request-Id": "find-18"}
    server.http.post("/api/rag/collections/logged/search", json={"query": "fox"}, headers=headers)
    lines = {line["event"]: line for line in server.log("web") if line.get("request_id") == "find-18"}
    assert lines["legs merged"]["unique_chunks"] == 1
    done = lines["search done"]
    assert (done["dense_results"], done["lexical_results"], done["results"]) == (1, 1, 1)
    assert done["collections"] == ["logged"]
    assert done["took_ms"] > 0
    assert {"words", "embedding", "meaning", "fusion"} <= {*done["stages_ms"]}


def test_a_raw_path_with_an_encoded_slash_reaches_nothing(server: Server) -> None:
    answer = server.http.delete("/collections/tour%2Fdocuments%2Fall")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_path")
    assert server.http.get("/collections/tour").json()["count"] > 0


@pytest.mark.parametrize("sent", [b"GET /\xff HTTP/1.1\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"hello\r\n\r\n"])
def test_what_is_no_http_is_refused_with_a_sentence_too(server: Server, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(sent)
        head, _, body = b"".join(iter(lambda: raw.recv(4096), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["code"] == "malformed_request"


def test_what_the_server_keeps_is_for_its_owner_alone(server: Server) -> None:
    open_to_others = [path for path in server.data.rglob("*") if path.lstat().st_mode & 0o077 and not path.is_symlink()]
    assert [str(path.relative_to(server.data)) for path in open_to_others] == []


def test_kills_during_ingestion_lose_and_repeat_nothing(server: Server) -> None:
    server.http.post("/collections", json={"name": "killed"})
    files = [("file", (f"book{n}.md", book(f"volume{n} speaks of subject", 60))) for n in range(3)]
    job_id = server.http.post("/api/rag/collections/killed/documents", files=files).json()["id"]
    wait_until(lambda: job_of(server, job_id)["state"] == "running", seconds=60, what=server.text)
    time.sleep(1)
    for victim in (server.child(r"celery .*worker.* default"), server.child(r"bin/postgres -D")):
        victim.kill()
    job = wait_for_job(server, job_id)
    assert job["state"] == "succeeded", job
    chunks = sum(item["chunks"] for item in job["items"])
    assert server.http.get("/collections/killed").json()["count"] == chunks
    for n in range(3):
        found = find(server, "killed", f"volume{n}", top_k=100)
        ids = [hit["id"] for hit in found if hit["metadata"]["source"] == f"book{n}.md"]
        assert len(ids) == len(set(ids)) > 0


def test_a_stop_leaves_no_process_and_a_second_start_has_everything(server: Server) -> None:
    before = find(server, "tour", "oolong")
    assert server.stop(signal.SIGINT) == 0
    server.start()
    assert [hit["id"] for hit in find(server, "tour", "oolong")] == [hit["id"] for hit in before]
    assert server.stop(signal.SIGTERM) == 0
