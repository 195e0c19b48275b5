"""Servers on this machine that behave as badly as a test wants."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CERTIFICATE = Path(__file__).with_name("certificate.pem")
#: Nobody listens there, and it is not this network either.
NOWHERE = "192.0.2.7"

Answer = Callable[["Call"], None]


class Call(BaseHTTPRequestHandler):
    """One request; answers are functions of it."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.seen.append((self.path, {key.lower(): value for key, value in self.headers.items()}))
        answer = self.server.answers.get(self.path.partition("?")[0]) or self.server.otherwise
        answer(self)

    do_POST = do_GET  # noqa: N815 - the parent's name

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
        """Nobody reads it."""

    def send(self, content: bytes, *, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content_length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def keep_sending(self, piece: bytes, *, every: float) -> None:
        """Until the other side has enough, or the test is over."""
        while not self.server.over.wait(every):
            self.wfile.write(piece)
            self.wfile.flush()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: str, port: int, answers: Mapping[str, Answer], otherwise: Answer) -> None:
        super().__init__((address, port), Call)
        self.answers = answers
        self.otherwise = otherwise
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.names: list[str | None] = []
        self.stalls = False
        self.over = threading.Event()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """The other side left early, as it should."""


def not_found(call: Call) -> None:
    call.send(b"no", status=404)


def redirect_to(location: str, status: int = 302) -> Answer:
    return lambda call: call.send(b"elsewhere", status=status, location=location)


@contextmanager
def serving(
    answers: Mapping[str, Answer],
    *,
    otherwise: Answer = not_found,
    address: str = "127.0.0.1",
    port: int = 0,
    tls: bool = False,
) -> Iterator[Server]:
    server = Server(address, port, answers, otherwise)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)

        def remember(_: object, name: str | None, __: object) -> None:
            server.names.append(name)
            if server.stalls:
                server.over.wait(60)

        context.sni_callback = remember
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Names:
    """A name server that changes its mind: each look-up of a name gets its next answer, the last one for ever."""

    known: Mapping[str, list[list[str]]]
    asked: list[str] = field(default_factory=list)

    def __call__(self, host: str, port: int) -> list[str]:
        answers = self.known.get(host)
        if answers is None:
            raise OSError("no such name")
        self.asked.append(host)
        return answers[min(self.asked.count(host), len(answers)) - 1]
