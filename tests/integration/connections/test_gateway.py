"""A9.7: the storage API's calls on the provider that a connection names."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from access_app.models import AuditEntry
from tests.integration.access.conftest import client_with, keys_required  # noqa: F401 (fixtures)
from tests.integration.rerank.remote_service import Answer, Service, running

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
DOCUMENTS = [
    {"id": "a", "text": "Oolong", "metadata": {"kind": "tea"}, "embedding": [1.0, 0.0]},
    {"id": "b", "text": "Rye", "metadata": {"kind": "bread"}, "embedding": [0.0, 1.0]},
]


@pytest.fixture
def scripted(client: Client) -> Iterator[Service]:
    """A server that says whatever it is told to, behind the connection `scripted`."""
    with running() as service:
        settings = {"url": service.url, "timeout_seconds": 1, "api_key": "rs_s3cret"}
        client.post("/api/connections", {"name": "scripted", "provider": "remote", "settings": settings}, JSON)
        yield service


def ask(client: Client, method: str, path: str, body: Any = None) -> Any:
    return client.generic(method, path, b"" if body is None else json.dumps(body).encode(), content_type=JSON)


def test_a_9_7_all_calls_are_answered_as_the_storage_api_answers(client: Client, far: str) -> None:
    """Through the connection and directly: it leads to this very server."""

    def both(method: str, path: str, query: str = "", body: Any = None) -> Any:
        through = ask(client, method, f"/api/collections{path}?service={far}&{query}", body)
        direct = ask(client, method, f"/collections{path}?{query}", body)
        assert through.status_code == direct.status_code == 200, through.content
        return direct.json(), through.json()

    made = ask(client, "POST", f"/api/collections?service={far}", {"name": "docs", "metadata": {"a": 1}})
    assert (made.status_code, made.json()["name"], made.json()["metadata"]) == (201, "docs", {"a": 1})
    added = ask(client, "POST", f"/api/collections/docs/documents?service={far}", {"documents": DOCUMENTS})
    assert added.json() == {"status": "added", "collection": "docs", "count": 2, "ids": ["a", "b"]}
    calls: list[tuple[str, str, str, Any]] = [
        ("GET", "/docs/documents", "include=embedding", None),
        ("GET", "/docs/documents", 'where={"kind":"tea"}', None),
        ("GET", "/docs/documents/a", "", None),
        ("GET", "/docs/metadata-values", "field=kind", None),
        ("POST", "/docs/query", "", {"query_embedding": [1.0, 0.1], "top_k": 1}),
        ("POST", "/docs/query", "", {"query_embeddings": [[1.0, 0.1], [0.0, 2.0]], "where": {"kind": "bread"}}),
        ("PATCH", "/docs/documents/a", "", {"metadata": {"new": True}}),
        ("PUT", "/docs/metadata", "merge=true", {"metadata": {"b": 2}}),
    ]
    for call in calls:
        direct, through = both(*call)
        assert through == direct
    direct, through = both("GET", "/docs")
    assert {key: direct[key] for key in through} == through
    direct, through = both("GET", "")
    assert [one["name"] for one in through["collections"]] == [one["name"] for one in direct["collections"]]
    deleted = ask(client, "DELETE", f"/api/collections/docs/documents?service={far}", {"ids": ["a"]})
    assert deleted.json() == {"status": "deleted", "count_deleted": 1}
    emptied = ask(client, "DELETE", f"/api/collections/docs/documents/all?service={far}")
    assert emptied.json() == {"status": "emptied", "collection": "docs", "count_deleted": 1}
    gone = ask(client, "DELETE", f"/api/collections/docs?service={far}")
    assert gone.json() == {"status": "deleted", "collection": "docs"}
    assert client.get("/collections/docs").status_code == 404
    noted = AuditEntry.objects.filter(action__startswith="service.").order_by("id")
    assert [(one.action, one.collection, one.object_name) for one in noted] == [
        (f"service.{action}", "docs", "far: docs")
        for action in (
            "collection_created",
            "chunks_added",
            "chunk_changed",
            "metadata_changed",
            "chunks_deleted",
            "collection_emptied",
            "collection_deleted",
        )
    ]


@pytest.mark.parametrize("service", ["", "?service=built-in"])
def test_without_a_service_it_is_the_storage_api_itself(client: Client, service: str) -> None:
    assert ask(client, "POST", f"/api/collections{service}", {"name": "docs", "language": "german"}).status_code == 201
    assert ask(client, "POST", f"/api/collections/docs/documents{service}", {"documents": DOCUMENTS}).status_code == 201
    found = ask(client, "GET", f"/api/collections/docs{service}")
    assert found.json() == client.get("/collections/docs").json()
    assert ask(client, "PATCH", f"/api/collections/docs/documents/a{service}", {"disabled": True}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/collections/docs?service=nowhere", None, 404, "connection_not_found"),
        ("GET", "/api/collections/docs?service=", None, 404, "connection_not_found"),
        ("GET", "/api/collections/docs?service=far&service=built-in", None, 400, "repeated_parameter"),
        ("GET", "/api/collections/docs?service=far", None, 404, "collection_not_found"),
        ("POST", "/api/collections?service=far", {"name": "x", "language": "german"}, 400, "built_in_only"),
        ("POST", "/api/collections?service=far", {"name": "x "}, 400, "invalid_name"),
        ("DELETE", "/api/collections/docs/documents?service=far", {"filter": "f"}, 400, "built_in_only"),
        ("DELETE", "/api/collections/docs/documents?service=far", {"ids": []}, 400, "nothing_named"),
        ("DELETE", "/api/collections/docs/documents?service=far", {"where": {}}, 400, "nothing_named"),
        ("DELETE", "/api/collections/docs/documents?service=far", {"ids": ["a"], "where": {"a": 1}}, 400, None),
        ("GET", "/api/collections/docs/documents?service=far&filter=f", None, 400, "unknown_parameter"),
        ("PATCH", "/api/collections/docs/documents/a?service=far", {"text": "x"}, 400, "embedding_required"),
        (
            "POST",
            "/api/collections/docs/query?service=far",
            {"query_embeddings": [[1], [1, 2]]},
            400,
            "dimension_mismatch",
        ),
    ],
)
def test_what_cannot_be_asked_is_told(
    client: Client, far: str, method: str, path: str, body: Any, status: int, code: str | None
) -> None:
    answer = ask(client, method, path, body)
    assert answer.status_code == status, answer.content
    assert code in {None, answer.json()["code"]}


def slow(_body: Any) -> Answer:
    import time

    time.sleep(1.5)
    return Answer()


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        (Answer(status=500), 502, "far_side_failed"),
        (Answer(status=401), 502, "far_side_refused"),
        (Answer(status=403), 502, "far_side_refused"),
        (Answer(status=302, headers={"Location": "http://127.0.0.1:9/"}), 502, "far_side_failed"),
        (Answer(status=503, headers={"Retry-After": "60"}), 503, "far_side_busy"),
        (Answer(body=[1]), 502, "far_side_failed"),
        (Answer(body={"name": 5}), 502, "far_side_failed"),
        (Answer(status=404), 502, "far_side_failed"),
        (Answer(status=400, body={"detail": "No.", "code": "invalid"}), 400, "invalid"),
        (slow, 504, "far_side_slow"),
    ],
)
def test_what_the_far_side_does_has_a_status_of_its_own(
    client: Client, scripted: Service, said: Answer | Callable[[Any], Answer], status: int, code: str
) -> None:
    """Nothing of its answer but what it says in our form, and nothing of the address or the key."""
    scripted.rerank = [said]
    answer = ask(client, "GET", "/api/collections/docs?service=scripted")
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert b"s3cret" not in answer.content
    assert b"127.0.0.1" not in answer.content
    assert scripted.asked[0].headers["authorization"] == "Bearer rs_s3cret"


def test_what_is_not_there_is_503(client: Client) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        client.post("/api/connections", {"name": "far", "provider": "remote", "settings": {"url": url}}, JSON)
        answer = ask(client, "GET", "/api/collections?service=far")
    assert (answer.status_code, answer.json()["code"]) == (503, "far_side_unreachable")
    assert answer.headers["Retry-After"]


def test_who_waits_for_a_far_side_keeps_no_connection_of_the_database(client: Client, scripted: Service) -> None:
    held: list[bool] = []

    def look(_body: Any) -> Answer:
        held.append(waiting.connection is not None)
        return Answer(body={"name": "docs", "metadata": {}})

    waiting = connections["default"]
    scripted.rerank = [look]
    assert ask(client, "GET", "/api/collections/docs?service=scripted").status_code == 200
    assert held == [False]


def test_a_far_side_that_sends_its_headers_byte_by_byte_is_given_up(client: Client) -> None:
    with trickling() as url:
        settings = {"url": url, "timeout_seconds": 1}
        client.post("/api/connections", {"name": "far", "provider": "remote", "settings": settings}, JSON)
        answer = ask(client, "POST", "/api/collections?service=far", {"name": "docs"})
    assert (answer.status_code, answer.json()["code"]) == (504, "far_side_slow")


@contextmanager
def trickling() -> Iterator[str]:
    """A server that sends a byte each fifth of a second, for a minute or until nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                client, _ = server.accept()
                with client:
                    for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 300:
                        client.sendall(bytes([byte]))
                        time.sleep(0.2)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_reads_are_tried_again_and_writes_are_not(client: Client, scripted: Service) -> None:
    scripted.rerank = [Answer(status=503)]
    ask(client, "GET", "/api/collections/docs?service=scripted")
    assert len(scripted.asked) == 3
    scripted.asked.clear()
    ask(client, "POST", "/api/collections?service=scripted", {"name": "docs"})
    assert len(scripted.asked) == 1


def test_a_key_reaches_the_same_names_in_every_service(
    scripted: Service,
    keys_required: None,  # noqa: F811
    client_with: Any,  # noqa: F811
) -> None:
    names: list[dict[str, Any]] = [{"name": name, "metadata": {}} for name in ("team-a", "other")]
    scripted.rerank = [Answer(body={"collections": names, "total": 2})]
    caller = client_with("read", collections=("team-*",))
    found = caller.get("/api/collections?service=scripted").json()
    assert ([one["name"] for one in found["collections"]], found["total"]) == (["team-a"], 1)
    scripted.asked.clear()
    assert caller.get("/api/collections/other?service=scripted").status_code == 403
    assert not scripted.asked
