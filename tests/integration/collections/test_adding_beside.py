"""Adds whose words are read in another process: each gets its own words, or nothing at all."""

from __future__ import annotations

import json
import os
import signal
from typing import Any, cast

import pytest
from django.test import Client

from collections_app.models import Chunk, Collection
from collections_app.services import create_collection
from core_app.ports import Bm25
from core_app.wiring import store
from stores_app.lexical.worker import AnalysisWorker
from stores_app.pgvector import PgVectorStore
from tests.unit.stores.test_worker import pid_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> AnalysisWorker:
    """The store's worker, used for the smallest adds."""
    worker = AnalysisWorker(least_characters=1)
    monkeypatch.setattr(cast("PgVectorStore", store("pgvector")), "_worker", worker)
    return worker


@pytest.fixture
def shelf() -> Collection:
    return create_collection(name="shelf")


def add(client: Client, *texts: str, embedding: Any = (1.0, 0.0)) -> Any:
    documents = [{"id": text, "text": text, "embedding": embedding} for text in texts]
    return client.post("/collections/shelf/documents", json.dumps({"documents": documents}), "application/json")


def found(shelf: Collection, word: str) -> list[str]:
    answer = store(shelf.store).lexical(
        collection_ids=[shelf.pk], bm25=Bm25(language="english", k1=1.2, b=0.75), query=word, limit=10
    )
    by_id = Chunk.objects.in_bulk([hit.chunk_id for hit in answer.hits])
    return [by_id[hit.chunk_id].external_id for hit in answer.hits]


def test_what_failed_leaves_no_words_to_the_next(client: Client, shelf: Collection, worker: AnalysisWorker) -> None:
    assert add(client, "oolong tea", "green tea").status_code == 201
    for embedding in ([], ["x"], [1.0], [1e39, 0.0], [1e300, 0.0]):
        assert add(client, "lost coffee", "lost milk", embedding=embedding).status_code == 400
        assert add(client, "oolong tea", "black tea").status_code == 201
    assert found(shelf, "coffee") == found(shelf, "lost") == []
    assert sorted(found(shelf, "tea")) == ["black tea", "green tea", "oolong tea"]
    assert found(shelf, "black") == ["black tea"]


def test_an_id_given_twice_keeps_the_words_of_the_last(
    client: Client, shelf: Collection, worker: AnalysisWorker
) -> None:
    documents = [{"id": name, "text": text, "embedding": [1.0]} for name, text in zip("aba", "xyz", strict=True)]
    body = json.dumps({"documents": documents})
    assert client.post("/collections/shelf/documents", body, "application/json").status_code == 201
    assert [found(shelf, word) for word in "xyz"] == [[], ["b"], ["a"]]


def test_an_add_outlives_its_helper(client: Client, shelf: Collection, worker: AnalysisWorker) -> None:
    assert add(client, "first").status_code == 201
    killed = pid_of(worker)
    os.kill(killed, signal.SIGKILL)
    for word in ("second", "third"):
        assert add(client, word).status_code == 201
    assert pid_of(worker) != killed
    assert [found(shelf, word) for word in ("first", "second", "third")] == [["first"], ["second"], ["third"]]


def test_what_the_worker_analysed_is_what_is_stored(
    client: Client, shelf: Collection, worker: AnalysisWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert add(client, "first").status_code == 201
    # Whoever does it himself now fails.
    monkeypatch.setattr("stores_app.words.analyse", None)
    monkeypatch.setattr("stores_app.lexical.worker.analyse", None)
    assert add(client, "second", "third").status_code == 201
    assert found(shelf, "third") == ["third"]


def test_a_refused_add_does_not_make_the_default_collection(client: Client) -> None:
    """B8.2"""
    body = {"documents": [{"text": "a", "embedding": ["x"]}]}
    for embedding, status in ((["x"], 400), ([3e38, 3e38], 400), ([0.1] * 16_001, 400), ([1.0], 201)):
        body["documents"][0]["embedding"] = embedding  # type: ignore[assignment]
        answer = client.post("/collections/content_chunks/documents", json.dumps(body), "application/json")
        assert answer.status_code == status
        assert Collection.objects.exists() == (status == 201)
