"""What is missing in collections: documents without chunks, those whose last attempt failed, chunks without vectors.

What is counted or looked for here may take long where much is stored: callers bound it (`core_app.snapshot.in_time`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import QuerySet

from collections_app.models import Collection, Document
from core_app.sql import statement
from core_app.wiring import store


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Numbers of one collection's documents."""

    without_chunks: int = 0
    failed: int = 0
    #: Of the files, as they were sent.
    size_bytes: int = 0


def coverage_of(*, collections: Sequence[Collection]) -> dict[int, Coverage]:
    """By the collections' keys; zeros for one without documents."""
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "coverage"), {"collections": [row.pk for row in collections]})
        found = {
            key: Coverage(without_chunks=without, failed=failed, size_bytes=size)
            for key, without, failed, size in cursor.fetchall()
        }
    return {row.pk: found.get(row.pk, Coverage()) for row in collections}


def without_chunks(*, collection: Collection) -> QuerySet[Document]:
    """Documents that are ready, and of which nothing can be found."""
    found = Document.objects.filter(collection=collection, state=Document.State.READY, chunk_count=0)
    return found.defer("metadata").order_by("pk")


def failed(*, collection: Collection) -> QuerySet[Document]:
    """Documents whose last attempt failed, those that are found in an older version among them."""
    return Document.objects.filter(collection=collection).exclude(error="").defer("metadata").order_by("pk")


def count_without_vectors(*, collections: Sequence[Collection]) -> dict[int, int]:
    """How many chunks of each collection have no vector, by the collections' keys."""
    found: dict[int, int] = {}
    for name in sorted({row.store for row in collections}):
        generations = {row.pk: row.active_generation_id for row in collections if row.store == name}
        found |= store(name).count_without_vectors(generations=generations)
    return found


def chunks_without_vectors(*, collection: Collection, after: int, limit: int) -> list[int]:
    """The keys of the next of them after a key, ascending."""
    return store(collection.store).without_vectors(
        collection_id=collection.pk, generation_id=collection.active_generation_id, after=after, limit=limit
    )
