"""The word index in the database: what it finds, and that writes leave no trace in its scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_app.errors import InvalidInput
from core_app.ports import Bm25, IndexedChunk
from core_app.sql import statement
from stores_app import compaction, words
from stores_app.lexical.analysis import document_terms
from stores_app.models import PostingBlock, Segment, Vector
from tests.integration.stores.shelf import Shelf, new_shelf
from tests.unit.stores.reference import bm25

pytestmark = pytest.mark.django_db


def segments(shelf: Shelf) -> list[Segment]:
    return list(Segment.objects.filter(collection=shelf.collection).order_by("pk"))


def test_chunks_are_found_by_their_words_best_first(shelf: Shelf) -> None:
    """B1.2, B1.3, B3.2"""
    shelf.add(
        {
            "short": "A database server.",
            "long": "A server of another kind, with much to say about everything else but the database.",
            "none": "Cooking for two.",
        }
    )
    found = shelf.words("databases")
    assert [name for name, _ in found] == ["short", "long"]
    assert found[0][1] > found[1][1] > 0


def test_an_identifier_finds_its_document_and_so_do_its_parts(shelf: Shelf) -> None:
    """C-REQ-002"""
    shelf.add(
        {
            "api": "moduleControllerCreate registers a module.",
            "guide": "Create a module controller; the controller of a module is created once per module.",
            "rest": "Nothing of the kind.",
        }
    )
    assert [name for name, _ in shelf.words("moduleControllerCreate")] == ["api", "guide"]
    assert {name for name, _ in shelf.words("controllers")} == {"api", "guide"}


@pytest.mark.parametrize("query", ["", "   ", "the of and", "?!", "\x00", "absent"])
def test_a_query_without_a_known_word_finds_nothing(shelf: Shelf, query: str) -> None:
    """B8.1"""
    shelf.add({"a": "the text of it"})
    assert shelf.words(query) == []


def test_a_search_takes_three_statements_however_many_words_and_segments(shelf: Shelf) -> None:
    """Where nothing is remembered; see test_remembered.py."""
    for index in range(5):
        shelf.add({f"{index}": f"alpha beta gamma delta {index}"})
    with CaptureQueriesContext(connection) as queries:
        assert len(shelf.words("alpha beta gamma delta")) == 5
    assert len(queries) == 3


def test_one_write_is_one_segment_in_the_order_of_chunk_ids(shelf: Shelf) -> None:
    ids = shelf.add({"a": "one", "b": "two", "c": "three"})
    shelf.add({"d": "four"})
    first, second = segments(shelf)
    assert (first.size, first.live, first.live_length) == (3, 3, 3)
    assert (first.first_chunk_id, first.last_chunk_id) == (ids["a"], ids["c"])
    assert np.frombuffer(first.chunk_ids, "<i8").tolist() == sorted(ids.values())
    assert bytes(first.dead) == b""
    assert second.size == 1


def test_the_weights_of_the_search_are_those_asked_for(shelf: Shelf) -> None:
    shelf.add({"short": "word", "long": "word " + "filler " * 50})
    shelf.bm25 = Bm25(language="english", k1=1.2, b=0.0)
    (_, first), (_, second) = shelf.words("word")
    assert first == second
    shelf.bm25 = Bm25(language="english", k1=1.2, b=1.0)
    (_, first), (_, second) = shelf.words("word")
    assert first > second


def test_ties_go_to_the_smaller_chunk_id_across_segments(shelf: Shelf) -> None:
    names = [f"{index}" for index in range(12)]
    for at in range(0, 12, 3):
        shelf.add(dict.fromkeys(names[at : at + 3], "equal words"))
    assert [name for name, _ in shelf.words("equal", limit=8)] == names[:8]


def test_removed_chunks_are_gone_from_words_vectors_and_statistics(shelf: Shelf) -> None:
    shelf.add({"a": "alpha beta", "b": "alpha beta beta", "c": "gamma"})
    before = dict(shelf.words("beta"))
    shelf.add({"d": "beta " * 30})
    shelf.remove("d")
    assert dict(shelf.words("beta")) == before
    shelf.remove("b")
    assert [name for name, _ in shelf.words("beta")] == ["a"]
    assert {name for name, _ in shelf.nearest([1.0, 0.0])} == {"a", "c"}
    (segment,) = segments(shelf)
    assert (segment.size, segment.live, segment.live_length, segment.length) == (3, 2, 3, 6)
    assert bytes(segment.dead) == b"\x02"


def test_removing_twice_the_unknown_or_nothing_is_harmless(shelf: Shelf) -> None:
    ids = shelf.add({"a": "alpha beta", "b": "alpha"})
    for chunk_ids in ([], [ids["a"]], [ids["a"]], [10**15, -1], [ids["a"], ids["a"]]):
        shelf.store.remove(collection_id=shelf.collection.pk, chunk_ids=chunk_ids)
    assert [name for name, _ in shelf.words("alpha")] == ["b"]
    (segment,) = segments(shelf)
    assert (segment.live, segment.live_length) == (1, 1)


def test_removing_does_not_reach_into_another_collection(shelf: Shelf) -> None:
    other = new_shelf()
    ids = other.add({"theirs": "alpha"})
    shelf.add({"ours": "alpha"})
    shelf.store.remove(collection_id=shelf.collection.pk, chunk_ids=list(ids.values()))
    assert [name for name, _ in other.words("alpha")] == ["theirs"]
    assert [name for name, _ in other.nearest([1.0, 0.0])] == ["theirs"]
    assert [name for name, _ in shelf.words("alpha")] == ["ours"]


def test_a_segment_without_live_chunks_is_dropped_with_its_postings(shelf: Shelf) -> None:
    shelf.add({"a": "alpha", "b": "beta"})
    shelf.add({"c": "alpha"})
    shelf.remove("a", "b")
    assert len(segments(shelf)) == 1
    assert PostingBlock.objects.count() == 1
    assert [name for name, _ in shelf.words("alpha beta")] == ["c"]


def test_adding_nothing_writes_nothing(shelf: Shelf) -> None:
    shelf.index([])
    assert segments(shelf) == []


def test_an_unknown_language_is_refused_and_nothing_is_written(shelf: Shelf) -> None:
    ids = shelf.add({"a": "alpha"})
    chunk = IndexedChunk(chunk_id=ids["a"] + 1, text="beta", embedding=np.array([1, 0], np.float32))
    with pytest.raises(InvalidInput):
        shelf.store.add(space=shelf.space, language="klingon", chunks=[chunk])
    with pytest.raises(InvalidInput):
        shelf.store.lexical(
            collection_ids=[shelf.collection.pk],
            bm25=Bm25(language="klingon", k1=1.2, b=0.75),
            query="alpha",
            limit=1,
        )
    assert len(segments(shelf)) == 1
    assert Vector.objects.filter(generation_id=shelf.space.generation_id).count() == 1


def test_a_database_error_leaves_nothing_behind(shelf: Shelf) -> None:
    """B1.5: the caller hears of it as Django's own error, and its savepoint undoes the rest."""
    ids = shelf.add({"a": "alpha"})
    chunk = IndexedChunk(chunk_id=ids["a"], text="beta", embedding=np.array([1, 0], np.float32))
    with pytest.raises(IntegrityError), transaction.atomic():
        shelf.store.add(space=shelf.space, language="english", chunks=[chunk])
    assert len(segments(shelf)) == 1
    assert shelf.words("beta") == []


def test_any_text_can_be_indexed(shelf: Shelf) -> None:
    shelf.add({"odd": "x\u0301" * 3000 + " \U0001f600 \u6771\u4eac 'quoted' \\ %s %(name)s a.b.c"})
    for query in ("\u6771\u4eac", "quoted", "a.b.c", "%s %(name)s"):
        assert [name for name, _ in shelf.words(query)] == ["odd"]


def test_deleting_a_collection_takes_its_index_along(shelf: Shelf) -> None:
    shelf.add({"a": "alpha"})
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM collections_collection WHERE id = %s", [shelf.collection.pk])
    assert segments(shelf) == []
    assert not PostingBlock.objects.exists()


def test_small_segments_are_merged_and_no_result_changes(shelf: Shelf) -> None:
    for index in range(17):
        shelf.add({f"{index}": f"alpha{index % 3} beta " + "gamma " * index})
    shelf.remove("4", "16")
    queries = ["alpha1", "beta gamma", "alpha2 gamma"]
    before = [shelf.words(query, limit=20) for query in queries]
    assert shelf.compact() == 8
    assert [shelf.words(query, limit=20) for query in queries] == before
    merged = segments(shelf)[-1]
    assert (merged.size, merged.live, bytes(merged.dead)) == (8, 8, b"")
    assert len(segments(shelf)) == 8
    assert shelf.compact() == 0


def test_a_call_ends_early_so_that_other_writers_get_their_turn(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_CHUNKS_AT_ONCE", 1)
    for index in range(64):
        shelf.add({f"{index}": "alpha"})
    assert [shelf.compact() for _ in range(10)] == [8] * 9 + [0]
    assert len(segments(shelf)) == 1
    assert len(shelf.words("alpha", limit=100)) == 64


def test_a_mostly_deleted_segment_is_written_anew(shelf: Shelf) -> None:
    shelf.add({f"{index}": f"word{index} shared" for index in range(10)})
    shelf.remove("0", "1", "2")
    assert shelf.compact() == 0
    shelf.remove("3")
    before = shelf.words("shared word7")
    assert shelf.compact() == 1
    assert shelf.words("shared word7") == before
    (block,) = PostingBlock.objects.all()
    assert b"word4" in bytes(block.data)
    assert b"word3" not in bytes(block.data)


def test_merging_leaves_other_collections_alone(shelf: Shelf) -> None:
    other = new_shelf()
    for index in range(8):
        other.add({f"{index}": "alpha"})
        shelf.add({f"{index}": "alpha"})
    assert shelf.compact() == 8
    assert len(segments(other)) == 8
    assert len(other.words("alpha")) == 8


TEXTS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), max_size=6).map(" ".join)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(TEXTS, min_size=1, max_size=4)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 30), max_size=6)),
        st.tuples(st.just("compact"), st.none()),
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES, query=TEXTS.filter(bool), limit=st.integers(1, 6))
def test_any_sequence_of_writes_scores_like_the_reference(
    db: None, changes: Sequence[tuple[str, list[str] | list[int] | None]], query: str, limit: int
) -> None:
    shelf = new_shelf()
    texts: dict[str, str] = {}
    for kind, change in changes:
        if kind == "add":
            new = {f"{len(shelf.ids) + at}": str(text) for at, text in enumerate(change or ())}
            texts |= new
            # Together or one by one, so that there are segments to merge.
            for part in [new] if len(new) % 2 else [{name: text} for name, text in new.items()]:
                shelf.add(part)
        elif kind == "remove":
            gone = [f"{name}" for name in change or () if f"{name}" in shelf.ids]
            shelf.remove(*gone)
            texts = {name: text for name, text in texts.items() if name not in gone}
        else:
            shelf.compact()

    documents = {shelf.ids[name]: document_terms(text, "english") for name, text in texts.items()}
    asked: dict[str, float] = {}
    for term in document_terms(query, "english"):
        asked[term] = asked.get(term, 0.0) + 1.0
    expected = [score for _, score in bm25(documents, asked, k1=1.2, b=0.75)]
    by_id = dict(bm25(documents, asked, k1=1.2, b=0.75))
    found = [(shelf.ids[name], score) for name, score in shelf.words(query, limit=limit)]
    assert [score for _, score in found] == pytest.approx(expected[:limit], abs=1e-9)
    assert all(score == pytest.approx(by_id[chunk_id], abs=1e-9) for chunk_id, score in found)
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))


def test_an_emptied_index_is_out_of_sight_at_once_and_its_statistics_with_it(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "_DELETED_AT_ONCE", 1)
    shelf.add({"old": "zebra giraffe", "older": "zebra"})
    with shelf.locked():
        words.forget(collection_id=shelf.collection.pk)
    assert shelf.words("zebra") == []
    assert set(Segment.objects.values_list("retired", flat=True)) == {True}
    shelf.add({"new": "zebra"})
    fresh = new_shelf()
    fresh.add({"new": "zebra"})
    assert shelf.words("zebra") == fresh.words("zebra")
    assert shelf.compact() == 0
    with connection.cursor() as cursor:
        cursor.execute(statement("stores_app", "drop_retired_segments"), {"most": 10})
    assert [segment.retired for segment in segments(shelf)] == [False]
    assert PostingBlock.objects.filter(segment__collection=shelf.collection).count() == 1


def test_c_req_002_no_repetition_of_other_words_outranks_a_rare_name(shelf: Shelf) -> None:
    """Frequency counts for less and less, and length against: what the other words say thrice is still less."""
    long = "hook.player.connected is called by the server when somebody has come in and everything was loaded. " * 3
    shelf.add(
        {"name": long, "drowning": "command arguments " * 20, "a": "command", "b": "arguments", "c": "unlike all this"}
    )
    query = "which command arguments after hook.player.connected"
    assert next(name for name, _ in shelf.words(query)) == "name"
