"""What every provider finds for a vector: the nearest, each with its distance and its score."""

from __future__ import annotations

import numpy as np
import pytest

from core_app.ports import DistanceName
from core_app.providers import Provider
from core_app.similarity import similarity
from core_app.where import Compare
from tests.contracts.calls import DIMENSION, GENERATOR, Collections, chunk, exact, ids, nearest


@pytest.mark.parametrize("distance", ["cosine", "l2", "ip"])
def test_the_nearest_are_the_nearest(provider: Provider, collection: Collections, distance: DistanceName) -> None:
    name = collection(distance=distance).name
    chunks = [chunk(f"{number}", parity=number % 2) for number in range(200)]
    provider.add(name=name, chunks=chunks)
    for query in GENERATOR.normal(size=(5, DIMENSION)).astype(np.float32):
        found = nearest(provider, name, query, 10)
        wanted = exact(chunks, query, distance)[:10]
        assert ids([one.chunk for one in found]) == [key for key, _ in wanted]
        np.testing.assert_allclose([one.distance for one in found], [away for _, away in wanted], atol=1e-4)
        assert [one.score for one in found] == pytest.approx(
            [similarity(away, metric=distance) for _, away in wanted], abs=1e-4
        )
        odd = nearest(provider, name, query, 10, Compare("parity", "$eq", 1))
        assert ids([one.chunk for one in odd]) == [
            key for key, _ in exact([one for one in chunks if one.metadata["parity"]], query, distance)[:10]
        ]


@pytest.mark.parametrize("scale", [1, 100, 1000])
@pytest.mark.parametrize("distance", ["cosine", "l2", "ip"])
def test_long_vectors_lose_no_digits(
    provider: Provider, collection: Collections, distance: DistanceName, scale: int
) -> None:
    name = collection(distance=distance).name
    vectors = GENERATOR.normal(size=(100, 384)) * scale
    chunks = [chunk(f"{number}", embedding=vector) for number, vector in enumerate(vectors)]
    provider.add(name=name, chunks=chunks)
    query = (GENERATOR.normal(size=384) / np.sqrt(384)).astype(np.float32)
    found = nearest(provider, name, query, 10)
    wanted = exact(chunks, query, distance)[:10]
    assert ids([one.chunk for one in found]) == [key for key, _ in wanted]
    np.testing.assert_allclose([one.distance for one in found], [away for _, away in wanted], rtol=1e-5)


def test_several_queries_are_answered_each_as_alone(provider: Provider, collection: Collections) -> None:
    name = collection(distance="l2").name
    provider.add(name=name, chunks=[chunk(f"{number}", parity=number % 2) for number in range(60)])
    queries = GENERATOR.normal(size=(12, DIMENSION)).astype(np.float32)
    where = Compare("parity", "$eq", 1)
    together = provider.nearest(name=name, queries=queries, limit=5, where=where)
    assert [ids([one.chunk for one in found]) for found in together] == [
        ids([one.chunk for one in nearest(provider, name, query, 5, where)]) for query in queries
    ]


def test_fewer_are_found_only_where_fewer_are(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk(f"{number}", rare=number == 3) for number in range(50)])
    query = np.ones(DIMENSION, dtype=np.float32)
    assert len(nearest(provider, name, query, 80)) == 50
    assert [one.chunk.id for one in nearest(provider, name, query, 5, Compare("rare", "$eq", True))] == ["3"]
    assert not nearest(provider, name, query, 5, Compare("rare", "$eq", "3"))


def test_most_of_the_nearest_are_found_among_many(provider: Provider, collection: Collections) -> None:
    """Recall against exact search."""
    vectors, queries = GENERATOR.normal(size=(2000, 64)), GENERATOR.normal(size=(40, 64)).astype(np.float32)
    chunks = [chunk(f"{number}", embedding=vector) for number, vector in enumerate(vectors)]
    name = collection().name
    for first in range(0, len(chunks), 500):
        provider.add(name=name, chunks=chunks[first : first + 500])
    found = provider.nearest(name=name, queries=queries, limit=10, where=None)
    shares = [
        len({one.chunk.id for one in hits} & {key for key, _ in exact(chunks, query, "cosine")[:10]}) / 10
        for query, hits in zip(queries, found, strict=True)
    ]
    assert {len(hits) for hits in found} == {10}
    assert np.mean(shares) >= 0.95
