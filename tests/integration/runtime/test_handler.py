"""How a request goes through the web process: one thread of a pool, one connection, nothing left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from django.core import signals
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from core_app.streaming import streamed
from ragsite.handler import OneThreadHandler

seen: ContextVar[str] = ContextVar("seen", default="nothing")


@pytest.fixture
def finished() -> Iterator[list[str]]:
    """The threads in which requests ended."""
    threads: list[str] = []

    def note(**_: Any) -> None:
        threads.append(threading.current_thread().name)

    signals.request_finished.connect(note)
    yield threads
    signals.request_finished.disconnect(note)


def handler(answer: Callable[[HttpRequest], HttpResponseBase]) -> OneThreadHandler:
    made = OneThreadHandler()
    vars(made)["get_response"] = answer
    return made


def scope() -> dict[str, Any]:
    headers = [(b"host", b"localhost"), (b"content-type", b"text/plain")]
    return {"type": "http", "method": "POST", "path": "/x", "query_string": b"", "headers": headers}


class Client:
    """One end of the connection; it hangs up after `patience` messages, or never."""

    def __init__(self, *parts: bytes, patience: int | None = None, hangs_up: bool = False) -> None:
        self.sent: list[dict[str, Any]] = []
        self._parts = [*parts]
        self._patience = patience
        self._hangs_up = hangs_up
        self._gone = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        if self._parts:
            body = self._parts.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(self._parts) or self._hangs_up}
        if not self._hangs_up:
            await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        if self._patience is not None and len(self.sent) >= self._patience:
            self._gone.set()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


def talk(made: OneThreadHandler, client: Client) -> Client:
    asyncio.run(made(scope(), client.receive, client.send))
    return client


def test_a_request_begins_and_ends_in_one_thread_of_the_pool(finished: list[str]) -> None:
    answered: list[str] = []

    def answer(request: HttpRequest) -> HttpResponse:
        answered.append(threading.current_thread().name)
        return HttpResponse(request.body + b"!")

    client = talk(handler(answer), Client(b"one ", b"two"))
    assert client.body == b"one two!"
    assert [message["type"] for message in client.sent] == ["http.response.start", "http.response.body"]
    assert finished == answered
    assert answered[0].startswith("request")


def test_requests_in_one_thread_do_not_see_each_other_s_context() -> None:
    def answer(request: HttpRequest) -> HttpResponse:
        before = seen.get()
        seen.set(request.body.decode())
        return HttpResponse(before)

    made = handler(answer)
    assert [talk(made, Client(text)).body for text in (b"first", b"second")] == [b"nothing", b"nothing"]


def test_a_stream_is_sent_piece_by_piece_and_ends_its_request(finished: list[str]) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"a", b"b"):
            yield piece

    client = talk(handler(lambda _: StreamingHttpResponse(pieces())), Client(b""))
    assert [message.get("body", b"") for message in client.sent[1:]] == [b"a", b"b", b""]
    assert len(finished) == 1


def test_a_client_that_hangs_up_stops_the_stream(finished: list[str]) -> None:
    ended: list[str] = []

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"more"
                await asyncio.sleep(0)
        finally:
            ended.append("stopped")

    client = talk(handler(lambda _: StreamingHttpResponse(endless())), Client(b"", patience=4))
    assert len(client.sent) < 20
    assert ended == ["stopped"]
    assert len(finished) == 1


def test_what_breaks_a_stream_is_told_to_the_server(finished: list[str]) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"a"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk"):
        talk(handler(lambda _: StreamingHttpResponse(broken())), Client(b""))
    assert len(finished) == 1


def test_a_client_that_hangs_up_within_its_request_is_not_answered(finished: list[str]) -> None:
    client = talk(handler(lambda _: HttpResponse(b"never")), Client(b"half", hangs_up=True))
    assert (client.sent, finished) == ([], [])


def test_only_http_is_answered() -> None:
    with pytest.raises(ValueError, match="websocket"):
        asyncio.run(OneThreadHandler()({"type": "websocket"}, Client().receive, Client().send))


def test_many_who_wait_for_a_job_do_not_keep_others_waiting() -> None:
    go = threading.Event()

    def answer(request: HttpRequest) -> HttpResponse:
        if request.body == b"slow":
            assert go.wait(60)
        return HttpResponse(request.body)

    async def all_of_them(made: OneThreadHandler) -> list[bytes]:
        slow = [Client(b"slow") for _ in range(100)]
        tasks = [asyncio.create_task(made(scope(), client.receive, client.send)) for client in slow]
        while len(threading.enumerate()) < 100:
            await asyncio.sleep(0)
        quick = Client(b"quick")
        await made(scope(), quick.receive, quick.send)
        answered = quick.body
        go.set()
        await asyncio.gather(*tasks)
        return [answered, *(client.body for client in slow)]

    assert asyncio.run(all_of_them(handler(answer))) == [b"quick", *[b"slow"] * 100]


def test_a_download_is_made_while_it_is_sent_in_one_thread(finished: list[str]) -> None:
    """Parts of a synchronous generator, which Django by itself would collect first."""
    events: list[str] = []
    threads: set[int] = set()

    def parts() -> Generator[bytes, None, None]:
        try:
            for part in (b"a", b"b"):
                threads.add(threading.get_ident())
                events.append(f"made {part.decode()}")
                yield part
            while True:
                yield b"more"
        finally:
            threads.add(threading.get_ident())
            events.append("closed")

    class Noting(Client):
        async def send(self, message: dict[str, Any]) -> None:
            events.append(f"sent {message.get('body', b'').decode()}")
            await super().send(message)

    def answer(request: HttpRequest) -> HttpResponseBase:
        return streamed(request=request, parts=parts(), content_type="text/plain", filename='a"b/ü.jsonl')

    client = Noting(b"", patience=4)
    talk(handler(answer), client)
    assert events[:5] == ["sent ", "made a", "sent a", "made b", "sent b"]
    assert events[-1] == "closed"
    assert len(threads) == 1
    assert dict(client.sent[0]["headers"])[b"Content-Disposition"] == b'attachment; filename="a_b__.jsonl"'
