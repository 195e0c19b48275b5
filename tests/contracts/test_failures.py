"""What every provider says of what cannot be: the errors that the port names."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from core_app.errors import FarSideFailed, FarSideSlow, InvalidInput, NotFound, Unavailable
from core_app.providers import Provider
from tests.contracts.calls import DIMENSION, WRONG, Collections, chunk, ids, listed, nearest


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


def test_a_scan_goes_on_only_where_it_was(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk("a")])
    with pytest.raises(InvalidInput):
        provider.scan(name=name, after="no such place", limit=10)


def test_a_service_that_is_not_there_is_told(unreachable: Provider) -> None:
    for call in some_calls(unreachable):
        with pytest.raises(Unavailable) as raised:
            call()
        assert raised.value.code == "far_side_unreachable"
        assert "127.0.0.1" not in raised.value.detail
    _is_unhealthy(unreachable)


def test_a_service_that_does_not_answer_in_time_is_told(slow: Provider) -> None:
    for call in some_calls(slow):
        with pytest.raises(FarSideSlow) as raised:
            call()
        assert "127.0.0.1" not in raised.value.detail
    _is_unhealthy(slow)


def test_wrong_credentials_are_told_and_not_shown(refused: Provider) -> None:
    for call in some_calls(refused):
        with pytest.raises(FarSideFailed) as raised:
            call()
        assert raised.value.code == "far_side_refused"
        assert WRONG not in raised.value.detail
    _is_unhealthy(refused)


def some_calls(provider: Provider) -> list[Callable[[], object]]:
    return [
        lambda: provider.list_collections(limit=None, offset=0),
        lambda: provider.get_collection(name="docs"),
        lambda: nearest(provider, "docs", np.ones(DIMENSION, dtype=np.float32), 1),
        lambda: provider.create_collection(name="docs", metadata={}, distance="cosine"),
        lambda: provider.add(name="docs", chunks=[chunk("a")]),
    ]


def _is_unhealthy(provider: Provider) -> None:
    """A2.3."""
    health = provider.health_check()
    assert not health.is_healthy
    assert health.checked_at.tzinfo is not None
    assert health.error.endswith(".")
    assert "127.0.0.1" not in health.error
    assert WRONG not in health.error


def test_deleting_nothing_named_is_refused(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk("a")])
    nothings: list[list[str] | None] = [None, []]
    for nothing in nothings:
        with pytest.raises(InvalidInput):
            provider.delete_chunks(name=name, ids=nothing, where=None)
    assert ids(listed(provider, name)) == ["a"]
