"""A2.2: what a provider does not declare is refused by the gateway, with the capability's name, and not tried."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest
from django.test import Client

from access_app.models import AuditEntry
from connections_app import registry
from connections_app.providers.remote import RemoteProvider
from core_app.providers import (
    Capability,
    ConnectionSettings,
    HeldChunk,
    HeldChunks,
    HeldCollection,
    ProviderHealth,
)

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
DOCS = "/api/collections/docs"


class Plain(RemoteProvider):
    """Holds one collection and lists it; nothing of it asks anybody."""

    label = "Plain"
    settings_model = ConnectionSettings
    capabilities = frozenset({Capability.UPSERT})
    asked: list[str] = []

    def __init__(self, settings: ConnectionSettings) -> None:
        pass

    def close(self) -> None:
        pass

    def health_check(self) -> ProviderHealth:
        raise AssertionError

    def get_collection(self, *, name: str) -> HeldCollection:
        return HeldCollection(name=name, metadata={}, distance="cosine")

    def list_chunks(self, **given: Any) -> HeldChunks:
        self.asked.append("list_chunks")
        chunk = HeldChunk(id="a", text="", metadata={}, embedding=np.ones(2, dtype=np.float32))
        return HeldChunks(chunks=[chunk], total=1)

    def add(self, **given: Any) -> None:
        self.asked.append("add")

    def delete_chunks(self, **given: Any) -> int:
        self.asked.append("delete_chunks")
        return 1


@pytest.fixture(autouse=True)
def plain(client: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A connection to it: a package brings it by an entry point."""
    point = EntryPoint(name="plain", value=f"{__name__}:Plain", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == registry.GROUP else [])
    registry.listed.cache_clear()
    assert client.post("/api/connections", {"name": "plain", "provider": "plain"}, JSON).status_code == 201
    Plain.asked = []
    yield
    registry.listed.cache_clear()


def ask(client: Client, method: str, path: str, body: Any = None) -> Any:
    return client.generic(method, path, b"" if body is None else json.dumps(body).encode(), content_type=JSON)


def document(**metadata: Any) -> dict[str, Any]:
    return {"documents": [{"id": "a", "text": "", "embedding": [1, 2], "metadata": metadata}]}


@pytest.mark.parametrize(
    ("method", "path", "body", "lacks"),
    [
        ("POST", "/api/collections?service=plain", {"name": "docs"}, "collections"),
        ("DELETE", f"{DOCS}?service=plain", None, "collections"),
        ("PUT", f"{DOCS}/metadata?service=plain", {"metadata": {}}, "collections"),
        ("POST", f"{DOCS}/query?service=plain", {"query_embedding": [1, 2]}, "search"),
        ("GET", f'{DOCS}/documents?service=plain&where={{"a":1}}', None, "metadata_filtering"),
        ("DELETE", f"{DOCS}/documents?service=plain", {"where": {"a": 1}}, "metadata_filtering"),
        ("GET", f"{DOCS}/metadata-values?service=plain&field=a", None, "metadata_filtering"),
        ("POST", f"{DOCS}/documents?service=plain", document(a={"b": 1}), "nested_metadata"),
        ("POST", f"{DOCS}/documents?service=plain", document(a=[1, [2]]), "nested_metadata"),
        ("PATCH", f"{DOCS}/documents/a?service=plain", {"metadata": {"a": [{"b": 1}]}}, "nested_metadata"),
        ("POST", "/api/rerank?service=plain", {"query": "a", "documents": [{"id": "a", "text": "b"}]}, "reranking"),
    ],
)
def test_what_is_not_declared_is_refused_and_not_tried(
    client: Client, method: str, path: str, body: Any, lacks: str
) -> None:
    answer = ask(client, method, path, body)
    assert (answer.status_code, answer.json()["code"]) == (400, "not_supported"), answer.content
    assert f"'Plain' does not support '{lacks}'" in answer.json()["detail"]
    assert Plain.asked == []
    assert not AuditEntry.objects.filter(action__startswith="service.").exists()


def test_what_is_declared_is_asked(client: Client) -> None:
    assert ask(client, "GET", f"{DOCS}/documents?service=plain").json()["total"] == 1
    assert ask(client, "POST", f"{DOCS}/documents?service=plain", document(a=[1, "b"], c=1.5)).status_code == 201
    assert ask(client, "DELETE", f"{DOCS}/documents?service=plain", {"ids": ["a"]}).json()["count_deleted"] == 1
    assert Plain.asked == ["list_chunks", "add", "delete_chunks"]


def test_the_list_shows_what_it_declares(client: Client) -> None:
    found = {one["name"]: one for one in client.get("/api/providers").json()["providers"]}
    assert found["plain"]["capabilities"] == ["upsert"]
