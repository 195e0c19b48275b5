"""Searches that lack something: the other leg answers, a warning says so, and nothing leaks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from collections_app.models import Collection
from collections_app.services import create_collection
from core_app.errors import Unavailable
from core_app.wiring import store
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app import legs
from search_app.results import SearchResult
from search_app.services import hybrid_search_enabled, search

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    made = create_collection(name="c")
    texts = ["The quick brown fox.", "A lazy dog sleeps.", "Foxes hunt at night."]
    sources = [Source(name=f"s{n}", content=text.encode(), is_text=True) for n, text in enumerate(texts)]
    run_job(job_id=submit(collection_name="c", sources=sources).pk, stopping=lambda: False)
    return made


def look(query: str = "fox", **more: Any) -> SearchResult:
    return search(collection_name="c", query=query, **more)


def codes(found: SearchResult) -> list[str]:
    return [warning.code for warning in found.warnings]


def sources(found: SearchResult) -> Sequence[str]:
    return [hit.metadata["source"] for hit in found.hits]


def break_leg(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let one leg fail in the database, so that its transaction is really broken."""

    def broken(**_: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    monkeypatch.setattr(store("pgvector"), name, broken)


def test_b3_5_a_failing_word_search_leaves_meaning(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    break_leg(monkeypatch, "lexical")
    found = look()
    assert codes(found) == ["lexical_search_failed"]
    assert len(found.hits) == 3
    record = next(r for r in caplog.records if "lexical_search_failed" in r.getMessage())
    assert record.exc_info, "B7.4: with a stack trace"


def test_b3_5_a_failing_vector_search_leaves_words(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    break_leg(monkeypatch, "dense")
    found = look("fox")
    assert codes(found) == ["dense_search_failed"]
    assert sorted(sources(found)) == ["s0", "s2"]
    assert all(hit.metadata["similarity_score"] is not None for hit in found.hits), "it is still computed"


def test_nfr_001_both_legs_failing_is_500_without_details(
    collection: Collection, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_leg(monkeypatch, "dense")
    break_leg(monkeypatch, "lexical")
    client.raise_request_exception = False
    answer = client.post("/api/rag/collections/c/search", {"query": "fox"}, content_type="application/json")
    assert answer.status_code == 500
    assert answer.json()["code"] == "database_unavailable"
    assert "zero" not in answer.content.decode()


def test_a_fault_that_nobody_foresaw_is_503_where_no_other_way_was_asked_for(
    collection: Collection, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: Any) -> Any:
        raise IndexError("block of 7 postings")

    monkeypatch.setattr(store("pgvector"), "lexical", broken)
    body = {"query": "fox", "legs": "lexical"}
    answer = client.post("/api/rag/collections/c/search", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (503, "search_failed")
    assert "postings" not in answer.content.decode()


def test_b8_5_a_query_that_cannot_be_embedded_is_searched_by_words(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*, text: str, **_: Any) -> Any:
        raise RuntimeError(text)

    monkeypatch.setattr(legs, "embed_query", broken)
    found = look()
    assert codes(found) == ["embedding_failed"]
    assert sorted(sources(found)) == ["s0", "s2"]
    assert {hit.metadata["similarity_score"] for hit in found.hits} == {None}
    found = look(min_score=0.1)
    assert codes(found) == ["embedding_failed", "min_score_ignored"]
    assert sorted(sources(found)) == ["s0", "s2"]


def test_an_embedding_failure_without_hybrid_is_unavailable(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*, text: str, **_: Any) -> Any:
        raise RuntimeError(text)

    monkeypatch.setattr(legs, "embed_query", broken)
    with pytest.raises(Unavailable):
        look(legs="dense")


def test_readme_7_another_model_s_vectors_are_searched_by_words(collection: Collection) -> None:
    generation = collection.generations.get()
    generation.embedding_model = None
    generation.save()
    found = look()
    assert codes(found) == ["no_embedder"]
    assert sorted(sources(found)) == ["s0", "s2"]


def test_b2_2_without_hybrid_meaning_alone_is_searched(
    collection: Collection, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = settings.RAGSITE.search.model_copy(update={"use_hybrid_search": False})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"search": off})
    assert not hybrid_search_enabled()
    break_leg(monkeypatch, "lexical")
    found = look()
    assert codes(found) == []
    assert len(found.hits) == 3


def test_b7_counts_are_logged(collection: Collection, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    found = look()
    done = next(record for record in caplog.records if record.getMessage() == "search done")
    merged = next(record for record in caplog.records if record.getMessage() == "legs merged")
    assert (vars(done)["dense_results"], vars(done)["lexical_results"]) == (3, 2)
    assert (vars(merged)["unique_chunks"], vars(done)["results"]) == (3, len(found.hits))


@pytest.mark.parametrize("query", ["", "  \n\t"])
def test_b8_1_a_query_of_white_space_finds_nothing(collection: Collection, query: str) -> None:
    assert look(query).hits == []


def test_a_query_of_stop_words_and_signs_is_searched_by_meaning(collection: Collection) -> None:
    assert len(look("the ?! §").hits) == 3


@pytest.mark.parametrize(
    ("asked", "mode", "fusion", "codes"),
    [
        ({}, "balanced", "calibrated", []),
        ({"mode": "fast"}, "fast", "rrf", []),
        ({"mode": "balanced", "fusion": "rrf"}, "balanced", "rrf", []),
        ({"mode": "fast", "fusion": "calibrated"}, "fast", "calibrated", []),
        ({"mode": "thorough"}, "thorough", "calibrated", ["no_reranker"]),
    ],
)
def test_c_req_001_a_mode_says_how_the_legs_are_merged(
    collection: Collection, client: Client, asked: dict[str, str], mode: str, fusion: str, codes: list[str]
) -> None:
    """README 8: the request's fusion comes before the mode's; without a reranker thorough says so."""
    answer = client.post("/api/rag/collections/c/search", {"query": "fox", **asked}, content_type="application/json")
    assert answer.status_code == 200
    found = answer.json()
    assert (found["mode"], found["fusion"], found["count"], found["reranker"]) == (mode, fusion, 3, "none")
    assert [warning["code"] for warning in found["warnings"]] == codes


@pytest.mark.parametrize("asked", [{"mode": "slow"}, {"fusion": 1}, {"mode": None}])
def test_unknown_modes_are_400(collection: Collection, client: Client, asked: dict[str, Any]) -> None:
    answer = client.post("/api/rag/collections/c/search", {"query": "fox", **asked}, content_type="application/json")
    assert answer.status_code == 400
