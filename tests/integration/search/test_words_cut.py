"""C-REQ-001: words that take too long are given up where meaning can take their place, and so are counted values."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from collections_app.models import Collection
from core_app.errors import Unavailable
from core_app.ports import QueryEngine
from core_app.snapshot import snapshot
from core_app.wiring import store
from inference_app.hashing import HashingEmbedder
from search_app import legs
from search_app.clock import Clock
from search_app.findings import Findings
from search_app.services import search_collections
from tests.integration.search.asked import break_call, codes, filled, look, sources

pytestmark = pytest.mark.django_db

TEXTS = {"a": "The quick brown fox.", "b": "A lazy dog sleeps.", "c": "Foxes hunt at night.", "d": "A fox is no dog."}


@pytest.fixture
def collection(db: None, settings: Any) -> Collection:
    section = settings.RAGSITE.search.model_copy(update={"cut_at_budget": True})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"search": section})
    return filled("c", TEXTS)


@pytest.fixture
def sleeping(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Words are not found within a mode's time when they are first looked for; how often they were."""
    calls: list[int] = []
    original = store("pgvector").lexical

    def slow(**asked: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(25)")
        return original(**asked)

    monkeypatch.setattr(store("pgvector"), "lexical", slow)
    return calls


def no_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what comes after: this machine may be slow."""
    monkeypatch.setattr(Clock, "seconds_left", property(lambda _: 60.0))


@pytest.mark.parametrize("top_k", [2, 4])
def test_meaning_answers_when_the_search_by_words_takes_too_long(
    collection: Collection, sleeping: list[int], monkeypatch: pytest.MonkeyPatch, top_k: int
) -> None:
    no_time_is_over(monkeypatch)
    found = look("fox", mode="fast", top_k=top_k)
    assert (codes(found), sleeping) == (["lexical_search_cut"], [1])
    assert sources(found) == sources(look("fox", mode="fast", top_k=top_k, legs="dense"))


def test_without_meaning_the_words_get_the_time_they_need(
    collection: Collection, sleeping: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*, text: str, **_: Any) -> Any:
        raise RuntimeError("no model")

    monkeypatch.setattr(legs, "embed_query", broken)
    no_time_is_over(monkeypatch)
    found = look("fox", mode="fast", top_k=2)
    assert (codes(found), sleeping) == (["embedding_failed"], [1, 1])
    assert {*sources(found)} <= {"a", "c", "d"}


def test_where_meaning_fails_after_all_the_words_get_the_time_they_need(
    collection: Collection, sleeping: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_call(monkeypatch, "dense")
    no_time_is_over(monkeypatch)
    found = look("fox", mode="fast", top_k=2)
    assert (codes(found), sleeping) == (["dense_search_failed"], [1, 1])
    assert {*sources(found)} <= {"a", "c", "d"}


def test_words_are_not_asked_again_where_there_are_enough_of_them(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One language had enough when another was cut, and so meaning was not asked."""
    filled("d", {"x": "Ein Fox."}, language="german")
    calls: list[str] = []
    original = store("pgvector").lexical

    def slow(**asked: Any) -> Any:
        calls.append(asked["bm25"].language)
        if asked["bm25"].language == "german":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(25)")
        return original(**asked)

    monkeypatch.setattr(store("pgvector"), "lexical", slow)
    monkeypatch.setattr(Clock, "seconds_left", property(lambda _: 0.0))
    monkeypatch.setattr(legs, "_finished", lambda future, *_: future.result())
    found = search_collections(collection_names=["c", "d"], query="fox", mode="fast", top_k=2)
    assert calls == ["english", "german"]
    assert codes(found) == ["lexical_search_cut", "dense_search_cut"]
    assert len(found.hits) == 2


def test_words_are_asked_again_where_meaning_fails_in_one_of_several(
    collection: Collection, sleeping: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = filled("d", {"x": "Another fox here."})
    original = store("pgvector").dense

    def failing(**asked: Any) -> Any:
        if asked["space"].collection_id == other.pk:
            raise ValueError("no such thing")
        return original(**asked)

    monkeypatch.setattr(store("pgvector"), "dense", failing)
    no_time_is_over(monkeypatch)
    found = search_collections(collection_names=["c", "d"], query="fox", mode="fast", top_k=5)
    assert (codes(found), sleeping) == (["dense_search_failed"], [1, 1])
    assert "x" in sources(found)


def test_a_query_that_nobody_waits_for_any_more_is_not_embedded(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    futures: list[Future[Any]] = []

    def cut(given: list[Future[Any]], timeout: float | None) -> Any:
        futures.extend(given)
        return SimpleNamespace(done=set())

    with ThreadPoolExecutor(max_workers=1) as busy:
        go = threading.Event()
        busy.submit(go.wait)
        monkeypatch.setattr(legs, "_embedding", busy)
        monkeypatch.setattr(legs, "wait", cut)
        no_time_is_over(monkeypatch)
        assert codes(look("fox", mode="fast", top_k=2)) == ["embedding_cut"]
        assert futures[0].cancelled()
        go.set()


@pytest.mark.parametrize("asked", [{"patient": True}, {"legs": "lexical"}], ids=str)
def test_words_are_never_cut_where_nothing_takes_their_place(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    bounds: list[float | None] = []
    original = legs._lexical_leg

    def seen(*given: Any, seconds: float | None) -> None:
        bounds.append(seconds)
        original(*given, seconds=seconds)

    monkeypatch.setattr(legs, "_lexical_leg", seen)
    look("fox", mode="fast", top_k=2, **asked)
    look("fox", mode="fast", top_k=2)
    assert bounds == [None, 0.2]


def test_words_that_fail_are_no_cut(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    break_call(monkeypatch, "lexical")
    no_time_is_over(monkeypatch)
    assert codes(look("fox", mode="fast", top_k=2)) == ["lexical_search_failed"]


def test_words_alone_do_not_wait_for_a_model_that_takes_too_long(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would only say how similar they are."""
    go = threading.Event()

    def hanging(*, text: str, **_: Any) -> Any:
        assert go.wait(60)

    monkeypatch.setattr(legs, "embed_query", hanging)
    try:
        for top_k in (1, 4):
            found = look("fox", mode="fast", legs="lexical", top_k=top_k)
            assert codes(found) == ["embedding_cut"]
            assert {hit.metadata["similarity_score"] for hit in found.hits} == {None}
        assert not go.is_set()
    finally:
        go.set()


def test_b3_5_without_similarities_a_threshold_is_not_applied(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*, text: str, **_: Any) -> Any:
        raise RuntimeError("no model")

    no_time_is_over(monkeypatch)
    assert look("fox", min_score=1.0).hits == []
    monkeypatch.setattr(legs, "embed_query", broken)
    found = look("fox", min_score=1.0)
    assert {*sources(found)} == {"a", "c", "d"}
    assert codes(found) == ["embedding_failed", "min_score_ignored"]


def test_what_terms_add_is_left_out_where_it_cannot_be_read_in_time(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(**_: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(25)")

    monkeypatch.setattr(store("pgvector"), "term_shares", slow)
    no_time_is_over(monkeypatch)
    found = look("fox", mode="fast", explain=True, top_k=2)
    assert codes(found) == ["explanation_cut"]
    assert [hit.explanation.terms for hit in found.hits if hit.explanation] == [(), ()]


def test_nobody_waits_for_ever_for_a_model_that_hangs(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def hanging(*, text: str, **_: Any) -> Any:
        assert go.wait(60)

    monkeypatch.setattr(legs, "embed_query", hanging)
    monkeypatch.setattr(legs, "_LONGEST_EMBEDDING_SECONDS", 0.01)
    no_time_is_over(monkeypatch)
    try:
        assert codes(look("fox", top_k=4)) == ["embedding_failed"]
        with pytest.raises(Unavailable):
            look("fox", legs="dense")
        monkeypatch.setattr(HashingEmbedder, "query_engine", QueryEngine(name="torch", is_loading=True))
        (warning,) = look("fox", top_k=4).warnings
        assert warning.detail.startswith("The embedding model is being loaded, which takes some seconds: words alone")
        with pytest.raises(Unavailable, match="is being loaded"):
            look("fox", legs="dense")
        assert not go.is_set()
    finally:
        go.set()


def test_few_wait_long_for_the_model(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that waits holds a connection: others must be left."""
    go = threading.Event()

    def hanging(*, text: str, **_: Any) -> Any:
        assert go.wait(60)

    monkeypatch.setattr(legs, "embed_query", hanging)
    monkeypatch.setattr(legs, "_SHORT_EMBEDDING_SECONDS", 0.01)
    monkeypatch.setattr(legs, "_LONGEST_EMBEDDING_SECONDS", 50)
    no_time_is_over(monkeypatch)
    one = legs._may_wait_long()
    assert one.acquire(blocking=False)
    try:
        assert not one.acquire(blocking=False), "without a pool, one"
        assert codes(look("fox", top_k=4)) == ["embedding_failed"]
        assert not go.is_set()
    finally:
        one.release()
        go.set()
    assert one.acquire(blocking=False)
    one.release()


def test_values_are_not_counted_when_the_time_is_over(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    no_time_is_over(monkeypatch)
    assert [value.count for value in look("fox", top_k=4, facets=["source"]).facets["source"]] == [1, 1, 1, 1]
    monkeypatch.setattr(Clock, "seconds_left", property(lambda _: 0.0))
    found = look("fox", top_k=4, facets=["source"])
    assert "facets_cut" in codes(found)
    assert found.facets == {}


@pytest.mark.django_db(transaction=True)
def test_b3_5_what_fails_within_more_time_leaves_the_bound_of_before() -> None:
    findings = Findings()

    def bound() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return str(cursor.fetchone()[0])

    def broken() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    with snapshot():
        assert findings.attempt("a", "", bound, seconds=0.3) == "300ms"
        assert findings.attempt("b", "", broken) is None
        assert bound() == "300ms"
        findings.end_bound()
        assert bound() == "30s"


def _sleeps(**_: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(25)")


def test_similarities_are_left_out_where_they_take_as_long_again(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store("pgvector"), "distances", _sleeps)
    no_time_is_over(monkeypatch)
    found = look("fox", mode="fast", legs="lexical", top_k=2)
    assert codes(found) == ["similarity_cut"]
    assert {hit.metadata["similarity_score"] for hit in found.hits} == {None}


def test_results_are_not_made_to_differ_where_reading_vectors_takes_too_long(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = sources(look("fox", mode="fast", top_k=4))
    monkeypatch.setattr(store("pgvector"), "vectors", _sleeps)
    monkeypatch.setattr(Clock, "seconds_left", property(lambda _: 0.3))
    found = look("fox", mode="fast", top_k=4, diversity=0.9)
    assert (codes(found), sources(found)) == (["diversity_cut"], plain)
