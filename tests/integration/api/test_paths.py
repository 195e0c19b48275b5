"""The server's edge, through the ASGI application that `serve` runs: paths, redirects, headers."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from django.test import Client

from ragsite.asgi import application


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def send(
    raw_path: bytes, *, method: str = "GET", headers: dict[str, str] | None = None, pieces: tuple[bytes, ...] = (b"",)
) -> Answer:
    """One request as uvicorn hands it over: the path decoded, and beside it as it was sent."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote_to_bytes(raw_path).decode("utf-8", "replace"),
        "raw_path": raw_path,
        "query_string": b"",
        "root_path": "",
        "headers": [(k.lower().encode(), v.encode()) for k, v in {"host": "127.0.0.1", **(headers or {})}.items()],
        "client": ("127.0.0.1", 40000),
        "server": ("127.0.0.1", 8000),
    }

    request = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    request[-1]["more_body"] = False
    messages: list[Any] = []

    async def receive() -> Any:
        return request.pop(0) if request else await asyncio.Future()

    async def keep(message: Any) -> None:
        messages.append(message)

    asyncio.run(application(scope, receive, keep))
    start, *rest = messages
    return Answer(
        status=start["status"],
        headers={k.decode().lower(): v.decode() for k, v in start["headers"]},
        body=b"".join(message["body"] for message in rest),
    )


@pytest.mark.parametrize(
    "path",
    [
        b"/collections/x%2Fdocuments%2Fall",
        b"/collections/x%5Cy",
        b"/collections/x\\y",
        b"/collections/a%00b",
        b"/collections/a%0Ab",
        b"/collections/%ff",
        b"/api/rag/collections/x%2fy/search",
        b"/health%2Flive",
        b"/swagger%2F",
        b"/admin%2F",
    ],
)
@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_a_hostile_path_is_400_before_routing(path: bytes, method: str) -> None:
    answer = send(path, method=method)
    assert answer.status == 400
    assert answer.json()["code"] == "invalid_path"
    assert set(answer.json()) == {"detail", "code"}


@pytest.mark.parametrize("path", [b"/nope", b"/collections/", b"/health/", b"/collections/a/b/c", b"/api/rag/jobs/7"])
def test_an_unknown_path_is_404_in_json_without_a_redirect(path: bytes) -> None:
    answer = send(path)
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["code"] == "not_found"
    assert "/swagger" in answer.json()["detail"]


@pytest.mark.parametrize("path", [b"/favicon.ico", b"/static/missing.js", b"/.env", b"/../../etc/passwd"])
def test_nothing_else_is_served(path: bytes) -> None:
    assert send(path).status == 404


def test_health_live_is_answered_without_a_database() -> None:
    answer = send(b"/health/live")
    assert (answer.status, answer.json()) == (200, {"status": "alive"})


@pytest.mark.parametrize("host", ["evil.example.org", "127.0.0.1.example.org", "a b", ""])
def test_an_unknown_host_is_400_in_json(host: str) -> None:
    answer = send(b"/health/live", headers={"host": host})
    assert answer.status == 400
    assert answer.json()["code"] == "unknown_host"


def test_every_answer_carries_an_id_and_a_policy() -> None:
    for path in (b"/health/live", b"/nope"):
        headers = send(path).headers
        assert len(headers["x-request-id"]) == 32
        assert "script-src 'self';" in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("given", "kept"),
    [("abc-1.2_X", True), ("x" * 64, True), ("x" * 65, False), ("a b", False), ("a\tb", False), ("é", False)],
)
def test_a_request_id_is_taken_over_when_it_is_harmless(given: str, kept: bool) -> None:
    answer = send(b"/health/live", headers={"x-request-id": given})
    assert (answer.headers["x-request-id"] == given) is kept


def test_a_body_sent_in_pieces_is_not_taken_for_empty() -> None:
    headers = {"transfer-encoding": "chunked", "content-type": "application/json"}
    answer = send(b"/collections", method="POST", headers=headers, pieces=(b'{"na', b'me": ', b"5}"))
    assert answer.status == 400
    assert answer.json()["errors"] == {"name": ["Not a valid string."]}


def test_a_form_sent_in_pieces_is_read_to_its_end() -> None:
    headers = {"transfer-encoding": "chunked", "content-type": "multipart/form-data; boundary=cut"}
    part = b'--cut\r\nContent-Disposition: form-data; name="colour"\r\n\r\nred\r\n'
    answer = send(
        b"/api/rag/collections/docs/documents",
        method="POST",
        headers=headers,
        pieces=(part[:9], part[9:], b"--cut--\r\n"),
    )
    assert answer.status == 400
    assert answer.json()["detail"].startswith("The field 'colour' is not expected.")


def test_no_body_in_pieces_is_an_empty_one() -> None:
    headers = {"transfer-encoding": "chunked", "content-type": "application/json"}
    assert send(b"/collections", method="POST", headers=headers).json()["errors"] == {
        "name": ["This field is required."]
    }


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/collections/%252F", "/collections/100%25"])
def test_a_percent_sign_is_a_character_like_any_other(client: Client, path: str) -> None:
    assert client.get(path).json()["code"] == "collection_not_found"
