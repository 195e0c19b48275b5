"""What is remembered of filters."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from core_app.ports import Space
from core_app.where import Compare
from stores_app import selectivity
from stores_app.hnsw import VectorIndex
from stores_app.search_plan import FilterEstimate

_generations = count(10**6)


@pytest.fixture
def space() -> Space:
    return Space(collection_id=1, generation_id=next(_generations), dimension=2, distance="cosine")


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every sample that was taken."""
    taken: list[Any] = []

    def estimated(*asked: Any) -> FilterEstimate:
        taken.append(asked)
        return FilterEstimate(indexed=0, late=len(taken), share=0.5, late_share=0.5, cost=1.0)

    monkeypatch.setattr(selectivity, "_estimated", estimated)
    return taken


def test_a_filter_is_sampled_once_a_minute(space: Space, sampled: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("stores_app.selectivity.time.monotonic", lambda: now)
    first = selectivity.estimate(space=space, index=None, where=Compare("a", "$eq", 1))
    now += 59
    assert selectivity.estimate(space=space, index=None, where=Compare("a", "$eq", 1)) is first
    now += 2
    assert selectivity.estimate(space=space, index=None, where=Compare("a", "$eq", 1)) is not first
    assert len(sampled) == 2


def test_another_filter_index_or_generation_is_another_sample(space: Space, sampled: list[Any]) -> None:
    index = VectorIndex(generation_id=space.generation_id, watermark=5, rows=3)
    for asked in (Compare("a", "$eq", 1), Compare("a", "$eq", True), Compare("a", "$eq", 1.0)):
        selectivity.estimate(space=space, index=None, where=asked)
    selectivity.estimate(space=space, index=index, where=Compare("a", "$eq", 1))
    assert len(sampled) == 4


def test_the_memory_is_bounded(space: Space, sampled: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectivity, "_REMEMBERED", 3)
    for number in range(10):
        selectivity.estimate(space=space, index=None, where=Compare("a", "$eq", number))
    assert len(selectivity._remembered) == 3
    selectivity.estimate(space=space, index=None, where=Compare("a", "$eq", 9))
    assert len(sampled) == 10
