"""Bodies are refused while they arrive, before anything of them is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from ragsite.body_limit import LIST_BYTES, SMALL_BYTES, BodyLimit

LARGEST = 2 * LIST_BYTES
UPLOAD = "/api/rag/collections/x/documents"


Messages = list[MutableMapping[str, Any]]


def send(path: str, pieces: list[bytes], *, length: int | None = None, sent: Messages | None = None) -> tuple[int, int]:
    """Status of the answer and bytes that the application saw; the answer's messages go to `sent`."""
    seen = 0
    sent = [] if sent is None else sent
    queue = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces) - 1}
        for number, piece in enumerate(pieces)
    ]

    async def application(scope: Any, receive: Any, send: Any) -> None:
        nonlocal seen
        more = True
        while more:
            message = await receive()
            seen += len(message["body"])
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Any:
        return queue.pop(0)

    async def note(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    headers = [] if length is None else [(b"content-length", str(length).encode())]
    method, _, address = path.rpartition(" ")
    scope = {"type": "http", "method": method or "POST", "path": address, "headers": headers}
    asyncio.run(BodyLimit(application, largest=LARGEST)(scope, receive, note))
    return int(sent[0]["status"]), seen


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/collections", SMALL_BYTES),
        (UPLOAD, LARGEST),
        ("/collections/x/documents", LARGEST),
        ("DELETE /collections/x/documents", LIST_BYTES),
        ("DELETE /collections/x/documents/all", SMALL_BYTES),
        ("/collections/x/query", LIST_BYTES),
        ("/rerank", LIST_BYTES),
        ("/v1/rerank", LIST_BYTES),
        ("/v2/rerank", LIST_BYTES),
        ("/v3/rerank", SMALL_BYTES),
        (f"GET {UPLOAD}", SMALL_BYTES),
        ("/x", SMALL_BYTES),
    ],
)
def test_a_body_in_pieces_is_cut_off_at_the_limit(path: str, limit: int) -> None:
    half = bytes(limit // 2)
    assert send(path, [half, half]) == (200, limit)
    status, seen = send(path, [half, half, b"x", half])
    assert status == 413
    assert seen == limit


def test_an_announced_length_is_refused_without_reading() -> None:
    assert send("/collections", [b"x"], length=SMALL_BYTES + 1) == (413, 0)
    assert send(UPLOAD, [b"x"], length=SMALL_BYTES + 1) == (200, 1)


@pytest.mark.parametrize(("path", "fields"), [("/rerank", 2), ("/v1/rerank", 3), ("/v2/rerank", 3)])
def test_clients_of_other_services_find_the_sentence(path: str, fields: int) -> None:
    sent: Messages = []
    assert send(path, [], length=LIST_BYTES + 1, sent=sent) == (413, 0)
    body = json.loads(sent[1]["body"])
    assert len(body) == fields
    assert body.get("message", body["detail"]) == body["detail"]


def test_people_get_a_page_once_their_form_has_arrived() -> None:
    sent: Messages = []
    half = bytes(SMALL_BYTES // 2)
    status, _ = send("/admin/collections/chunk/1/edit/", [half, half, half, half], sent=sent)
    page = sent[1]["body"].decode()
    assert status == 413
    assert dict(sent[0]["headers"])[b"content-type"] == b"text/html; charset=utf-8"
    assert "<h1>Too long</h1>" in page
    assert "more than the 2.0\xa0MB that a page may send" in page
    assert "what you wrote is still there" in page


def test_pages_know_the_limit() -> None:
    """They say it before anything is sent."""
    base = (Path(__file__).parents[3] / "templates/admin/base_site.html").read_text(encoding="utf-8")
    assert f'name="ragsite-longest-form" content="{SMALL_BYTES}"' in base
