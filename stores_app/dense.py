"""Vectors in Postgres: loading them, and exact search by pgvector's operators.

Distances, smaller being nearer: cosine is 1 - cos, and 1 where either vector has no direction; l2 is
the Euclidean distance; ip is the negated inner product.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from django.db import connection
from pgvector import Vector

from core_app.errors import InvalidInput
from core_app.ports import DenseHit, IndexedChunk, Space, Vectors
from core_app.sql import statement
from stores_app.transfer import ROOM, binary_cursor, copy

#: pgvector adds up in single precision. Below this squared length no distance of two vectors overflows.
_LARGEST_SQUARED_LENGTH = float(np.finfo(np.float32).max) / 4


Row = tuple[int, int, bytes]


def rows(*, space: Space, chunks: Iterable[IndexedChunk]) -> list[Row]:
    """The chunks' vectors as `add` takes them. Raises InvalidInput for one that does not fit the space."""
    return [
        (space.generation_id, chunk.chunk_id, Vector(_checked(chunk.embedding, space)).to_binary()) for chunk in chunks
    ]


def add(vectors: Iterable[Row]) -> None:
    """Load vectors."""
    copy("add_vectors", types=("int8", "int8", "bytea"), rows=vectors)


def remove(*, collection_id: int, chunk_ids: Sequence[int]) -> None:
    """Delete the chunks' vectors in every generation of the collection."""
    with connection.cursor() as cursor:
        cursor.execute(
            statement(ROOM, "remove_vectors"), {"collection_id": collection_id, "chunk_ids": list(chunk_ids)}
        )


def nearest(*, space: Space, query: Vectors, limit: int) -> list[DenseHit]:
    """The `limit` nearest chunks, nearest first, ties by chunk id."""
    found = _distances("dense", space, query, limit=max(limit, 0))
    return [DenseHit(chunk_id=chunk_id, distance=distance) for chunk_id, distance in found]


def distances(*, space: Space, query: Vectors, chunk_ids: Sequence[int]) -> dict[int, float]:
    """Distances by chunk id, for those that have a vector in the space."""
    return dict(_distances("distances", space, query, chunk_ids=list(chunk_ids)))


def _distances(name: str, space: Space, query: Vectors, **more: int | list[int]) -> list[tuple[int, float]]:
    with binary_cursor() as cursor:
        cursor.execute(
            statement(ROOM, name),
            {
                "generation_id": space.generation_id,
                "distance": space.distance,
                "query": Vector(_checked(query, space)).to_text(),
                **more,
            },
        )
        found: list[tuple[int, float]] = cursor.fetchall()
        return found


def _checked(vector: Vectors, space: Space) -> Vectors:
    """`vector` in single precision, if it can be compared in this space."""
    if vector.shape != (space.dimension,):
        raise InvalidInput(
            f"A vector has {vector.size} numbers where this collection's have {space.dimension}. "
            "Use the model its other vectors were made with.",
            code="dimension_mismatch",
        )
    with np.errstate(over="ignore"):
        single = np.asarray(vector, np.float32)
    # The squares of finite floats never overflow doubles; NaN and infinity fail the comparison too.
    if not np.square(single, dtype=np.float64).sum() < _LARGEST_SQUARED_LENGTH:
        raise InvalidInput(
            "A vector has numbers that are not finite, or too large to compare. Send it scaled down, "
            "without NaN or infinity.",
            code="invalid_vector",
        )
    return single
