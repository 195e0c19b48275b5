"""Answers that are sent while they are made, so that none has to fit into memory."""

from __future__ import annotations

from collections.abc import Generator
from typing import Self

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, StreamingHttpResponse


class Streamed(StreamingHttpResponse):
    """An answer made by `streamed`."""


def streamed(
    *, request: HttpRequest, parts: Generator[bytes, None, None], content_type: str, filename: str
) -> Streamed:
    """A file to download, made part by part. `parts` may hold a transaction: all of it is asked for in one thread."""
    body = Beside(parts) if isinstance(request, ASGIRequest) else parts
    answer = Streamed(body, content_type=content_type)
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in filename)
    answer["Content-Disposition"] = f'attachment; filename="{safe[-150:]}"'
    answer["Cache-Control"] = "no-store"
    return answer


class Beside:
    """Parts of a synchronous generator for the event loop: Django would collect all of them before it sends the first.

    Under `ragsite.handler` each stream has a thread of its own, in which it is asked and closed, hung up on or not.
    """

    def __init__(self, parts: Generator[bytes, None, None]) -> None:
        self._parts = parts

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        part = await sync_to_async(self._next)()
        if part is None:
            raise StopAsyncIteration
        return part

    def _next(self) -> bytes | None:
        return next(self._parts, None)

    def close(self) -> None:
        """Called by the response when it ends. The thread goes, and its connection with it."""
        self._parts.close()
        connections.close_all()
