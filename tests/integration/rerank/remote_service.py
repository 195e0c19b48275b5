"""A reranking service on this machine that answers as it is told, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HEALTHY = {"status": "healthy", "cross_encoder": {"model": "tiny", "status": "loaded"}}


@dataclass
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Asked:
    path: str
    headers: dict[str, str]
    body: Any


def by_length(body: Any) -> Answer:
    """What a good service says: the longest text first."""
    documents = sorted(enumerate(body["documents"], 1), key=lambda pair: -len(pair[1]["text"]))
    ranked = [{"id": one["id"], "score": len(one["text"]) / 10, "original_rank": rank} for rank, one in documents]
    return Answer(body={"reranked": ranked[: body.get("top_k")]})


class Service:
    """`health` and `rerank` are what it says; a list is said one after another, its last for ever."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.health: list[Answer] = [Answer(body=HEALTHY)]
        self.rerank: list[Answer | Callable[[Any], Answer]] = [by_length]

    def calls(self, path: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.path == path]

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        script: list[Any] = self.health if asked.path == "/health" else self.rerank
        said = script.pop(0) if len(script) > 1 else script[0]
        found: Answer = said(asked.body) if callable(said) else said
        return found


@contextmanager
def running() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            answer = service.answer(Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if answer.status == 0:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", answer.headers.get("Content-Length", str(len(answer.content))))
            self.end_headers()
            self.wfile.write(answer.content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_args: Any) -> None: ...

        def handle(self) -> None:
            with suppress(ConnectionError):  # the client has heard enough
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
