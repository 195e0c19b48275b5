"""B6.4: a filter holds for both legs, whatever they would find without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from collections_app.models import Chunk, Collection
from core_app.where import Where, matches, parse_where
from core_app.wiring import store
from search_app.modes import FUSIONS, LEGS
from tests.integration.search.asked import break_call, codes, filled, look, post, sources

pytestmark = pytest.mark.django_db

#: The best by words and by meaning are the same sentence, said often; what passes the filter stands behind them all.
BEST = {f"best{n}": "The fox hunts the hare at night." for n in range(12)}
OTHERS = {"a": "A hare sleeps.", "b": "The night is long for a fox.", "c": "Cooking for two.", "d": "Nothing at all."}
METADATA: Mapping[str, Mapping[str, Any]] = {
    **{name: {"kind": "best"} for name in BEST},
    "a": {"kind": "other", "year": 2019},
    "b": {"kind": "other", "year": 2024, "tags": ["x", "y"]},
    "c": {"kind": "other", "year": 2024},
    "d": {},
}
QUERY = "The fox hunts the hare at night."


@pytest.fixture
def collection(db: None) -> Collection:
    return filled("c", {**BEST, **OTHERS}, metadata=METADATA)


def where(asked: Mapping[str, Any]) -> Where:
    parsed = parse_where(asked)
    assert parsed is not None
    return parsed


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"kind": "other"}, {"a", "b", "c"}),
    ({"kind": {"$ne": "best"}}, {"a", "b", "c", "d"}),
    ({"year": {"$gte": 2020}}, {"b", "c"}),
    ({"tags": {"$contains": "x"}}, {"b"}),
    ({"$and": [{"kind": "other"}, {"year": {"$lt": 2020}}]}, {"a"}),
    ({"kind": "unheard of"}, set()),
]


@pytest.mark.parametrize("fusion", FUSIONS)
def test_b6_4_what_the_filter_keeps_out_is_found_by_neither_leg(collection: Collection, fusion: Any) -> None:
    """The best twelve by words and by meaning are kept out, and all that pass are found: fewer only where fewer are."""
    assert {*sources(look(QUERY, top_k=12))} <= set(BEST)
    for asked, passing in FILTERS:
        found = look(QUERY, top_k=12, where=where(asked), fusion=fusion)
        assert {*sources(found)} == passing
        assert codes(found) == []


@pytest.mark.parametrize("leg", LEGS)
def test_b6_4_every_leg_alone_holds_the_filter(collection: Collection, leg: Any) -> None:
    for asked, passing in FILTERS:
        found = look(QUERY, top_k=12, where=where(asked), legs=leg)
        assert {*sources(found)} == (passing & {"a", "b"} if leg == "lexical" else passing)


@pytest.mark.parametrize("broken", ["dense", "lexical"])
def test_b6_4_b3_5_the_other_leg_holds_it_when_one_fails(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    break_call(monkeypatch, broken)
    found = look(QUERY, top_k=12, where=where({"kind": "other"}))
    assert codes(found) == [f"{broken}_search_failed"]
    assert {*sources(found)} == ({"a", "b"} if broken == "dense" else {"a", "b", "c"})


def test_b6_4_top_k_counts_what_passes(collection: Collection) -> None:
    for top_k in (1, 2, 3):
        assert len(look(QUERY, top_k=top_k, where=where({"kind": "other"})).hits) == top_k


def test_b6_4_every_result_passes_as_the_filters_meaning_has_it(collection: Collection) -> None:
    for asked, _ in FILTERS:
        narrowed = where(asked)
        for hit in look("night", top_k=50, where=narrowed).hits:
            chunk = Chunk.objects.get(external_id=hit.id)
            assert matches(narrowed, metadata=chunk.metadata, text=chunk.text)


def test_b6_4_over_http(collection: Collection, client: Client) -> None:
    found = post(client, QUERY, where={"year": {"$gte": 2020}}, top_k=10)
    assert {hit["metadata"]["source"] for hit in found["results"]} == {"b", "c"}
    assert post(client, QUERY, where={}, top_k=10)["count"] == 10


WRONG: list[object] = [
    {"year": {"$above": 3}},
    {"$and": []},
    [],
    "year",
    {"a": {"$regex": "("}},
    {"a": {"$in": 3}},
]


def test_a_mistake_in_the_filter_is_the_callers(collection: Collection, client: Client) -> None:
    for leg in LEGS:
        for wrong in WRONG:
            assert "where" in str(post(client, QUERY, where=wrong, legs=leg, status=400))


@pytest.mark.parametrize("leg", LEGS)
def test_a_pattern_that_only_postgres_refuses_is_400_and_not_a_failed_leg(
    collection: Collection, client: Client, leg: str
) -> None:
    answer = post(client, QUERY, where={"#document": {"$regex": r"(\b.*){255}"}}, legs=leg, status=400)
    assert answer["code"] == "invalid_where"
    assert "the database finds a pattern too complex" in answer["detail"]


@pytest.mark.parametrize("leg", ["lexical", "dense"])
def test_a_filter_that_takes_too_long_is_400_and_not_a_failed_leg(
    collection: Collection, client: Client, monkeypatch: pytest.MonkeyPatch, leg: str
) -> None:
    def slow(**_: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '20ms'; SELECT pg_sleep(20)")

    monkeypatch.setattr(store("pgvector"), leg, slow)
    assert post(client, QUERY, where={"kind": "other"}, status=400)["code"] == "too_expensive"
    # Without a filter it is the leg that failed.
    assert [warning["code"] for warning in post(client, QUERY)["warnings"]] == [f"{leg}_search_failed"]
