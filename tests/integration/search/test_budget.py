"""C-REQ-001: what a mode has no time for is cut where there are results without it, and this is said.

Nothing here measures time: what must not be waited for would wait until the test lets it go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.db import ProgrammingError, connection
from django.test import Client

from collections_app.models import Collection
from core_app.errors import Unavailable
from core_app.snapshot import guarded, limit_statements, snapshot
from core_app.where import Compare
from core_app.wiring import store
from inference_app.services import embed_query
from search_app import legs
from search_app.clock import Clock
from search_app.modes import MODES
from search_app.services import search_collections
from search_app.showing import chosen
from tests.integration.search.asked import JSON, break_call, codes, filled, look, sources

pytestmark = pytest.mark.django_db

TEXTS = {
    "a": "The quick brown fox.",
    "b": "A lazy dog sleeps.",
    "c": "Foxes hunt at night.",
    "d": "A fox is no dog.",
}


@pytest.fixture
def collection(db: None) -> Collection:
    return filled("c", TEXTS)


@pytest.fixture
def cutting(settings: Any) -> None:
    section = settings.RAGSITE.search.model_copy(update={"cut_at_budget": True})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"search": section})


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """An embedder that answers when it is let go."""
    go = threading.Event()
    vector = np.ones(256, np.float32)

    def embed(*, text: str, **_: Any) -> Any:
        assert go.wait(60)
        return vector

    monkeypatch.setattr(legs, "embed_query", embed)
    yield go
    go.set()


@pytest.fixture
def sleeping(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The search by meaning never ends by itself within a mode's time; how often it was begun."""
    calls: list[int] = []
    always_left(monkeypatch, 1.0)

    def slow(**_: Any) -> Any:
        calls.append(1)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(25)")

    monkeypatch.setattr(store("pgvector"), "dense", slow)
    return calls


def always_left(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """However long anything took, which no slow machine changes."""
    monkeypatch.setattr(Clock, "seconds_left", property(lambda _: seconds))


def run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    always_left(monkeypatch, 0.0)


class TestEmbedding:
    def test_words_answer_when_embedding_takes_too_long(
        self, collection: Collection, cutting: None, waiting: threading.Event
    ) -> None:
        found = look("fox", mode="fast", top_k=2)
        assert codes(found) == ["embedding_cut"]
        assert {*sources(found)} <= {"a", "c", "d"}
        assert len(found.hits) == 2
        assert {hit.metadata["similarity_score"] for hit in found.hits} == {None}
        assert found.fusion == "rrf"
        assert not waiting.is_set()

    @pytest.mark.parametrize(
        "asked",
        [{"top_k": 4}, {"top_k": 2, "min_score": 0.0}, {"top_k": 2, "legs": "dense"}, {"top_k": 2, "patient": True}],
        ids=str,
    )
    def test_it_is_waited_for_where_words_could_not_take_its_place(
        self, collection: Collection, cutting: None, waiting: threading.Event, asked: dict[str, Any]
    ) -> None:
        """Too few were found by words, similarities are needed, words were not looked for, or there is time."""
        let_go_once_waited_for(waiting)
        found = look("fox", mode="fast", **asked)
        assert codes(found) == []
        assert {hit.metadata["similarity_score"] is None for hit in found.hits} == {False}

    def test_it_is_waited_for_where_nothing_is_to_be_cut(
        self, collection: Collection, waiting: threading.Event
    ) -> None:
        let_go_once_waited_for(waiting)
        assert codes(look("fox", mode="fast", top_k=2)) == []

    def test_what_is_embedded_in_time_is_used(
        self, collection: Collection, cutting: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        always_left(monkeypatch, 60)
        found = look("fox", mode="thorough", top_k=2)
        assert codes(found) == ["no_reranker"]
        assert found.fusion == "calibrated"

    @pytest.mark.parametrize("cut", [True, False])
    def test_b8_5_an_embedder_that_is_out_of_time_itself_has_failed(
        self, collection: Collection, settings: Any, monkeypatch: pytest.MonkeyPatch, cut: bool
    ) -> None:
        """A TimeoutError of its own, from a service that embeds, is no budget's end."""
        section = settings.RAGSITE.search.model_copy(update={"cut_at_budget": cut})
        settings.RAGSITE = settings.RAGSITE.model_copy(update={"search": section})

        def late(*, text: str, **_: Any) -> Any:
            raise TimeoutError("the service did not answer")

        monkeypatch.setattr(legs, "embed_query", late)
        always_left(monkeypatch, 60)
        assert codes(look("fox", mode="thorough", top_k=2))[0] == "embedding_failed"
        with pytest.raises(Unavailable):
            look("fox", legs="dense")


def let_go_once_waited_for(go: threading.Event) -> None:
    """Long after the time of the fast mode is over."""
    threading.Timer(2 * MODES["fast"].budget_ms / 1000, go.set).start()


class TestMeaning:
    def test_words_answer_when_the_search_by_meaning_takes_too_long(
        self, collection: Collection, cutting: None, sleeping: list[int]
    ) -> None:
        found = look("fox", mode="balanced", top_k=2)
        assert codes(found) == ["dense_search_cut"]
        assert {*sources(found)} <= {"a", "c", "d"}
        assert len(found.hits) == 2
        assert sleeping == [1]
        assert all(hit.metadata["similarity_score"] is not None for hit in found.hits), (
            "of what words found it is known"
        )

    def test_similarities_may_take_the_mode_s_time_once_more(
        self, collection: Collection, cutting: None, sleeping: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left: list[str] = []
        original = store("pgvector").distances

        def seen(**arguments: Any) -> Any:
            left.append(timeout())
            return original(**arguments)

        monkeypatch.setattr(store("pgvector"), "distances", seen)
        look("fox", mode="fast", top_k=2)
        assert left == ["200ms"]

    def test_passages_have_all_the_time_where_nothing_was_compared(
        self, collection: Collection, cutting: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        always_left(monkeypatch, 0.3)
        bounded = watch_bounds(monkeypatch)
        left: list[str] = []

        def seen(**arguments: Any) -> Any:
            left.append(timeout())
            return chosen(**arguments)

        monkeypatch.setattr("search_app.services.chosen", seen)
        found = look("fox", mode="fast", top_k=2)
        assert (codes(found), bounded, left) == ([], [0.3], ["30s"])

    def test_it_is_not_begun_when_the_time_is_over(
        self, collection: Collection, cutting: None, sleeping: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run_out(monkeypatch)
        monkeypatch.setattr(legs, "_finished", lambda future, *_: future.result())
        found = look("fox", top_k=2)
        assert codes(found) == ["dense_search_cut"]
        assert sleeping == []
        assert len(found.hits) == 2

    @pytest.mark.parametrize("asked", [{"top_k": 4}, {"top_k": 2, "min_score": 0.0}, {"top_k": 2, "legs": "dense"}])
    def test_it_is_never_cut_where_words_could_not_take_its_place(
        self, collection: Collection, cutting: None, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
    ) -> None:
        bounded = watch_bounds(monkeypatch)
        run_out(monkeypatch)
        found = look("fox", **asked)
        assert codes(found) == []
        assert bounded == []

    def test_it_is_never_cut_where_the_setting_is_off(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bounded = watch_bounds(monkeypatch)
        assert codes(look("fox", mode="fast", top_k=2)) == []
        assert bounded == []

    def test_b3_5_a_failure_is_not_a_cut(
        self, collection: Collection, cutting: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        always_left(monkeypatch, 60)
        break_call(monkeypatch, "dense")
        assert codes(look("fox", mode="thorough", top_k=2))[0] == "dense_search_failed"

    def test_a_cut_with_a_filter_does_not_blame_the_filter(
        self, collection: Collection, cutting: None, sleeping: list[int]
    ) -> None:
        found = look("fox", mode="fast", top_k=2, where=Compare("source", "$ne", "b"))
        assert codes(found) == ["dense_search_cut"]

    def test_what_was_found_in_time_in_one_of_several_collections_is_kept(
        self, collection: Collection, cutting: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        filled("d", {"x": "Nothing of the kind.", "y": "Nor here."})
        filled("e", {"z": "Neither."})
        looked: list[int] = []
        original = store("pgvector").dense

        def seen(**asked: Any) -> Any:
            looked.append(asked["space"].collection_id)
            run_out(monkeypatch)
            return original(**asked)

        always_left(monkeypatch, 60)
        monkeypatch.setattr(store("pgvector"), "dense", seen)
        found = search_collections(collection_names=["c", "d", "e"], query="fox", top_k=3)
        assert codes(found) == ["dense_search_cut"]
        assert looked == [collection.pk]
        assert {*sources(found)} == {"a", "c", "d"}
        assert all(hit.metadata["similarity_score"] is not None for hit in found.hits)


@pytest.mark.parametrize("path", ["/api/rag/collections/c/search", "/api/rag/search", "/knowledge/c/search"])
def test_c_req_001_what_was_cut_is_told_at_every_door(
    collection: Collection, cutting: None, client: Client, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    run_out(monkeypatch)
    # However fast a thread was: nothing is embedded in no time.
    monkeypatch.setattr(legs, "wait", lambda *_, **__: SimpleNamespace(done=set()))
    if path.startswith("/knowledge"):
        answer = client.get(f"{path}?q=fox&limit=2&thoroughness=fast")
    else:
        several = {} if "collections" in path else {"collections": ["c"]}
        answer = client.post(path, {"query": "fox", "top_k": 2, "mode": "fast", **several}, JSON)
    assert answer.status_code == 200
    assert len(answer.json()["results"]) == 2
    assert [warning["code"] for warning in answer.json()["warnings"]] == ["embedding_cut"]


def watch_bounds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the search by meaning is given, where it is given less than the setting's."""
    found: list[float] = []
    original = legs._nearest

    def watched(*given: Any) -> Any:
        if given[-1] is not None:
            found.append(given[-1])
        return original(*given)

    monkeypatch.setattr(legs, "_nearest", watched)
    return found


def timeout() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return str(cursor.fetchone()[0])


def test_results_are_not_made_to_differ_when_the_time_is_over(
    collection: Collection, cutting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = look("fox", top_k=4)
    run_out(monkeypatch)
    found = look("fox", top_k=4, diversity=0.9)
    assert codes(found) == ["diversity_cut"]
    assert sources(found) == sources(plain)


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.0, "1ms"), (0.0004, "1ms"), (0.25, "250ms"), (2, "2s"), (None, "0")]
)
def test_no_time_at_all_does_not_mean_all_the_time(seconds: float | None, expected: str) -> None:
    """To Postgres 0 is no bound."""
    with snapshot():
        limit_statements(seconds)
        assert timeout() == expected


def test_embedding_runs_beside_the_search_by_words(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are looked for while the query is embedded, not afterwards."""
    looked = threading.Event()
    original: Callable[..., Any] = store("pgvector").lexical
    embed = embed_query

    def lexical(**arguments: Any) -> Any:
        looked.set()
        return original(**arguments)

    def embed_afterwards(*, text: str, **_: Any) -> Any:
        assert looked.wait(60)
        return embed(text=text)

    monkeypatch.setattr(store("pgvector"), "lexical", lexical)
    monkeypatch.setattr(legs, "embed_query", embed_afterwards)
    assert codes(look("fox")) == []


@pytest.mark.django_db(transaction=True)
def test_b3_5_what_fails_is_taken_back_with_its_bound() -> None:
    with snapshot():
        with pytest.raises(ProgrammingError), guarded(seconds=0.2), connection.cursor() as cursor:
            cursor.execute("SELECT * FROM there_is_no_such_table")
        assert timeout() == "30s", "of the snapshot"
        with guarded():
            pass
        with pytest.raises(ZeroDivisionError), guarded(seconds=0.2):
            _ = 1 / 0
        assert timeout() == "30s"
