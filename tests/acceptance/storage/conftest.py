"""One server for all scenarios, and a fresh collection for each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.acceptance.server.test_whole_server import Server


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    server = Server(tmp_path_factory.mktemp("storage") / "data")
    server.start()
    yield server.http
    server.http.close()
    assert server.stop() == 0


class Shelf:
    """A collection, spoken to as a backend would."""

    def __init__(self, http: httpx.Client, name: str) -> None:
        self.http = http
        self.name = name

    def call(self, method: str, rest: str = "", **more: Any) -> httpx.Response:
        return self.http.request(method, f"/collections/{self.name}{rest}", **more)

    def add(self, *documents: dict[str, Any]) -> httpx.Response:
        return self.call("POST", "/documents", json={"documents": list(documents)})

    def documents(self, **params: Any) -> dict[str, Any]:
        answer = self.call("GET", "/documents", params=params)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def ids(self, **params: Any) -> list[str]:
        return [document["id"] for document in self.documents(**params)["documents"]]


@pytest.fixture
def shelf(http: httpx.Client) -> Shelf:
    name = f"shelf-{uuid.uuid4().hex[:12]}"
    assert http.post("/collections", json={"name": name}).status_code == 201
    return Shelf(http, name)


def document(number: int, **metadata: Any) -> dict[str, Any]:
    """A document with an embedding of three numbers."""
    embedding = [1.0, float(number), 0.5]
    return {"id": f"d{number}", "text": f"text number {number}", "metadata": metadata, "embedding": embedding}
