"""A6: a filter means in every provider what it means here."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from core_app.providers import Capability, Provider
from core_app.where import Where, matches, parse_where
from tests.contracts.calls import Collections, chunk, ids, listed
from tests.integration.collections.filters import TREES, documents

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
