"""Reading chunks: a page of them, one, and the values of a key of their metadata."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db import connection
from psycopg import sql

from collections_app.filters import narrowed as both
from collections_app.models import Chunk, Collection, KeptVector
from collections_app.selectors import get_held
from collections_app.services import space_of
from collections_app.where_sql import condition, filter_errors
from core_app.errors import InvalidInput, NotFound
from core_app.ports import Vectors
from core_app.snapshot import snapshot
from core_app.sql import statement
from core_app.where import Where
from core_app.wiring import store

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
#: More values than any list to choose from can show.
MAX_VALUES = 10_000

Value = str | int | float | bool


@dataclass(frozen=True, kw_only=True)
class StoredChunk:
    """A chunk as callers see it; `embedding` where it was asked for."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    embedding: Vectors | None = None
    #: Then no search finds it.
    is_disabled: bool = False


@dataclass(frozen=True, kw_only=True)
class ChunkPage:
    """Some of the chunks that a filter lets through, `total` being all of them.

    `next_cursor` leads to the next page and is None on the last one.
    """

    chunks: Sequence[StoredChunk]
    total: int
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class ScannedPart:
    """Some of all chunks with their embeddings; `next_cursor` leads to those that follow and is None at the end."""

    chunks: Sequence[StoredChunk]
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class FieldValues:
    """The values of a key: booleans, numbers, strings, each sorted; `truncated` where there were more."""

    values: Sequence[Value] = field(default_factory=list)
    truncated: bool = False


def list_chunks(
    *,
    collection_name: str,
    where: Where | None = None,
    filter_name: str | None = None,
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
    cursor: str | None = None,
    with_embeddings: bool = False,
) -> ChunkPage:
    """Chunks in the order in which they were added (A6); at most MAX_LIMIT of them.

    A cursor goes on after the page that gave it, however deep, and whatever was added or deleted
    meanwhile; with a cursor `offset` counts from there. Raises NotFound, and InvalidInput for a cursor
    that is none.
    """
    limit = min(limit, MAX_LIMIT)
    after = 0 if cursor is None else _position(cursor)
    with filter_errors(), snapshot():
        collection = get_held(name=collection_name)
        narrowed = condition(both(collections=[collection], where=where, filter_name=filter_name))
        given = {"collection_id": collection.pk, **narrowed.params}
        # One more than is shown, to know whether there is a next page.
        rows = _rows("list_chunks", narrowed.sql, {**given, "after": after, "limit": limit + 1, "offset": offset})
        total = int(_rows("count_chunks", narrowed.sql, given)[0][0])
        embeddings = (
            vectors_of(collection=collection, chunk_ids=[row[0] for row in rows[:limit]]) if with_embeddings else {}
        )
    return ChunkPage(
        chunks=[
            StoredChunk(
                id=external_id,
                text=text,
                metadata=json.loads(metadata),
                embedding=embeddings.get(chunk_id),
                is_disabled=is_disabled,
            )
            for chunk_id, external_id, text, metadata, _, is_disabled in rows[:limit]
        ],
        total=total,
        next_cursor=_cursor(rows[limit - 1][4]) if len(rows) > limit else None,
    )


def scan_chunks(*, collection_name: str, cursor: str | None = None, limit: int = MAX_LIMIT) -> ScannedPart:
    """All chunks with their embeddings, part by part in the order in which they were added; nothing is counted.

    What stays meanwhile is seen once. Raises NotFound, and InvalidInput for a cursor that is none.
    """
    after = 0 if cursor is None else _position(cursor)
    with snapshot():
        collection = get_held(name=collection_name)
        given = {"collection_id": collection.pk, "after": after, "limit": limit, "offset": 0}
        rows = _rows("list_chunks", condition(None).sql, given)
        embeddings = vectors_of(collection=collection, chunk_ids=[row[0] for row in rows])
    chunks = [
        StoredChunk(
            id=external_id,
            text=text,
            metadata=json.loads(metadata),
            embedding=embeddings.get(chunk_id),
            is_disabled=is_disabled,
        )
        for chunk_id, external_id, text, metadata, _, is_disabled in rows
    ]
    return ScannedPart(chunks=chunks, next_cursor=_cursor(rows[-1][4]) if len(rows) == limit else None)


def count_chunks(*, collection: Collection, where: Where | None = None, enabled: bool = False) -> int:
    """How many of the collection's chunks a filter lets through; with `enabled` without those that no search finds.

    Raises InvalidInput.
    """
    narrowed = condition(where)
    passing = sql.SQL("{} AND chunk.disabled_at IS NULL").format(narrowed.sql) if enabled else narrowed.sql
    with filter_errors():
        return int(_rows("count_chunks", passing, {"collection_id": collection.pk, **narrowed.params})[0][0])


def passing_chunks(*, chunk_ids: Sequence[int], where: Where) -> set[int]:
    """Which of these chunks a filter lets through. Raises InvalidInput."""
    narrowed = condition(where)
    with filter_errors():
        rows = _rows("passing_chunks", narrowed.sql, {"chunk_ids": list(chunk_ids), **narrowed.params})
    return {row[0] for row in rows}


def get_chunk(*, collection_name: str, external_id: str, with_embedding: bool = False) -> StoredChunk:
    """One chunk. Raises NotFound."""
    with snapshot():
        collection = get_held(name=collection_name)
        chunk = find_chunk(collection=collection, external_id=external_id)
        embeddings = vectors_of(collection=collection, chunk_ids=[chunk.pk]) if with_embedding else {}
    return StoredChunk(
        id=chunk.external_id,
        text=chunk.text,
        metadata=chunk.metadata,
        embedding=embeddings.get(chunk.pk),
        is_disabled=chunk.disabled_at is not None,
    )


def stored_chunks(*, chunk_ids: Sequence[int]) -> dict[int, StoredChunk]:
    """Chunks by their keys, without embeddings; those that are gone are missing from the result."""
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "stored_chunks"), {"chunk_ids": list(chunk_ids)})
        return {
            chunk_id: StoredChunk(id=external_id, text=text, metadata=json.loads(metadata), is_disabled=is_disabled)
            for chunk_id, external_id, text, metadata, is_disabled in cursor.fetchall()
        }


def find_chunk(*, collection: Collection, external_id: str) -> Chunk:
    """The row of a chunk, with its document. Raises NotFound."""
    chunk = Chunk.objects.select_related("document").filter(collection=collection, external_id=external_id).first()
    if chunk is None:
        raise NotFound(
            f"Document '{external_id}' not found in collection '{collection.name}'", code="document_not_found"
        )
    return chunk


def metadata_values(*, collection_name: str, key: str) -> FieldValues:
    """The distinct values of a key of the metadata, arrays unfolded, at most MAX_VALUES (A7).

    Objects and nulls are no values. Raises NotFound in A7.3's words.
    """
    with snapshot():
        try:
            collection = get_held(name=collection_name)
        except NotFound:
            raise NotFound(f"Collection '{collection_name}' does not exist.", code="collection_not_found") from None
        with connection.cursor() as cursor:
            cursor.execute(
                statement("collections_app", "metadata_values"),
                {"collection_id": collection.pk, "field": key, "limit": MAX_VALUES + 1},
            )
            values: list[Value] = [json.loads(value) for (value,) in cursor.fetchall()]
    return FieldValues(values=_sorted(values)[:MAX_VALUES], truncated=len(values) > MAX_VALUES)


def _sorted(values: Sequence[Value]) -> list[Value]:
    flags = [value for value in values if isinstance(value, bool)]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    texts = [value for value in values if isinstance(value, str)]
    return [*sorted(flags), *sorted(numbers), *sorted(texts)]


def _rows(name: str, where: sql.Composable, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    query = sql.SQL(statement("collections_app", name)).format(where=where)
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def vectors_of(*, collection: Collection, chunk_ids: Sequence[int]) -> Mapping[int, Vectors]:
    """The vectors of chunks by chunk id, those of disabled ones too; chunks without one are missing."""
    if collection.active_generation is None or not chunk_ids:
        return {}
    found = store(collection.store).vectors(space=space_of(collection.active_generation), chunk_ids=chunk_ids)
    missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in found]
    return {**found, **kept_vectors(collection=collection, chunk_ids=missing)}


def kept_vectors(*, collection: Collection, chunk_ids: Sequence[int]) -> dict[int, Vectors]:
    """The vectors of chunks that are disabled, by chunk id; those of other chunks are missing."""
    if not chunk_ids or collection.active_generation_id is None:
        return {}
    found = KeptVector.objects.filter(chunk_id__in=chunk_ids, generation_id=collection.active_generation_id)
    return {kept.chunk_id: np.frombuffer(bytes(kept.numbers), dtype=KeptVector.NUMBER) for kept in found}


def _cursor(position: int) -> str:
    return base64.urlsafe_b64encode(position.to_bytes(8, "big")).decode("ascii").rstrip("=")


def _position(cursor: str) -> int:
    try:
        data = base64.b64decode(cursor + "=", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        data = b""
    position = int.from_bytes(data, "big")
    if len(data) != 8 or position >= 2**63:
        raise InvalidInput("cursor: send the next_cursor of an earlier page, as it was.", code="invalid_cursor")
    return position
