"""What every provider does with collections (A5, A8, A9): the same calls, the same answers, the same errors."""

from __future__ import annotations

import numpy as np
import pytest

from core_app.errors import Conflict
from core_app.providers import Provider
from tests.contracts.calls import DIMENSION, Collections, chunk, listed, nearest


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


def test_a_5_3_and_a_8_metadata_are_replaced_or_merged(provider: Provider, collection: Collections) -> None:
    name = collection(metadata={"a": 1, "b": 2}).name
    assert provider.update_metadata(name=name, metadata={"b": 3}, merge=True) == {"a": 1, "b": 3}
    assert provider.update_metadata(name=name, metadata={"c": 4}, merge=False) == {"c": 4}
    assert dict(provider.get_collection(name=name).metadata) == {"c": 4}


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
