"""A search that calls a filter by its name (issue 7, point 4: usable in the API as `filter: NAME`)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from collections_app.filters import save_filter
from collections_app.models import Collection
from core_app.errors import NotFound
from core_app.where import And, Compare, Or, Within, matches, parse_where
from core_app.where.wording import in_words
from search_app.models import QueryLog
from search_app.modes import LEGS
from search_app.services import search_collections
from tests.integration.search.asked import JSON, filled, look, sources

pytestmark = pytest.mark.django_db

CATS = {"cat1": "The cat hunts a fox.", "cat2": "A cat and a fox.", "cat3": "One more fox."}
DOGS = {"dog1": "The dog hunts the fox.", "dog2": "A fox, a fox, another fox!", "dog3": "A fox barks."}


def kinds(texts: dict[str, str]) -> dict[str, dict[str, Any]]:
    return {name: {"kind": name[-1]} for name in texts}


@pytest.fixture
def both(db: None) -> tuple[Collection, Collection]:
    return filled("cats", CATS, metadata=kinds(CATS)), filled("dogs", DOGS, metadata=kinds(DOGS))


def keep(collection: str, where: Any, name: str = "chosen") -> None:
    save_filter(collection_name=collection, name=name, where=where)


@pytest.mark.parametrize("legs", LEGS)
def test_it_narrows_both_legs_and_a_change_acts_at_once(both: object, legs: Any) -> None:
    keep("cats", {"kind": "1"})
    for _ in range(2):  # the second time whatever is remembered of the first
        assert sources(look("fox", name="cats", legs=legs, filter_name="chosen")) == ["cat1"]
    keep("cats", {"kind": "2"})
    assert sources(look("fox", name="cats", legs=legs, filter_name="chosen")) == ["cat2"]


def test_with_a_filter_beside_it_both_must_hold(both: object, client: Client) -> None:
    keep("cats", {"kind": {"$ne": "1"}})
    body = {"query": "fox", "filter": "chosen", "where": {"kind": {"$ne": "2"}}}
    found = client.post("/api/rag/collections/cats/search", body, JSON).json()
    assert [hit["metadata"]["source"] for hit in found["results"]] == ["cat3"]
    nothing = client.post(
        "/api/rag/collections/cats/search", {**body, "where": {"kind": "1"}, "explain": True}, JSON
    ).json()
    assert nothing["count"] == 0
    assert [step["together"] for step in nothing["explain"]["survivors"]] == [3, 1, 0]


@pytest.mark.parametrize("legs", LEGS)
def test_in_several_collections_each_has_its_own(both: tuple[Collection, Collection], legs: Any) -> None:
    """Point 4: in a multi-collection search the name must exist in each collection."""
    keep("cats", {"kind": "1"})
    with pytest.raises(NotFound, match="Filter 'chosen' not found in collection 'dogs'") as caught:
        search_collections(collection_names=["cats", "dogs"], query="fox", filter_name="chosen")
    assert caught.value.code == "filter_not_found"
    keep("dogs", {"kind": {"$in": ["2", "3"]}})
    found = search_collections(
        collection_names=["cats", "dogs"], query="fox", legs=legs, filter_name="chosen", top_k=10, explain=True
    )
    assert {*sources(found)} == {"cat1", "dog2", "dog3"}
    keep("dogs", {"kind": "1"})
    same = search_collections(collection_names=["cats", "dogs"], query="fox", legs=legs, filter_name="chosen", top_k=10)
    assert {*sources(same)} == {"cat1", "dog1"}


def test_one_and_true_are_two_filters(both: object) -> None:
    keep("cats", {"kind": 1})
    keep("dogs", {"$not": {"kind": True}})
    found = search_collections(
        collection_names=["cats", "dogs"], query="fox", filter_name="chosen", top_k=10, legs="lexical"
    )
    assert {*sources(found)} == {*DOGS}


def test_the_nearest_of_a_vector(both: object, client: Client) -> None:
    keep("cats", {"kind": "3"})
    body = {"query_embedding": [0.1] * 256, "filter": "chosen"}
    found = client.post("/collections/cats/query", body, JSON).json()
    assert [hit["metadata"]["source"] for hit in found["results"]] == ["cat3"]
    none = client.post("/collections/cats/query", {**body, "where": {"kind": "1"}}, JSON).json()
    assert none["count"] == 0


def test_the_short_form(both: object, client: Client) -> None:
    keep("cats", {"kind": "3"})
    found = client.get("/knowledge/cats/search", {"q": "fox", "filter": "chosen"}).json()
    assert [hit["source"] for hit in found["results"]] == ["cat3"]


def test_the_log_says_that_it_was_filtered(both: object) -> None:
    keep("cats", {"kind": "3"})
    look("fox", name="cats", filter_name="chosen")
    with pytest.raises(NotFound):
        look("fox", name="cats", filter_name="other")
    assert [(row.filtered, row.error) for row in QueryLog.objects.order_by("pk")] == [
        (True, ""),
        (True, "filter_not_found"),
    ]


def test_what_keeps_collections_apart_means_the_same_everywhere() -> None:
    kind = Compare("kind", "$eq", "1")
    tree = Or((And((Within(1), kind)), Within(2)))
    assert matches(tree, metadata={"kind": "1"}, text="", collection_id=1)
    assert not matches(tree, metadata={"kind": "2"}, text="", collection_id=1)
    assert matches(tree, metadata={}, text="", collection_id=2)
    assert not matches(tree, metadata={"kind": "1"}, text="")
    assert in_words(Within(1)) == "it is in one of the collections"
    assert parse_where({"kind": "1"}) == kind
