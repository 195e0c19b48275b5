"""B6.4: fewer than `top_k` only where fewer exist, however little a filter lets through, by every leg."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from collections_app.adding import NewChunk, add_chunks
from collections_app.models import Collection, Generation
from collections_app.services import create_collection, space_of
from core_app.where import Compare
from core_app.wiring import embedder, store
from search_app.modes import LEGS, Legs
from search_app.results import SearchResult
from search_app.services import search_collections
from stores_app import keywords, selectivity
from tests.integration.stores.conftest import own_indexes, small_indexes

__all__ = ["own_indexes", "small_indexes"]

CHUNKS = 1200
#: The worse a chunk by words and by meaning, the sooner it passes; every second has the query's word at all.
PASSING = (0, 1, 2, 5, 20, 60, 99, 100, 101, 150, 400, 1000, CHUNKS - 1, CHUNKS)
TOP_K = (1, 5, 60, 100)
QUERY = "night"


def make(name: str, numbers: Sequence[int]) -> None:
    create_collection(name=name)
    texts = {n: ("night " if n % 2 else "") + "day " * (1 + (CHUNKS - n) // 20) + f"word{n}" for n in numbers}
    add_chunks(
        collection_name=name,
        chunks=[NewChunk(external_id=f"{n}", text=text, metadata={"n": n}) for n, text in texts.items()],
        embeddings=lambda: np.array([embedder().embed_query(text) for text in texts.values()]),
    )


def embed_here() -> None:
    Generation.objects.update(embedding_connection=embedder().connection, embedding_model=embedder().model)


@pytest.fixture
def one(db: None) -> list[str]:
    make("c", random.Random(1).sample(range(CHUNKS), CHUNKS))
    embed_here()
    return ["c"]


@pytest.fixture
def several(db: None) -> list[str]:
    """Nearly everything is in the first."""
    numbers = random.Random(2).sample(range(CHUNKS), CHUNKS)
    for name, part in (("c", numbers[:1000]), ("d", numbers[1000:1199]), ("e", numbers[1199:])):
        make(name, part)
    embed_here()
    return ["c", "d", "e"]


@pytest.fixture
def indexed(small_indexes: pytest.MonkeyPatch) -> list[str]:
    """A vector index over most, and some beside it."""
    numbers = random.Random(3).sample(range(CHUNKS), CHUNKS)
    make("c", numbers[:1000])
    embed_here()
    generation = Collection.objects.get(name="c").active_generation
    assert generation is not None
    store("pgvector").build_index(space=space_of(generation), check=lambda: None)
    add_chunks(
        collection_name="c",
        chunks=[NewChunk(external_id=f"{n}", text=f"night word{n}", metadata={"n": n}) for n in numbers[1000:]],
        embeddings=lambda: np.array([embedder().embed_query(f"night word{n}") for n in numbers[1000:]]),
    )
    selectivity._remembered.clear()
    return ["c"]


def ask(names: Sequence[str], leg: Legs, passing: int, top_k: int) -> SearchResult:
    where = Compare("n", "$lt", passing)
    return search_collections(
        collection_names=names, query=QUERY, legs=leg, top_k=top_k, where=where, explain=True, patient=True
    )


def check(names: Sequence[str], having_the_word: set[int], asked: Sequence[Legs] = LEGS) -> set[str]:
    """Whatever is asked; returns the ways that were taken."""
    ways: set[str] = set()
    for leg in asked:
        for passing in PASSING:
            exist = {*range(passing)} & having_the_word if leg == "lexical" else {*range(passing)}
            for top_k in TOP_K:
                found = ask(names, leg, passing, top_k)
                numbers = [hit.metadata["n"] for hit in found.hits]
                assert len(numbers) == len({*numbers}) == min(top_k, len(exist)), (leg, passing, top_k)
                assert {*numbers} <= exist
                assert found.warnings == []
                assert found.explanation is not None
                ways |= {*found.explanation.ways.values()}
    return ways


@pytest.mark.django_db
def test_b6_4_one_collection(one: list[str]) -> None:
    ways = check(one, {n for n in range(CHUNKS) if n % 2})
    assert {"filter first", "all compared, then filtered", "best first, then filtered"} <= ways


@pytest.mark.django_db
def test_b6_4_where_words_find_all_that_pass_first(one: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As they do where many match and few of them pass."""
    for name in ("_FIRST_LOOK", "_LEAST_LOOKED", "_MOST_LOOKED"):
        monkeypatch.setattr(keywords, name, 1)
    assert "filter first" in check(one, {n for n in range(CHUNKS) if n % 2}, ["lexical"])


@pytest.mark.django_db
def test_b6_4_several_collections(several: list[str]) -> None:
    check(several, {n for n in range(CHUNKS) if n % 2})


def test_b6_4_through_a_vector_index(indexed: list[str]) -> None:
    beside = {*random.Random(3).sample(range(CHUNKS), CHUNKS)[1000:]}
    ways = check(indexed, {n for n in range(CHUNKS) if n % 2} | beside)
    assert "index, filtered" in ways
