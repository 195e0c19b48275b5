"""Refuses bodies that are too large while they arrive: Django keeps a body before anybody looks at it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
#: What Django offers; its own annotations are narrower than what servers send.
Application = Callable[[Any, Any, Any], Awaitable[None]]

#: Where files and embeddings arrive, and where long lists of ids, queries or texts; elsewhere a body is a few fields.
UPLOADS = re.compile(
    r"POST (/api/rag/collections/[^/]+/(documents|import)|/collections/[^/]+/documents"
    r"|/admin/ingest/job/add/|/admin/collections/collection/import/)"
)
LISTS = re.compile(r"DELETE /collections/[^/]+/documents|POST /collections/[^/]+/query|POST (/v[12])?/rerank")
#: Where clients of other services call, which look for the sentence in another field.
OF_OTHERS = re.compile(r"/v[12]/")
#: Where people are who look at pages.
PAGES = "/admin/"
LIST_BYTES = 32 * 1024 * 1024
SMALL_BYTES = 2 * 1024 * 1024


class BodyTooLarge(Exception):
    """More bytes came than this address takes."""


class BodyLimit:
    """An ASGI application around another; `largest` bounds uploads, LIST_BYTES lists, SMALL_BYTES the rest."""

    def __init__(self, application: Application, *, largest: int) -> None:
        self._application = application
        self._largest = largest

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        limit = min(_limit(f"{scope['method']} {scope['path']}"), self._largest)
        if _announced(scope) > limit:
            await _refuse(send, limit, scope["path"], receive)
            return
        arrived = 0

        async def counting() -> Message:
            nonlocal arrived
            message = await receive()
            if message["type"] == "http.request":
                arrived += len(message.get("body", b""))
                if arrived > limit:
                    raise BodyTooLarge
            return message

        try:
            await self._application(scope, counting, send)
        except BodyTooLarge:
            await _refuse(send, limit, scope["path"], receive)


def _limit(call: str) -> int:
    if UPLOADS.fullmatch(call):
        return sys.maxsize
    return LIST_BYTES if LISTS.fullmatch(call) else SMALL_BYTES


def _announced(scope: MutableMapping[str, Any]) -> int:
    """The length that the request says it has; 0 where it says none."""
    text = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(text) if text.isdigit() and len(text) < 20 else 0


async def _refuse(send: Send, limit: int, path: str, receive: Receive) -> None:
    if path.startswith(PAGES):
        await _drain(receive)
        await _answer(send, _page(limit), b"text/html; charset=utf-8")
        return
    detail = f"The request is larger than the {limit} bytes that this address takes. Send it in parts."
    error = {"detail": detail, "code": "too_large"}
    if OF_OTHERS.match(path):
        error["message"] = detail
    await _answer(send, json.dumps(error).encode(), b"application/json")


def _page(limit: int) -> bytes:
    """What people are shown, in the console's look."""
    return render_to_string("413.html", {"limit": filesizeformat(limit)}).encode()


async def _drain(receive: Receive) -> None:
    """Let the rest of a form arrive and forget it: browsers show no answer before they have sent all they have."""
    left = LIST_BYTES
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b"")) + 1
        if message["type"] != "http.request" or not message.get("more_body"):
            return


async def _answer(send: Send, body: bytes, kind: bytes) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", b"default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'"),
        (b"x-content-type-options", b"nosniff"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
