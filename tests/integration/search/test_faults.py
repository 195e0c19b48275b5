"""A fault of either leg, the embedder or the index, over HTTP by each door: results and a warning, never a 500."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client

from collections_app.models import Chunk
from core_app.errors import Unavailable
from core_app.wiring import store
from search_app import facets, legs
from stores_app import hnsw
from stores_app.models import PostingBlock, Segment
from tests.integration.search.asked import JSON, break_call, filled, post

pytestmark = pytest.mark.django_db

TEXTS = {"a": "The quick brown fox.", "b": "A lazy dog sleeps.", "c": "Foxes hunt at night."}
#: What words alone find for the query, and meaning alone.
BY_WORDS, BY_MEANING = {"a", "c"}, {*TEXTS}

Patch = pytest.MonkeyPatch
#: By its door the sources and the codes of warnings of an answer.
Door = Callable[[Client], tuple[set[str], list[str]]]


@pytest.fixture(autouse=True)
def _collections(db: None) -> None:
    filled("c", TEXTS)
    filled("d", {f"{name}2": text for name, text in TEXTS.items()})


def one(client: Client) -> tuple[set[str], list[str]]:
    found = post(client, "fox")
    return {hit["metadata"]["source"] for hit in found["results"]}, codes(found)


def several(client: Client) -> tuple[set[str], list[str]]:
    answer = client.post("/api/rag/search", {"query": "fox", "collections": ["c", "d"], "top_k": 6}, JSON)
    assert answer.status_code == 200, answer.content
    found = answer.json()
    sources = {hit["metadata"]["source"] for hit in found["results"]}
    assert {name for name in sources if len(name) == 1} == {name[0] for name in sources if len(name) == 2}
    return {name[0] for name in sources}, codes(found)


def in_short(client: Client) -> tuple[set[str], list[str]]:
    answer = client.get("/knowledge/c/search", {"q": "fox"})
    assert answer.status_code == 200, answer.content
    found = answer.json()
    return {hit["source"] for hit in found["results"]}, codes(found)


def codes(found: Mapping[str, Any]) -> list[str]:
    assert all(warning["detail"].endswith(".") for warning in found["warnings"])
    return [warning["code"] for warning in found["warnings"]]


def raising(error: Exception) -> Callable[..., Any]:
    def broken(*_: Any, **__: Any) -> Any:
        raise error

    return broken


def sql(*statements: str) -> None:
    with connection.cursor() as cursor:
        for text in statements:
            cursor.execute(text)


def lexical_in_the_database(patch: Patch) -> None:
    break_call(patch, "lexical")


def lexical_in_python(patch: Patch) -> None:
    patch.setattr(store("pgvector"), "lexical", raising(IndexError("out of range")))


def lexical_changed_meanwhile(patch: Patch) -> None:
    patch.setattr(store("pgvector"), "lexical", raising(Unavailable("changed", code="index_changed")))


def words_are_gone(_: Patch) -> None:
    sql("ALTER TABLE stores_segment RENAME TO elsewhere")


def postings_are_garbage(_: Patch) -> None:
    PostingBlock.objects.update(data=b"\x07garbage\xff\xff")


def segments_are_smaller_than_their_postings(_: Patch) -> None:
    Segment.objects.update(size=0)


def dense_in_the_database(patch: Patch) -> None:
    break_call(patch, "dense")


def dense_in_python(patch: Patch) -> None:
    patch.setattr(store("pgvector"), "dense", raising(ValueError("no such thing")))


def the_vector_index_cannot_be_asked_for(patch: Patch) -> None:
    patch.setattr(hnsw, "made_ready", lambda *_, **__: sql("SELECT 1 / 0"))


def vectors_are_gone(_: Patch) -> None:
    sql("ALTER TABLE stores_vector RENAME TO elsewhere")


def embedder_raises(patch: Patch) -> None:
    patch.setattr(legs, "embed_query", raising(RuntimeError("no model")))


def embedder_is_late(patch: Patch) -> None:
    patch.setattr(legs, "embed_query", raising(TimeoutError("no answer")))


def embedder_gives_another_length(patch: Patch) -> None:
    patch.setattr(legs, "embed_query", lambda **_: np.ones(3, np.float32))


def embedder_gives_no_numbers(patch: Patch) -> None:
    patch.setattr(legs, "embed_query", lambda **_: np.full(256, np.nan, np.float32))


def similarities_fail(patch: Patch) -> None:
    break_call(patch, "distances")
    # So that there are some that words alone found.
    patch.setattr(store("pgvector"), "dense", raising(ValueError("no such thing")))


FAULTS: list[tuple[Callable[[Patch], None], set[str], list[str]]] = [
    (lexical_in_the_database, BY_MEANING, ["lexical_search_failed"]),
    (lexical_in_python, BY_MEANING, ["lexical_search_failed"]),
    (lexical_changed_meanwhile, BY_MEANING, ["lexical_search_failed"]),
    (words_are_gone, BY_MEANING, ["lexical_search_failed"]),
    (postings_are_garbage, BY_MEANING, ["lexical_search_failed"]),
    (segments_are_smaller_than_their_postings, BY_MEANING, ["lexical_search_failed"]),
    (dense_in_the_database, BY_WORDS, ["dense_search_failed"]),
    (dense_in_python, BY_WORDS, ["dense_search_failed"]),
    (the_vector_index_cannot_be_asked_for, BY_WORDS, ["dense_search_failed"]),
    (vectors_are_gone, BY_WORDS, ["dense_search_failed", "similarity_failed"]),
    (embedder_raises, BY_WORDS, ["embedding_failed"]),
    (embedder_is_late, BY_WORDS, ["embedding_failed"]),
    (embedder_gives_another_length, BY_WORDS, ["dense_search_failed", "similarity_failed"]),
    (embedder_gives_no_numbers, BY_WORDS, ["dense_search_failed", "similarity_failed"]),
    (similarities_fail, BY_WORDS, ["dense_search_failed", "similarity_failed"]),
]


@pytest.mark.parametrize("door", [one, several, in_short], ids=lambda door: str(door.__name__))
def test_without_a_fault_there_is_no_warning(client: Client, door: Door) -> None:
    assert door(client) == (BY_MEANING, [])


@pytest.mark.parametrize("door", [one, several, in_short], ids=lambda door: str(door.__name__))
@pytest.mark.parametrize(("fault", "sources", "warned"), FAULTS, ids=[fault[0].__name__ for fault in FAULTS])
def test_b3_5_b8_5_a_fault_leaves_the_other_results_and_a_warning(
    client: Client,
    monkeypatch: Patch,
    caplog: pytest.LogCaptureFixture,
    fault: Callable[[Patch], None],
    sources: set[str],
    warned: list[str],
    door: Door,
) -> None:
    """B7.4: and the log has the trace."""
    fault(monkeypatch)
    with caplog.at_level(logging.ERROR):
        assert door(client) == (sources, warned)
    assert [record for record in caplog.records if record.exc_info]


def test_an_index_that_was_not_finished_is_not_used(client: Client, monkeypatch: Patch) -> None:
    """As a build leaves it that is killed: vectors are compared one by one, and there is nothing to warn of."""
    unfinished = hnsw.VectorIndex(generation_id=1, watermark=10, rows=3, is_valid=False)
    monkeypatch.setattr(hnsw, "catalogued", lambda *_: [unfinished])
    assert one(client) == (BY_MEANING, [])


def test_a_fault_in_one_of_several_collections_leaves_the_others_meaning(client: Client, monkeypatch: Patch) -> None:
    original = store("pgvector").dense
    spared = Chunk.objects.filter(collection__name="d").values_list("collection_id", flat=True)[0]

    def broken(**asked: Any) -> Any:
        if asked["space"].collection_id != spared:
            sql("SELECT 1 / 0")
        return original(**asked)

    monkeypatch.setattr(store("pgvector"), "dense", broken)
    asked = {"query": "fox", "collections": ["c", "d"], "top_k": 6}
    found = client.post("/api/rag/search", asked, JSON).json()
    assert codes(found) == ["dense_search_failed"]
    assert {hit["metadata"]["source"] for hit in found["results"]} == {"a", "c", "a2", "b2", "c2"}


@pytest.mark.parametrize(
    ("option", "call", "code"),
    [("highlight", "marks", "highlight_failed"), ("explain", "term_shares", "explanation_failed")],
)
def test_what_was_asked_for_beside_the_results_may_fail(
    client: Client, monkeypatch: Patch, option: str, call: str, code: str
) -> None:
    break_call(monkeypatch, call)
    asked: dict[str, Any] = {option: True}
    found = post(client, "fox", **asked)
    assert (found["count"], codes(found)) == (3, [code])
    assert "highlights" not in found["results"][0]


def test_so_may_values_that_are_counted_and_what_makes_results_differ(client: Client, monkeypatch: Patch) -> None:
    monkeypatch.setattr(facets, "count_values", lambda **_: sql("SELECT 1 / 0"))
    break_call(monkeypatch, "vectors")
    found = post(client, "fox", facets=["kind"], diversity=0.5)
    assert (found["count"], codes(found)) == (3, ["diversity_failed", "facets_failed"])


@pytest.mark.parametrize("fault", [embedder_raises, dense_in_the_database, vectors_are_gone])
def test_readme_5_meaning_alone_has_no_other_leg_and_nothing_leaks(
    client: Client, monkeypatch: Patch, fault: Callable[[Patch], None]
) -> None:
    """FR-009, NFR-001"""
    client.raise_request_exception = False
    fault(monkeypatch)
    status, code = (503, "embedder_unavailable") if fault is embedder_raises else (500, "database_unavailable")
    answer = post(client, "fox", legs="dense", status=status)
    assert answer["code"] == code
    assert not [part for part in ("zero", "stores_vector", "no model") if part in str(answer)]
