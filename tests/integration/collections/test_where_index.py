"""Filters that the index on metadata answers."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from psycopg import sql

from collections_app.models import Chunk, Collection
from collections_app.where_sql import MAX_LOOKUPS, condition
from core_app.where import parse_where

ROWS = 5_000


@pytest.fixture
def collection(db: None) -> Collection:
    """Documents of which each value is held by few."""
    collection = Collection.objects.create(name="many", store="pgvector")
    Chunk.objects.bulk_create(
        Chunk(
            collection=collection,
            external_id=str(number),
            metadata={"section": number % 1_000, "kind": f"k{number % 700}", "tags": [f"t{number % 500}", "all"]},
        )
        for number in range(ROWS)
    )
    with connection.cursor() as cursor:
        # What was just added waits in a list that each look into the index would read, and the planner knows.
        cursor.execute("SELECT gin_clean_pending_list('chunk_metadata')")
        cursor.execute("ANALYZE collections_chunk")
    return collection


def plan(filter_: dict[str, Any], collection: Collection) -> str:
    asked = condition(parse_where(filter_))
    statement = sql.SQL(
        "EXPLAIN SELECT chunk.id FROM collections_chunk AS chunk WHERE chunk.collection_id = %(collection)s AND {where}"
    ).format(where=asked.sql)
    with connection.cursor() as cursor:
        cursor.execute(statement, {"collection": collection.pk, **asked.params})
        return "\n".join(line for (line,) in cursor.fetchall())


def test_the_index_is_chosen_where_few_documents_match(collection: Collection) -> None:
    """By the planner on its own, beside the indexes on collections."""
    for filter_ in (
        {"section": 7},
        {"section": 7.0},
        {"kind": "k3", "section": {"$lt": 500}},
        {"$and": [{"section": 7}, {"kind": "k7"}]},
        {"$or": [{"section": 7}, {"kind": "k8"}]},
        {"kind": {"$in": ["k1", "k2", "k3"]}},
        {"tags": {"$contains": "t5"}},
        {"tags": {"$contains": "t5"}, "#document": {"$not_contains": "x"}},
    ):
        assert "Bitmap Index Scan on chunk_metadata" in plan(filter_, collection), filter_


def test_all_values_of_a_short_list_are_looked_up(collection: Collection) -> None:
    values = [f"k{number}" for number in range(MAX_LOOKUPS)]
    assert plan({"kind": {"$in": values}}, collection).count("chunk_metadata") == MAX_LOOKUPS
    assert "chunk_metadata" not in plan({"kind": {"$in": [*values, "more"]}}, collection)
