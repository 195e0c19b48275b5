"""What is remembered of the word index: bounded, shared by threads, and off when it has no room."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from stores_app.lexical.memory import _ENTRY_BYTES, Memory


def room(entries: int, *, size: int = 0) -> int:
    return entries * (_ENTRY_BYTES + size)


def test_what_was_kept_is_found_and_nothing_else() -> None:
    memory = Memory(limit=room(10))
    memory.keep("a", [1], size=0)
    assert memory.find(["b", "a", "a"]) == [None, [1], [1]]
    assert memory.find([]) == []


def test_what_was_not_used_for_longest_is_forgotten_first() -> None:
    memory = Memory(limit=room(4))
    for key in "abcd":
        memory.keep(key, key, size=0)
    memory.find(["a"])
    memory.keep("e", "e", size=0)
    assert memory.find("abcde") == ["a", None, "c", "d", "e"]


def test_a_newer_value_takes_the_place_of_the_older_and_its_room() -> None:
    memory = Memory(limit=room(8, size=100))
    memory.keep("a", 1, size=100)
    memory.keep("a", 2, size=50)
    assert memory.find(["a"]) == [2]
    assert memory.size == room(1, size=50)


def test_one_that_would_drive_out_all_others_is_not_kept() -> None:
    memory = Memory(limit=room(8))
    memory.keep("small", 1, size=0)
    memory.keep("large", 2, size=room(2))
    assert memory.find(["small", "large"]) == [1, None]
    assert not memory.takes(room(2) + 1)
    assert memory.takes(room(2))


def test_without_room_nothing_is_kept() -> None:
    memory = Memory(limit=0)
    memory.keep("a", 1, size=0)
    assert memory.find(["a"]) == [None]
    assert memory.size == 0
    assert not memory.takes(1)


@given(
    limit=st.integers(0, room(9)),
    kept=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2 * _ENTRY_BYTES)), max_size=60),
)
def test_it_never_holds_more_than_it_may(limit: int, kept: list[tuple[int, int]]) -> None:
    memory = Memory(limit=limit)
    for key, size in kept:
        memory.keep(key, (key, size), size=size)
        found = memory.find(range(13))
        held = [value for value in found if value is not None]
        assert [value[0] for value in held] == [key for key, value in enumerate(found) if value is not None]
        assert memory.size == sum(size + _ENTRY_BYTES for _, size in held)
        assert memory.size <= limit


def test_many_threads_find_what_belongs_to_their_key() -> None:
    memory = Memory(limit=room(16))

    def work(seed: int) -> bool:
        right = True
        for step in range(3000):
            key = (seed * 31 + step * step) % 40
            memory.keep(key, (key, step), size=key)
            found = memory.find(range(40))
            right &= all(value is None or value[0] == asked for asked, value in enumerate(found))
        return right

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8)))
    held = [value for value in memory.find(range(40)) if value is not None]
    assert memory.size == sum(key + _ENTRY_BYTES for key, _ in held) <= room(16)
