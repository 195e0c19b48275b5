"""Vectors in Postgres: loading them, and distances by pgvector's operators.

Distances, smaller being nearer: cosine is 1 - cos, and 1 where either vector has no direction; l2 is
the Euclidean distance; ip is the negated inner product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import connection
from pgvector import Vector

from core_app.errors import InvalidInput
from core_app.ports import IndexedChunk, Space, Vectors
from core_app.sql import statement
from stores_app.hnsw import composed
from stores_app.transfer import ROOM, binary_cursor

#: pgvector adds up in single precision. Below this squared length no distance of two vectors overflows.
_LARGEST_SQUARED_LENGTH = float(np.finfo(np.float32).max) / 4

_COPY_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_COPY_TRAILER = b"\xff\xff"


def packed(*, space: Space, chunks: Sequence[IndexedChunk]) -> bytes:
    """The chunks' vectors as `add` takes them. Raises InvalidInput for one that does not fit the space."""
    numbers = checked([chunk.embedding for chunk in chunks], space)
    rows = np.zeros(len(chunks), _row(space.dimension))
    rows["columns"] = 3
    rows["generation_size"] = rows["chunk_size"] = 8
    rows["generation"] = space.generation_id
    rows["chunk"] = [chunk.chunk_id for chunk in chunks]
    rows["embedding_size"] = 4 + 4 * space.dimension
    rows["dimension"] = space.dimension
    rows["numbers"] = numbers
    return b"".join((_COPY_HEADER, rows.tobytes(), _COPY_TRAILER))


def _row(dimension: int) -> np.dtype[np.void]:
    """One row of `add_vectors` in the binary form of COPY, which is what numpy makes of it in one go.

    The number of columns, then each column after its size in bytes; of a vector the dimension, two
    bytes of nothing, the numbers.
    """
    return np.dtype(
        [
            ("columns", ">i2"),
            ("generation_size", ">i4"),
            ("generation", ">i8"),
            ("chunk_size", ">i4"),
            ("chunk", ">i8"),
            ("embedding_size", ">i4"),
            ("dimension", ">i2"),
            ("unused", ">i2"),
            ("numbers", ">f4", (dimension,)),
        ]
    )


def add(vectors: bytes) -> None:
    """Load vectors."""
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(statement(ROOM, "add_vectors")) as stream,
    ):
        stream.write(vectors)


def remove(*, collection_id: int, chunk_ids: Sequence[int]) -> None:
    """Delete the chunks' vectors in every generation of the collection."""
    with binary_cursor() as cursor:
        cursor.execute(
            statement(ROOM, "remove_vectors"), {"collection_id": collection_id, "chunk_ids": list(chunk_ids)}
        )


def empty(*, collection_id: int) -> None:
    """Delete every vector of the collection."""
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "empty_vectors"), {"collection_id": collection_id})


def distances(*, space: Space, query: Vectors, chunk_ids: Sequence[int]) -> dict[int, float]:
    """Distances by chunk id, for those that have a vector in the space."""
    (numbers,) = checked([query], space)
    params: dict[str, Any] = {"query": Vector(numbers), "chunk_ids": list(chunk_ids)}
    with binary_cursor() as cursor:
        cursor.execute(composed("distances", space=space), params)
        return dict(cursor.fetchall())


def vectors(*, space: Space, chunk_ids: Sequence[int]) -> dict[int, Vectors]:
    """Stored vectors by chunk id, for those that have one in the space."""
    with binary_cursor() as cursor:
        cursor.execute(statement(ROOM, "vectors"), {"generation_id": space.generation_id, "chunk_ids": list(chunk_ids)})
        return {chunk_id: np.asarray(numbers, np.float32) for chunk_id, numbers in cursor.fetchall()}


def checked(vectors: Sequence[Vectors], space: Space) -> Vectors:
    """The vectors in single precision, of shape (len(vectors), dimension), if they can be compared in this space."""
    for vector in vectors:
        if vector.shape != (space.dimension,):
            raise InvalidInput(
                f"A vector has {vector.size} numbers where this collection's have {space.dimension}. "
                "Use the model its other vectors were made with.",
                code="dimension_mismatch",
            )
    with np.errstate(over="ignore"):
        single = np.array(vectors, np.float32)
    # The squares of finite floats never overflow doubles; NaN and infinity fail the comparison too.
    if not (np.einsum("ij,ij->i", single, single, dtype=np.float64) < _LARGEST_SQUARED_LENGTH).all():
        raise InvalidInput(
            "A vector has numbers that are not finite, or too large to compare. Send it scaled down, "
            "without NaN or infinity.",
            code="invalid_vector",
        )
    return single
