"""Collections that another system holds alone: searched by meaning, shown as they are there, never written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client

from collections_app.adding import NewChunk, add_chunks
from collections_app.changing import change_chunk
from collections_app.cloning import clone_collection
from collections_app.disabling import set_disabled
from collections_app.models import Chunk
from collections_app.reading import get_chunk, list_chunks, metadata_values
from collections_app.removing import delete_chunks
from collections_app.selectors import get_collection
from collections_app.services import create_collection, delete_collection
from connections_app.opening import close_all, opened_store
from connections_app.services import get_connection
from core_app.errors import Conflict, NotFound, RagsiteError
from core_app.providers import HeldChunk
from core_app.where import Compare
from core_app.wiring import embedder
from ingest_app.move_jobs import HERE, start_move
from ingest_app.services import empty_collection, preview_emptying
from search_app.nearest import nearest
from search_app.services import search, search_collections
from stores_app.attaching import attach_collection
from tests.integration.ingest.filling import ingest
from tests.integration.stores.placing import connect

pytestmark = pytest.mark.django_db
JSON = "application/json"
TEXTS = {"a": "The quick brown fox.", "b": "A lazy dog sleeps.", "c": "Foxes and dogs."}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_all()


@pytest.fixture
def books(settings: Any, tmp_path: Path) -> None:
    """Three texts that another program stored, attached as `mine`."""
    connect(settings, tmp_path, "one")
    vectors = embedder().embed_documents(list(TEXTS.values()))
    with opened_store(get_connection(name="one")) as one:
        one.create_collection(name="books", metadata={}, distance="cosine")
        one.add(
            name="books",
            chunks=[
                HeldChunk(id=key, text=text, metadata={"key": key, "words": len(text.split())}, embedding=vector)
                for (key, text), vector in zip(TEXTS.items(), vectors, strict=True)
            ],
        )
    attach_collection(service="one", name_there="books", name="mine", embedding_model=embedder().model)


def test_it_is_found_by_meaning_and_says_that_words_are_missing(books: None) -> None:
    """B6.5, B8.3: what the store cannot do is said, the rest is done."""
    found = search(collection_name="mine", query="The quick brown fox.", explain=True, facets=["words"])
    assert found.hits[0].id == "a"
    assert found.hits[0].content == TEXTS["a"]
    assert found.hits[0].score == pytest.approx(1.0, abs=1e-5)
    assert found.hits[0].metadata["key"] == "a"
    assert [warning.code for warning in found.warnings] == ["no_words"]
    assert {(one.value, one.count) for one in found.facets["words"]} == {(4, 2), (3, 1)}
    assert found.explanation is not None
    assert found.explanation.ways == {"meaning in mine": "asked 'one'"}
    assert found.hits[0].explanation is not None
    assert found.hits[0].explanation.dense.rank == 1


def test_a_filter_a_threshold_and_diversity_hold(books: None) -> None:
    found = search(collection_name="mine", query="fox", where=Compare("key", "$in", ("b", "c")), diversity=0.5)
    assert sorted(hit.id for hit in found.hits) == ["b", "c"]
    assert not search(collection_name="mine", query="fox", min_score=1.0).hits
    assert len(search(collection_name="mine", query="fox", top_k=2, mode="thorough").hits) == 2
    assert search(collection_name="mine", query="fox", highlight=True).hits[0].highlights


def test_words_alone_find_nothing_and_it_is_said(books: None) -> None:
    found = search(collection_name="mine", query="fox", legs="lexical")
    assert not found.hits
    assert [warning.code for warning in found.warnings] == ["no_words"]


def test_it_is_searched_beside_others(books: None) -> None:
    create_collection(name="here")
    ingest("here", "A fox in a box.", "Nothing at all.")
    found = search_collections(collection_names=["mine", "here"], query="fox", top_k=10)
    assert {hit.collection for hit in found.hits} == {"mine", "here"}
    assert len(found.hits) == 5
    assert "no_words" in [warning.code for warning in found.warnings]


def test_vectors_find_it(books: None, client: Client) -> None:
    query = embedder().embed_query("The quick brown fox.")
    found = nearest(collection_name="mine", queries=[query], top_k=2)[0]
    assert (found[0].id, found[0].text, found[0].metadata["key"]) == ("a", TEXTS["a"], "a")
    answer = client.post("/collections/mine/query", {"query_embedding": query.tolist(), "top_k": 1}, JSON)
    assert answer.json()["results"][0]["id"] == "a"


def test_without_a_model_text_is_not_searched(settings: Any, tmp_path: Path) -> None:
    connect(settings, tmp_path, "one")
    with opened_store(get_connection(name="one")) as one:
        one.create_collection(name="books", metadata={}, distance="l2")
        one.add(name="books", chunks=[HeldChunk(id="a", text="t", metadata={}, embedding=np.ones(3, np.float32))])
    made = attach_collection(service="one", name_there="books", name="mine")
    assert (made.distance, made.active_generation and made.active_generation.dimension) == ("l2", 3)
    found = search(collection_name="mine", query="t")
    assert {warning.code for warning in found.warnings} == {"no_embedder", "no_words"}
    assert [one.id for one in nearest(collection_name="mine", queries=[np.ones(3, np.float32)])[0]] == ["a"]


def test_what_needs_its_documents_is_refused(books: None) -> None:
    """Neither an empty answer for what is elsewhere, nor a write that nobody would find."""
    chunk = NewChunk(external_id="x", text="t", metadata={})
    vector = np.ones((1, embedder().dimension), np.float32)
    calls: list[Callable[[], object]] = [
        lambda: add_chunks(collection_name="mine", chunks=[chunk], embeddings=lambda: vector),
        lambda: change_chunk(collection_name="mine", external_id="a", metadata={"k": 1}),
        lambda: set_disabled(collection_name="mine", external_id="a", disabled=True),
        lambda: delete_chunks(collection_name="mine", ids=["a"]),
        lambda: empty_collection(name="mine"),
        lambda: preview_emptying(name="mine"),
        lambda: list_chunks(collection_name="mine"),
        lambda: get_chunk(collection_name="mine", external_id="a"),
        lambda: metadata_values(collection_name="mine", key="key"),
        lambda: clone_collection(name="mine", new_name="copy"),
        lambda: ingest("mine", "text"),
        lambda: start_move(name="mine", service=HERE),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(Conflict) as caught:
            call()
        assert caught.value.code == "held_elsewhere", number
        assert "'one'" in caught.value.detail
    assert not Chunk.objects.exists()


def test_it_is_deleted_here_alone(books: None) -> None:
    delete_collection(name="mine")
    with pytest.raises(NotFound):
        get_collection(name="mine")
    with opened_store(get_connection(name="one")) as one:
        assert one.get_collection(name="books").count == 3


def test_what_cannot_be_attached_is_refused(books: None) -> None:
    with opened_store(get_connection(name="one")) as one:
        one.create_collection(name="empty", metadata={}, distance="cosine")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"service": "nowhere"}, "connection_not_found"),
        ({"name_there": "nowhere"}, "collection_not_found"),
        ({"name_there": "empty"}, "dimension_unknown"),
        ({"name": "other"}, "taken_there"),
        ({"name": "mine"}, "collection_exists"),
    ]
    for given, code in cases:
        with pytest.raises(RagsiteError) as caught:
            attach_collection(**{"service": "one", "name_there": "books", "name": "new", **given})
        assert caught.value.code == code
    with pytest.raises(NotFound):
        get_collection(name="other")
