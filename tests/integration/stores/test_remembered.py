"""What is remembered of the word index changes no result: whatever is written, by whomever, in whichever snapshot."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_app.errors import Unavailable
from core_app.ports import LexicalFound, TermShare
from core_app.snapshot import snapshot
from core_app.where import Compare
from stores_app import segments, words
from stores_app.lexical.memory import Memory
from stores_app.models import Segment
from stores_app.segments import Segments
from tests.integration.stores.shelf import Shelf, new_shelf

pytestmark = pytest.mark.django_db

WORDS = ("alpha", "beta", "gamma", "delta", "snake_case_name")
QUERIES = ("alpha", "beta gamma", "snake_case_name alpha delta", "absent beta")
PLENTY = 1 << 24


def remember(patched: pytest.MonkeyPatch, limit: int) -> Memory:
    memory = Memory(limit=limit)
    patched.setattr(segments, "memory", lambda: memory)
    return memory


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    return remember(monkeypatch, PLENTY)


def found(shelves: Sequence[Shelf], query: str, *, limit: int = 7) -> list[LexicalFound]:
    """With and without a filter."""
    first = shelves[0]
    return [
        first.store.lexical(
            collection_ids=[shelf.collection.pk for shelf in shelves],
            bm25=first.bm25,
            query=query,
            limit=limit,
            where=where,
        )
        for where in (None, Compare("even", "$eq", True))
    ]


def shares(shelf: Shelf, query: str) -> dict[int, list[TermShare]]:
    return shelf.store.term_shares(
        collection_ids=[shelf.collection.pk], bm25=shelf.bm25, query=query, chunk_ids=list(shelf.ids.values())
    )


def everything(shelf: Shelf) -> list[object]:
    return [(found([shelf], query), shares(shelf, query)) for query in QUERIES]


def afresh(look: Callable[[], object]) -> object:
    """The same by a process that remembers nothing."""
    with pytest.MonkeyPatch.context() as patched:
        remember(patched, 0)
        return look()


def write(shelf: Shelf, chance: random.Random, count: int) -> None:
    first = len(shelf.ids)
    names = [f"{number}" for number in range(first, first + count)]
    shelf.add(
        {name: " ".join(chance.choices(WORDS, k=chance.randrange(0, 5))) for name in names},
        metadata={name: {"even": int(name) % 2 == 0} for name in names},
    )


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 4)),
        st.tuples(st.just("remove"), st.integers(1, 4)),
        st.tuples(st.just("remove in vain"), st.integers(1, 4)),
        st.tuples(st.just("compact"), st.just(0)),
        st.tuples(st.just("empty"), st.sampled_from([1, 1000])),
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, seed=st.integers(0, 2**20), limit=st.sampled_from([PLENTY, 30_000, 3_000]))
def test_b1_3_after_any_writes_a_warm_search_is_a_cold_one(
    db: None, steps: list[tuple[str, int]], seed: int, limit: int
) -> None:
    """With room for all, for some and for hardly anything; to the last bit."""
    chance = random.Random(seed)
    shelf = new_shelf()
    with pytest.MonkeyPatch.context() as patched:
        memory = remember(patched, limit)
        for _ in range(8):
            write(shelf, chance, 1)
        for kind, count in steps:
            left = list(shelf.ids)
            if kind == "add":
                write(shelf, chance, count)
            elif kind.startswith("remove"):
                _remove(shelf, chance.sample(left, min(count, len(left))), is_kept=kind == "remove")
            elif kind == "compact":
                shelf.compact()
            else:
                patched.setattr(words, "_DELETED_AT_ONCE", count)
                with shelf.locked():
                    words.forget(collection_id=shelf.collection.pk)
            for _ in range(2):
                assert everything(shelf) == afresh(lambda: everything(shelf))
            assert memory.size <= limit


def _remove(shelf: Shelf, names: Sequence[str], *, is_kept: bool) -> None:
    """And look on the way, so that what is not kept was seen."""
    with transaction.atomic():
        shelf.remove(*names)
        everything(shelf)
        transaction.set_rollback(not is_kept)


def test_a_search_that_was_made_before_takes_one_statement(shelf: Shelf, memory: Memory) -> None:
    for number in range(5):
        shelf.add({f"{number}": f"alpha beta gamma delta {number}"})
    shelf.remove("3")
    counted = []
    for query in ("alpha beta", "alpha beta", "beta", "beta gamma"):
        with CaptureQueriesContext(connection) as queries:
            assert len(shelf.words(query)) == 4
        counted.append(len(queries))
    # The segments in use; what is missing of their postings and tombstones; their chunks' ids.
    assert counted == [3, 1, 1, 2]
    assert memory.size


def test_only_what_is_new_is_read_again(shelf: Shelf, memory: Memory) -> None:
    shelf.add({"a": "alpha beta", "b": "alpha"})
    shelf.words("alpha beta")
    shelf.add({"c": "alpha"})
    read: list[object] = []

    def watch(execute: Callable[..., object], sql: str, params: dict[str, object], *rest: object) -> object:
        read.append((params or {}).get("segment_ids"))
        return execute(sql, params, *rest)

    with connection.execute_wrapper(watch):
        assert len(shelf.words("alpha beta")) == 3
    new = Segment.objects.latest("pk").pk
    assert read == [None, [new], [new]]


def test_without_room_nothing_is_remembered(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = remember(monkeypatch, 0)
    shelf.add({"a": "alpha beta", "b": "alpha"})
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            assert [name for name, _ in shelf.words("alpha")] == ["b", "a"]
        assert len(queries) == 3
    assert memory.size == 0


def test_a_write_that_was_rolled_back_leaves_nothing_behind(shelf: Shelf, memory: Memory) -> None:
    shelf.add({"a": "alpha beta", "b": "alpha gamma", "c": "beta beta"})
    before = everything(shelf)
    with transaction.atomic():
        shelf.add({"d": "alpha alpha"})
        shelf.remove("a")
        assert everything(shelf) != before
        transaction.set_rollback(True)
    del shelf.ids["d"]
    assert everything(shelf) == before
    # As many chunks and words are left as before, but others.
    shelf.remove("b")
    assert [name for name, _ in shelf.words("alpha")] == ["a"]
    assert everything(shelf) == afresh(lambda: everything(shelf))


def test_a_restored_database_that_hands_out_the_same_ids_again_is_read_again(shelf: Shelf, memory: Memory) -> None:
    """A backup is brought back beneath a running process, and what is added then gets the ids of what was lost."""
    shelf.add({"a": "alpha beta"})
    assert [name for name, _ in shelf.words("alpha")] == ["a"]
    lost = Segment.objects.get()
    with shelf.locked():
        words.drop_segments([lost.pk])
    shelf.add({"b": "beta alpha alpha"})
    new = Segment.objects.get()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE stores_postingblock SET segment_id = %s", [lost.pk])
        cursor.execute("UPDATE stores_segment SET id = %s", [lost.pk])
    assert [name for name, _ in shelf.words("alpha")] == ["b"]
    assert everything(shelf) == afresh(lambda: everything(shelf))
    assert lost.identity != new.identity


def test_collections_are_remembered_apart_and_together(shelf: Shelf, memory: Memory) -> None:
    other, chance = new_shelf(), random.Random(3)
    for each in (shelf, other, shelf):
        write(each, chance, 12)
    other.remove("2", "3")
    for asked in ([shelf], [other], [shelf, other], [other, shelf], [shelf, other], [other]):
        for query in QUERIES:
            assert found(asked, query) == afresh(lambda asked=asked, query=query: found(asked, query))  # type: ignore[misc]
    write(other, chance, 3)
    for asked in ([shelf, other], [shelf], [other]):
        assert found(asked, "alpha beta") == afresh(lambda asked=asked: found(asked, "alpha beta"))  # type: ignore[misc]


def test_other_weights_of_the_same_words_are_not_mixed_up(shelf: Shelf, memory: Memory) -> None:
    write(shelf, random.Random(5), 12)
    usual, flat = shelf.bm25, type(shelf.bm25)(language="english", k1=0.9, b=0.0)
    for bm25 in (usual, flat, usual):
        shelf.bm25 = bm25
        assert everything(shelf) == afresh(lambda: everything(shelf))


@pytest.mark.parametrize("change", ["dropped", "buried"])
def test_a_write_between_two_statements_is_told_and_not_remembered(shelf: Shelf, memory: Memory, change: str) -> None:
    """Where the caller's transaction is not REPEATABLE READ."""
    shelf.add({"a": "alpha", "b": "alpha beta"})
    seen = Segments.in_use([shelf.collection.pk], language="english")
    before = memory.size
    if change == "dropped":
        words.drop_segments([Segment.objects.get().pk])
    else:
        shelf.remove("a")
    with pytest.raises(Unavailable) as caught:
        seen.impacts(["alpha"], shelf.bm25)
    assert caught.value.code == "index_changed"
    assert memory.size == before
    assert everything(shelf) == afresh(lambda: everything(shelf))


@pytest.mark.parametrize("limit", [PLENTY, 0])
def test_chunks_that_vanish_between_two_statements_are_told(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    remember(monkeypatch, limit)
    shelf.add({"a": "alpha"})
    seen = Segments.in_use([shelf.collection.pk], language="english")
    places = seen.impacts(["alpha"], shelf.bm25)["alpha"].places
    words.drop_segments([Segment.objects.get().pk])
    with pytest.raises(Unavailable):
        seen.chunk_ids(places)


@pytest.fixture
def beside(transactional_db: None) -> Callable[[Callable[[], None]], None]:
    """Runs something on another connection, to its end."""

    def run(work: Callable[[], None]) -> None:
        failures: list[BaseException] = []

        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - raised in the test's own thread below
                failures.append(error)
            finally:
                connection.close()

        thread = threading.Thread(target=guarded)
        thread.start()
        thread.join()
        if failures:
            raise failures[0]

    return run


@pytest.mark.django_db(transaction=True)
def test_an_older_snapshot_is_answered_as_it_sees(beside: Callable[[Callable[[], None]], None], memory: Memory) -> None:
    shelf, chance = new_shelf(), random.Random(9)
    for _ in range(9):
        write(shelf, chance, 2)

    def change_and_look() -> None:
        write(shelf, chance, 3)
        shelf.remove("1", "5")
        everything(shelf)
        while shelf.compact():
            everything(shelf)

    with snapshot():
        before = everything(shelf)
        names = dict(shelf.ids)
        beside(change_and_look)
        newer, shelf.ids = dict(shelf.ids), names
        assert everything(shelf) == before
        assert everything(shelf) == afresh(lambda: everything(shelf))
    shelf.ids = newer
    assert everything(shelf) != before
    assert everything(shelf) == afresh(lambda: everything(shelf))


@pytest.mark.django_db(transaction=True)
def test_many_threads_share_what_is_remembered(beside: Callable[[Callable[[], None]], None], memory: Memory) -> None:
    shelf = new_shelf()
    write(shelf, random.Random(11), 30)
    expected = afresh(lambda: [found([shelf], query) for query in QUERIES])
    results: list[object] = []
    threads = [
        threading.Thread(
            target=lambda: beside(lambda: results.extend([[found([shelf], q) for q in QUERIES] for _ in range(5)]))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 20


def test_segments_have_an_identity_of_their_own_and_a_digest_of_what_is_deleted(shelf: Shelf) -> None:
    shelf.add({"a": "alpha", "b": "beta"})
    shelf.add({"c": "gamma"})
    first, second = Segment.objects.order_by("pk")
    assert first.identity != second.identity
    assert first.buried == second.buried
    shelf.remove("a")
    assert Segment.objects.get(pk=first.pk).identity == first.identity
    assert bytes(Segment.objects.get(pk=first.pk).buried) != bytes(first.buried)
