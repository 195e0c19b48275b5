"""What every provider does where several write and search at once: nothing is lost, nothing is there twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from django.db import connections

from core_app.errors import InvalidInput
from core_app.providers import Capability, Provider
from tests.contracts.calls import DIMENSION, Collections, chunk, ids, listed, nearest

Result = TypeVar("Result")
QUERY = np.ones(DIMENSION, dtype=np.float32)


def beside(calls: Sequence[Callable[[], Result]]) -> list[Result | BaseException]:
    """What each returns or raises, all of them at once."""

    def run(call: Callable[[], Result]) -> Result:
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(run, call) for call in calls]
        return [future.exception() or future.result() for future in futures]


def test_several_write_and_search_at_once(provider: Provider, collection: Collections) -> None:
    """Each writer adds its own chunks and those that all of them write, and deletes some of its own."""
    name, rounds, writers = collection().name, 5, 4
    provider.add(name=name, chunks=[chunk(f"kept-{number}", "kept", n=number) for number in range(10)])

    def write(writer: int) -> None:
        for turn in range(rounds):
            own = [chunk(f"{writer}-{turn}-{number}", "own") for number in range(4)]
            provider.add(name=name, chunks=[*own, *(chunk(f"shared-{number}", "shared") for number in range(3))])
            assert provider.delete_chunks(name=name, ids=[own[0].id], where=None) == 1

    def search() -> None:
        for _ in range(3 * rounds):
            found = ids([one.chunk for one in nearest(provider, name, QUERY, 200)])
            assert len(found) == len(set(found))
            assert {f"kept-{number}" for number in range(10)} <= set(found)
            # Without transactions the count is of another moment.
            page = provider.list_chunks(name=name, where=None, limit=1000, offset=0, with_embeddings=False)
            assert {f"kept-{number}" for number in range(10)} <= set(ids(page.chunks))
            assert Capability.TRANSACTIONS not in provider.capabilities or page.total == len(page.chunks)

    calls: list[Callable[[], None]] = [lambda writer=writer: write(writer) for writer in range(writers)]  # type: ignore[misc]
    assert [*beside([*calls, search, search])] == [None] * (writers + 2)
    wanted = [f"kept-{number}" for number in range(10)] + [f"shared-{number}" for number in range(3)]
    wanted += [
        f"{writer}-{turn}-{number}" for writer in range(writers) for turn in range(rounds) for number in (1, 2, 3)
    ]
    assert sorted(ids(listed(provider, name))) == sorted(wanted)
    assert sorted(one.chunk.id for one in nearest(provider, name, QUERY, 200)) == sorted(wanted)
    assert provider.get_collection(name=name).count in {None, len(wanted)}


def test_several_who_add_the_first_chunks_agree_on_a_dimension(provider: Provider, collection: Collections) -> None:
    """Those of another one are refused, and nothing of theirs is kept."""
    name = collection().name

    def add(dimension: int) -> None:
        sent = [chunk(f"{dimension}-{number}", embedding=np.ones(dimension)) for number in range(3)]
        provider.add(name=name, chunks=sent)

    told = beside([lambda dimension=dimension: add(dimension) for dimension in (3, 4, 5, 6)])  # type: ignore[misc]
    refused = [one for one in told if isinstance(one, InvalidInput)]
    assert (len(refused), told.count(None)) == (3, 1), told
    first = told.index(None) + 3
    assert ids(listed(provider, name)) == [f"{first}-{number}" for number in range(3)]
    assert len(nearest(provider, name, np.ones(first, dtype=np.float32), 10)) == 3


def test_those_who_delete_the_same_count_each_chunk_once(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk(f"{number}") for number in range(20)])
    keys = [f"{number}" for number in range(15)]
    told = beside([lambda: provider.delete_chunks(name=name, ids=keys, where=None)] * 3)
    assert sorted(told, key=str) == [0, 0, 15]
    assert ids(listed(provider, name)) == [f"{number}" for number in range(15, 20)]


def test_one_of_several_makes_a_collection_of_a_name(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.delete_collection(name=name)
    told = beside([lambda: provider.create_collection(name=name, metadata={}, distance="cosine")] * 4)
    assert sorted(type(one).__name__ for one in told) == ["Conflict", "Conflict", "Conflict", "HeldCollection"]
    assert [one.name for one in provider.list_collections(limit=None, offset=0).collections].count(name) == 1
