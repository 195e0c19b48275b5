"""What every provider does (A2, A4 to A9): the same calls, the same answers, the same errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from core_app.errors import Conflict, InvalidInput, NotFound
from core_app.ports import DistanceName
from core_app.providers import Capability, HeldChunk, HeldCollection, NearChunk, Provider
from core_app.similarity import similarity
from core_app.where import Compare, Where, matches, parse_where
from tests.integration.collections.filters import TREES, documents

#: For the providers that live in this database.
pytestmark = pytest.mark.django_db(transaction=True)

Collections = Callable[..., HeldCollection]
DIMENSION = 8
GENERATOR = np.random.default_rng(7)


def chunk(key: str, text: str = "", *, embedding: Any = None, **metadata: Any) -> HeldChunk:
    vector = GENERATOR.normal(size=DIMENSION) if embedding is None else embedding
    return HeldChunk(id=key, text=text, metadata=metadata, embedding=np.asarray(vector, dtype=np.float32))


def ids(chunks: Sequence[HeldChunk]) -> list[str]:
    return [one.id for one in chunks]


def listed(provider: Provider, name: str, where: Where | None = None) -> list[HeldChunk]:
    found = provider.list_chunks(name=name, where=where, limit=1000, offset=0, with_embeddings=False)
    assert found.total == len(found.chunks)
    return list(found.chunks)


def nearest(provider: Provider, name: str, query: Any, limit: int, where: Where | None = None) -> Sequence[NearChunk]:
    queries = np.asarray([query], dtype=np.float32)
    (found,) = provider.nearest(name=name, queries=queries, limit=limit, where=where)
    return found


def exact(chunks: Sequence[HeldChunk], query: Any, distance: DistanceName) -> list[tuple[str, float]]:
    """All chunks with their distances, nearest first."""
    asked = np.asarray(query, dtype=np.float64)

    def away(one: HeldChunk) -> float:
        held = np.asarray(one.embedding, dtype=np.float64)
        if distance == "l2":
            return float(np.linalg.norm(held - asked))
        if distance == "ip":
            return float(-(held @ asked))
        return float(1 - (held @ asked) / (np.linalg.norm(held) * np.linalg.norm(asked)))

    return sorted(((one.id, away(one)) for one in chunks), key=lambda pair: pair[1])


def test_a_2_3_health_is_told_with_details(provider: Provider) -> None:
    health = provider.health_check()
    assert health.is_healthy, health.error
    assert health.checked_at.tzinfo is not None
    assert health.error == ""
    assert health.details


def test_a_5_a_collection_is_made_and_found(provider: Provider, collection: Collections) -> None:
    made = collection(metadata={"team": "a", "embedding_model": "x"}, distance="l2")
    found = provider.get_collection(name=made.name)
    assert (found.name, dict(found.metadata), found.distance) == (
        made.name,
        {"team": "a", "embedding_model": "x"},
        "l2",
    )
    assert made.name in [one.name for one in provider.list_collections(limit=None, offset=0).collections]


def test_collections_come_in_pages(provider: Provider, collection: Collections) -> None:
    for _ in range(3):
        collection()
    every = provider.list_collections(limit=None, offset=0)
    page = provider.list_collections(limit=2, offset=1)
    assert [one.name for one in page.collections] == [one.name for one in every.collections[1:3]]
    assert page.total == every.total >= 3


def test_a_name_that_is_taken_is_a_conflict(provider: Provider, collection: Collections) -> None:
    made = collection()
    with pytest.raises(Conflict):
        provider.create_collection(name=made.name, metadata={}, distance="cosine")


def test_a_collection_that_is_not_there_is_not_found(provider: Provider) -> None:
    nowhere = "contract-nowhere"
    calls: list[Callable[[], object]] = [
        lambda: provider.get_collection(name=nowhere),
        lambda: provider.update_metadata(name=nowhere, metadata={"a": 1}, merge=True),
        lambda: provider.delete_collection(name=nowhere),
        lambda: provider.add(name=nowhere, chunks=[chunk("a")]),
        lambda: provider.get_chunk(name=nowhere, chunk_id="a", with_embedding=False),
        lambda: provider.list_chunks(name=nowhere, where=None, limit=1, offset=0, with_embeddings=False),
        lambda: provider.metadata_values(name=nowhere, key="a"),
        lambda: provider.delete_chunks(name=nowhere, ids=["a"], where=None),
        lambda: provider.empty(name=nowhere),
        lambda: nearest(provider, nowhere, np.ones(DIMENSION, dtype=np.float32), 1),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            call()


def test_a_5_3_and_a_8_metadata_are_replaced_or_merged(provider: Provider, collection: Collections) -> None:
    name = collection(metadata={"a": 1, "b": 2}).name
    assert provider.update_metadata(name=name, metadata={"b": 3}, merge=True) == {"a": 1, "b": 3}
    assert provider.update_metadata(name=name, metadata={"c": 4}, merge=False) == {"c": 4}
    assert dict(provider.get_collection(name=name).metadata) == {"c": 4}


def test_a_4_what_is_added_is_found_as_it_was(provider: Provider, collection: Collections) -> None:
    name = collection().name
    sent = chunk("ä b", "Text with\nlines, “quotes” and 🫖", lang="de", year=2024, draft=False, price=1.5)
    provider.add(name=name, chunks=[sent, chunk("b")])
    found = provider.get_chunk(name=name, chunk_id="ä b", with_embedding=True)
    assert (found.text, dict(found.metadata)) == (sent.text, dict(sent.metadata))
    assert found.embedding is not None
    assert np.allclose(found.embedding, np.asarray(sent.embedding), rtol=1e-6)
    assert provider.get_collection(name=name).count in {2, None}
    with pytest.raises(NotFound):
        provider.get_chunk(name=name, chunk_id="c", with_embedding=False)


def test_nested_metadata_stay_as_they_are(provider: Provider, collection: Collections) -> None:
    if Capability.NESTED_METADATA not in provider.capabilities:
        pytest.skip("the provider declares no nested metadata")
    name = collection().name
    metadata: dict[str, Any] = {"deep": {"list": [1, {"a": None}], "empty": []}, "none": None}
    provider.add(name=name, chunks=[chunk("a", **metadata)])
    assert dict(provider.get_chunk(name=name, chunk_id="a", with_embedding=False).metadata) == metadata


def test_a_chunk_is_changed(provider: Provider, collection: Collections) -> None:
    """Metadata are merged, a text comes with its embedding."""
    name = collection().name
    provider.add(name=name, chunks=[chunk("a", "old", n=1, m=2)])

    def change(**more: Any) -> HeldChunk:
        return provider.change_chunk(
            name=name, chunk_id="a", **{"metadata": None, "text": None, "embedding": None} | more
        )

    assert dict(change(metadata={"m": 3, "k": "v"}).metadata) == {"n": 1, "m": 3, "k": "v"}
    assert change(text="new", embedding=np.ones(DIMENSION, dtype=np.float32)).text == "new"
    found = provider.get_chunk(name=name, chunk_id="a", with_embedding=True)
    assert (found.text, dict(found.metadata)) == ("new", {"n": 1, "m": 3, "k": "v"})
    assert found.embedding is not None
    assert np.allclose(found.embedding, 1.0)
    with pytest.raises(NotFound):
        provider.change_chunk(name=name, chunk_id="b", metadata={"m": 3}, text=None, embedding=None)


def test_an_id_that_is_sent_again_is_replaced(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk("a", "old", n=1), chunk("b", "other")])
    provider.add(name=name, chunks=[chunk("a", "new", m=2)])
    found = {one.id: (one.text, dict(one.metadata)) for one in listed(provider, name)}
    assert found == {"a": ("new", {"m": 2}), "b": ("other", {})}


def test_another_dimension_is_refused_and_nothing_is_kept(provider: Provider, collection: Collections) -> None:
    """A4.4."""
    name = collection().name
    provider.add(name=name, chunks=[chunk("a")])
    with pytest.raises(InvalidInput):
        provider.add(name=name, chunks=[chunk("b"), chunk("c", embedding=[1.0, 2.0])])
    assert ids(listed(provider, name)) == ["a"]
    with pytest.raises(InvalidInput):
        nearest(provider, name, np.ones(3, dtype=np.float32), 1)


def test_chunks_come_in_the_order_in_which_they_were_added(provider: Provider, collection: Collections) -> None:
    name = collection().name
    order = [f"{number:02}" for number in GENERATOR.permutation(30)]
    provider.add(name=name, chunks=[chunk(key) for key in order[:20]])
    provider.add(name=name, chunks=[chunk(key) for key in order[20:]])
    pages = [
        provider.list_chunks(name=name, where=None, limit=7, offset=offset, with_embeddings=False)
        for offset in range(0, 30, 7)
    ]
    assert [one.id for page in pages for one in page.chunks] == order
    assert {page.total for page in pages} == {30}


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


def test_a_scan_finds_every_chunk_once(provider: Provider, collection: Collections) -> None:
    """What was there at its beginning, and stays."""
    name = collection().name
    sent = {f"{number}": chunk(f"{number}", f"text {number}", n=number) for number in range(25)}
    provider.add(name=name, chunks=list(sent.values()))
    part = provider.scan(name=name, after=None, limit=10)
    found = list(part.chunks)
    provider.delete_chunks(name=name, ids=[found[0].id, found[3].id], where=None)
    provider.add(name=name, chunks=[chunk("late")])
    while part.after is not None:
        part = provider.scan(name=name, after=part.after, limit=10)
        assert len(part.chunks) <= 10
        found += part.chunks
    assert sorted(set(ids(found)) | {"late"}) == sorted([*sent, "late"])
    assert len(found) == len(set(ids(found)))
    for one in found:
        if one.id != "late":
            assert (one.text, dict(one.metadata)) == (sent[one.id].text, dict(sent[one.id].metadata))
            assert one.embedding is not None
            np.testing.assert_allclose(one.embedding, np.asarray(sent[one.id].embedding), rtol=1e-6)


def test_a_scan_of_nothing_is_over(provider: Provider, collection: Collections) -> None:
    name = collection().name
    part = provider.scan(name=name, after=None, limit=10)
    assert (list(part.chunks), part.after) == ([], None)


def test_fewer_are_found_only_where_fewer_are(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk(f"{number}", rare=number == 3) for number in range(50)])
    query = np.ones(DIMENSION, dtype=np.float32)
    assert len(nearest(provider, name, query, 80)) == 50
    assert [one.chunk.id for one in nearest(provider, name, query, 5, Compare("rare", "$eq", True))] == ["3"]
    assert not nearest(provider, name, query, 5, Compare("rare", "$eq", "3"))


def test_a_7_values_of_a_key(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk("a", lang="de"), chunk("b", lang="en"), chunk("c", lang="de"), chunk("d")])
    assert list(provider.metadata_values(name=name, key="lang").values) == ["de", "en"]
    assert not provider.metadata_values(name=name, key="nowhere").values


def test_chunks_are_deleted_by_id_and_by_filter(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk(f"{number}", n=number) for number in range(10)])
    assert provider.delete_chunks(name=name, ids=["1", "2", "nowhere"], where=None) == 2
    assert provider.delete_chunks(name=name, ids=None, where=Compare("n", "$gte", 7)) == 3
    assert ids(listed(provider, name)) == ["0", "3", "4", "5", "6"]
    found = nearest(provider, name, np.ones(DIMENSION, dtype=np.float32), 20)
    assert sorted(one.chunk.id for one in found) == ["0", "3", "4", "5", "6"]


def test_deleting_nothing_named_is_refused(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk("a")])
    nothings: list[list[str] | None] = [None, []]
    for nothing in nothings:
        with pytest.raises(InvalidInput):
            provider.delete_chunks(name=name, ids=nothing, where=None)
    assert ids(listed(provider, name)) == ["a"]


def test_a_9_emptying_leaves_the_collection(provider: Provider, collection: Collections) -> None:
    name = collection(metadata={"keep": "me"}).name
    provider.add(name=name, chunks=[chunk(f"{number}") for number in range(20)])
    assert provider.empty(name=name) == 20
    assert not listed(provider, name)
    assert dict(provider.get_collection(name=name).metadata) == {"keep": "me"}
    assert provider.empty(name=name) == 0


def test_a_9_what_was_emptied_takes_another_dimension(provider: Provider, collection: Collections) -> None:
    name = collection().name
    for dimension in (DIMENSION, 3, 5):
        provider.add(name=name, chunks=[chunk("a", embedding=np.ones(dimension))])
        before = provider.get_collection(name=name)
        provider.empty(name=name)
        after = provider.get_collection(name=name)
        assert (after.dimension, after.count or 0) == (None, 0)
        if before.updated_at and after.updated_at:
            assert after.updated_at > before.updated_at
        query = np.ones(dimension, dtype=np.float32)
        assert not nearest(provider, name, query, 1)


ROWS = {f"{number}": document for number, document in enumerate(documents(40))}


def test_filters_mean_what_they_mean_here(provider: Provider, collection: Collections) -> None:
    """A6: random filters are held to the evaluator."""
    if Capability.EXACT_FILTERS not in provider.capabilities:
        pytest.skip("the provider declares filters of its own meaning")
    name = collection().name
    provider.add(name=name, chunks=[chunk(key, text, **metadata) for key, (metadata, text) in ROWS.items()])

    @given(TREES)
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    def check(where: Where) -> None:
        assert ids(listed(provider, name, where)) == [
            key for key, (metadata, text) in ROWS.items() if matches(where, metadata=metadata, text=text)
        ]

    check()


def test_an_empty_filter_is_none(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk("a")])
    assert ids(listed(provider, name, parse_where({}))) == ["a"]
