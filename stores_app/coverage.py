"""Which chunks have no vector: they are found by their words alone."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection

from core_app.sql import statement

ROOM = "stores_app"


def count_without_vectors(*, generations: Mapping[int, int | None]) -> dict[int, int]:
    """How many chunks of each collection have no vector in the generation beside it; all where there is none."""
    asked = {
        "collections": list(generations),
        "generations": [-1 if generation is None else generation for generation in generations.values()],
    }
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "without_vectors"), asked)
        return dict(cursor.fetchall())


def chunks_without_vectors(*, collection_id: int, generation_id: int | None, after: int, limit: int) -> list[int]:
    """The keys of the next of them, ascending."""
    asked = {
        "collection_id": collection_id,
        "generation_id": -1 if generation_id is None else generation_id,
        "after": after,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "chunks_without_vectors"), asked)
        return [key for (key,) in cursor.fetchall()]
