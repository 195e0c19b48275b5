"""Looking at some chunks of a collection, where looking at all of them takes too long."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import connection
from psycopg import sql

from collections_app.models import Collection
from core_app.sql import statement

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Source:
    """A subquery of chunks, and the values of its placeholders."""

    sql: sql.Composable
    params: dict[str, Any]
    is_sample: bool


def all_chunks(collection: Collection) -> Source:
    return Source(
        sql=sql.SQL(statement("collections_app", "all_chunks")),
        params={"collection_id": collection.pk},
        is_sample=False,
    )


def some_chunks(collection: Collection, size: int) -> Source:
    """At most so many, spread over the collection, and the same at each call while nothing changes.

    One in each of equal parts but not at equal distances: those would fall in step with metadata that repeats.
    """
    chance = random.Random(size)  # noqa: S311 - no secret
    return Source(
        sql=sql.SQL(statement("collections_app", "sampled_chunks")),
        params={
            "collection_id": collection.pk,
            "places": [(number + chance.random()) / size for number in range(size)],
        },
        is_sample=True,
    )


def has_more_than(collection: Collection, most: int) -> bool:
    """Whether the collection has more chunks, without counting them all."""
    with connection.cursor() as cursor:
        cursor.execute(
            statement("collections_app", "count_at_most"), {"collection_id": collection.pk, "most": most + 1}
        )
        return int(cursor.fetchone()[0]) > most
