"""Collections that another system searches: the same answers as here, whatever was sent there already."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from collections_app.changing import change_chunk
from collections_app.cloning import clone_collection
from collections_app.disabling import set_disabled
from collections_app.models import Chunk, Collection
from collections_app.removing import delete_chunks
from collections_app.services import create_collection
from connections_app.opening import close_all
from connections_app.providers.sqlite import SqliteProvider
from core_app.errors import FarSideFailed, FarSideSlow, InvalidInput, StoreFailed
from core_app.where import Compare
from ingest_app.emptying import empty_now
from ingest_app.models import Job
from search_app.services import search, search_collections
from stores_app import connected
from stores_app.delivering import deliver_due
from stores_app.models import Outgoing, Placement
from tests.integration.ingest.filling import ingest
from tests.integration.stores.placing import (
    DIMENSION,
    assert_same,
    connect,
    deliver_all,
    differences,
    filled,
    move,
    near,
    placement_of,
    put,
    store_of,
)

pytestmark = pytest.mark.django_db
JSON = "application/json"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What was opened_store for rows that are gone after the test."""
    yield
    close_all()


@pytest.fixture
def there(settings: Any, tmp_path: Path) -> None:
    connect(settings, tmp_path, "one", "two")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the collections that the other system was asked about."""
    names: list[str] = []
    before = SqliteProvider.nearest

    def note(self: SqliteProvider, **given: Any) -> Any:
        names.append(given["name"])
        return before(self, **given)

    monkeypatch.setattr(SqliteProvider, "nearest", note)
    return names


def test_a_moved_collection_answers_as_before(there: None, asked: list[str]) -> None:
    filled()
    job = move("c", "one", name_there="copy")
    assert (job.state, job.result and job.result["chunks"]) == (Job.State.SUCCEEDED, 40)
    assert_same()
    assert_same(where=Compare("n", "$eq", 1))
    assert set(asked) == {"copy"}
    assert differences("c") == 0


def test_words_and_meaning_are_merged_as_before(there: None, asked: list[str]) -> None:
    """Hybrid everywhere: words are searched here."""
    create_collection(name="c")
    ingest("c", "The quick brown fox.", "A lazy dog sleeps.", "Foxes and dogs.")
    before = search(collection_name="c", query="quick fox", explain=True)
    move("c", "one")
    after = search(collection_name="c", query="quick fox", explain=True)
    assert [hit.id for hit in after.hits] == [hit.id for hit in before.hits]
    assert [hit.score for hit in after.hits] == pytest.approx([hit.score for hit in before.hits])
    assert after.explanation is not None
    assert after.explanation.ways["meaning in c"] == "asked 'one'"
    assert not after.warnings
    assert asked


def test_what_changes_is_found_at_once_and_sent_later(there: None, asked: list[str]) -> None:
    filled()
    move("c", "one")
    put("c", "new", "3")
    delete_chunks(collection_name="c", ids=["5", "6"])
    change_chunk(collection_name="c", external_id="7", metadata={"id": "other"})
    set_disabled(collection_name="c", external_id="8", disabled=True)
    assert_same(top_k=50)
    assert_same(top_k=50, where=Compare("id", "$eq", "other"))
    assert Outgoing.objects.count() >= 6
    deliver_all("c")
    assert not Outgoing.objects.exists()
    assert differences("c") == 0
    assert_same(top_k=50)
    set_disabled(collection_name="c", external_id="8", disabled=False)
    deliver_all("c")
    assert differences("c") == 0


def test_an_emptied_collection_is_empty_there_and_takes_another_dimension(there: None) -> None:
    made = filled()
    move("c", "one")
    put("c", "before")
    empty_now(collection_id=made.pk)
    assert not near([1] * DIMENSION)
    put("c", "after", dimension=3)
    assert [one.id for one in near([1, 0, 0])] == ["after"]
    deliver_all("c")
    assert differences("c") == 0
    assert [one.id for one in near([1, 0, 0])] == ["after"]


def test_any_walk_of_changes_ends_with_the_same_there(there: None) -> None:
    """Adds, deletes, edits, disabling and emptying in any order, sent at any time."""
    made = filled(count=12)
    move("c", "one")
    chance = random.Random(11)
    for _ in range(120):
        ids = list(Chunk.objects.filter(collection=made).values_list("external_id", flat=True)) or ["0"]
        some = chance.sample(ids, min(len(ids), 2))
        steps: list[Callable[[], object]] = [
            lambda: put("c", *{f"{chance.randrange(20)}" for _ in range(3)}),
            partial(delete_chunks, collection_name="c", ids=some),
            partial(_if_there, change_chunk, some[0], metadata={"n": chance.randrange(9)}),
            partial(_if_there, set_disabled, some[0], disabled=chance.random() < 0.6),
            lambda: chance.random() < 0.1 and empty_now(collection_id=made.pk),
            deliver_due,
        ]
        chance.choice(steps)()
        if Collection.objects.get(pk=made.pk).active_generation_id is not None:
            assert_same(top_k=30)
    deliver_all("c")
    assert differences("c") == 0


def _if_there(change: Any, external_id: str, **more: Any) -> None:
    if Chunk.objects.filter(external_id=external_id).exists():
        change(collection_name="c", external_id=external_id, **more)


def test_a_collection_that_lags_far_behind_is_searched_here(
    there: None, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    filled()
    move("c", "one")
    monkeypatch.setattr(connected, "MOST_STALE", 3)
    put("c", "a", "b", "c", "d")
    assert_same(top_k=50)
    assert not asked


def test_a_chunk_that_is_refused_there_is_found_here(there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    filled()
    move("c", "one")
    before = SqliteProvider.add

    def picky(self: SqliteProvider, *, name: str, chunks: Any) -> None:
        if any("bad" in chunk.id for chunk in chunks):
            raise InvalidInput("Not this one.")
        before(self, name=name, chunks=chunks)

    monkeypatch.setattr(SqliteProvider, "add", picky)
    put("c", *(f"good{number}" for number in range(5)), "bad", *(f"fine{number}" for number in range(5)))
    deliver_all("c")
    assert list(Outgoing.objects.values_list("external_id", "refused")) == [("bad", "Not this one.")]
    assert_same(top_k=60)
    monkeypatch.setattr(SqliteProvider, "add", before)
    put("c", "bad")
    deliver_all("c")
    assert not Outgoing.objects.exists()
    assert differences("c") == 0


def test_a_chunk_that_changes_often_waits_once(there: None) -> None:
    filled()
    move("c", "one")
    keys = []
    for number in range(5):
        change_chunk(collection_name="c", external_id="7", metadata={"n": number})
        keys.append(Outgoing.objects.get(external_id="7").pk)
    assert sorted(set(keys)) == keys, "whoever sends an older state leaves the newer one waiting"


def test_a_search_says_that_its_store_failed(
    there: None, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """README 5: 500 with a generic sentence; with words, or beside others, a warning."""
    create_collection(name="c")
    ingest("c", "The quick brown fox.")
    create_collection(name="other")
    ingest("other", "A lazy dog sleeps.")
    move("c", "one")

    def broken(self: SqliteProvider, **_: Any) -> None:
        raise FarSideSlow("At /secret/path it took too long.")

    monkeypatch.setattr(SqliteProvider, "nearest", broken)
    with pytest.raises(StoreFailed):
        search(collection_name="c", query="fox", legs="dense")
    answer = client.post("/api/rag/collections/c/search", {"query": "fox", "legs": "dense"}, JSON)
    assert (answer.status_code, answer.json()["code"]) == (500, "store_failed")
    assert "secret" not in answer.content.decode()
    found = search(collection_name="c", query="fox")
    assert [warning.code for warning in found.warnings] == ["dense_search_failed"]
    assert found.hits
    both = search_collections(collection_names=["c", "other"], query="lazy", legs="dense")
    assert {hit.collection for hit in both.hits} == {"other"}
    assert "dense_search_failed" in [warning.code for warning in both.warnings]


def test_changes_wait_for_a_store_that_is_away(there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    filled()
    move("c", "one")

    def away(self: SqliteProvider, **_: Any) -> None:
        raise FarSideFailed("It is away.")

    put("c", "new")
    with monkeypatch.context() as broken:
        broken.setattr(SqliteProvider, "add", away)
        deliver_due()
    placement = placement_of("c")
    assert (placement.problem, placement.failures) == ("It is away.", 1)
    deliver_due()
    assert Outgoing.objects.exists(), "it is not tried again before its time"
    Placement.objects.update(next_try_at=None)
    deliver_due()
    placement.refresh_from_db()
    assert (placement.problem, placement.failures) == ("", 0)
    assert not Outgoing.objects.exists()


def test_a_copy_is_searched_here(there: None) -> None:
    filled()
    move("c", "one")
    clone_collection(name="c", new_name="copy")
    assert store_of("copy") == "pgvector"
    assert len(near([1] * DIMENSION, name="copy", top_k=60)) == 40
