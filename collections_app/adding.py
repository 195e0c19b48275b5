"""Storing chunks that come with their own embeddings (A4)."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db import connection, transaction

from access_app.audit import record
from collections_app.disabling import set_aside
from collections_app.models import Chunk, Collection
from collections_app.removing import Stored, remove
from collections_app.services import (
    bound_waiting,
    get_or_create_default,
    get_or_plan_default,
    lock_collection,
    space_of,
    touch,
    writable_space,
)
from core_app.copying import copy
from core_app.errors import InvalidInput
from core_app.ports import IndexedChunk, Space, Vectors
from core_app.sql import statement
from core_app.wiring import store

MAX_CHUNKS = 10_000
#: So that the index on it can hold it.
MAX_ID_BYTES = 1024
#: Postgres' binary form of an empty text[]: no dimensions, no nulls, the type's OID.
_NO_SECTION = struct.pack("!iii", 0, 0, 25)
_JSONB_VERSION = b"\x01"


@dataclass(frozen=True, kw_only=True)
class NewChunk:
    """A chunk to store; without an id it is given one."""

    external_id: str | None
    text: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Added:
    """`ids` in the order of what was given; `count` is how many chunks are stored for it."""

    collection: Collection
    ids: Sequence[str]
    count: int


@dataclass(frozen=True, kw_only=True)
class _Row:
    chunk_id: int
    position: int
    external_id: str
    chunk: NewChunk
    embedding: Vectors


def add_chunks(*, collection_name: str, chunks: Sequence[NewChunk], embeddings: Callable[[], Vectors]) -> Added:
    """Store chunks with embeddings of shape (chunks, dimension), all of them or none.

    `embeddings` is called once, while words are read in another process: decoding numbers takes as long.
    An id that exists is replaced and keeps its place in the order; of an id given twice the last one stays.
    The first add fixes the dimension. Raises NotFound, InvalidInput for a bad id, another dimension
    than the collection's, or numbers that are not finite, and what `embeddings` raises.
    """
    ids = [_checked_id(chunk.external_id, index) for index, chunk in enumerate(chunks)]
    last = {external_id: index for index, external_id in enumerate(ids)}
    planned = get_or_plan_default(name=collection_name)
    texts = [chunks[index].text for index in last.values()]
    with store(planned.store).prepare(language=planned.language, texts=texts) as prepared:
        vectors = embeddings()
        prepared.settle()
        with transaction.atomic():
            # Within it: what is refused further down makes no collection.
            bound_waiting()
            found = get_or_create_default(name=collection_name)
            collection = lock_collection(collection_id=found.pk)
            space = _space(collection, dimension=vectors.shape[1])
            disabled = _disabled(collection, list(last))
            rows = _replace(collection, last, chunks, vectors)
            copy("collections_app", "add_chunks", types=_TYPES, rows=_copied(collection, rows))
            store(collection.store).add(
                space=space, language=collection.language, chunks=_indexed(rows), prepared=prepared
            )
            _disable_again(collection, rows, disabled)
            touch(collection=collection)
            record("chunks.added", collection, after={"chunks": len(rows)})
    return Added(collection=collection, ids=ids, count=len(last))


def _replace(
    collection: Collection, last: Mapping[str, int], chunks: Sequence[NewChunk], vectors: Vectors
) -> list[_Row]:
    """New rows, in whose place nothing is stored any more; `last` has the index of each id's chunk and vector."""
    replaced = {row.external_id: row for row in _stored(collection, list(last))}
    remove(collection=collection, chunks=list(replaced.values()))
    return [
        _Row(
            chunk_id=chunk_id,
            position=replaced[external_id].position if external_id in replaced else chunk_id,
            external_id=external_id,
            chunk=chunks[index],
            embedding=vectors[index],
        )
        for chunk_id, (external_id, index) in zip(_next_ids(len(last)), last.items(), strict=True)
    ]


def _disabled(collection: Collection, external_ids: list[str]) -> dict[str, Chunk]:
    """Those of the chunks with these ids that no search finds."""
    found = Chunk.objects.filter(collection=collection, disabled_at__isnull=False, external_id__in=external_ids)
    return {chunk.external_id: chunk for chunk in found}


def _disable_again(collection: Collection, rows: Sequence[_Row], disabled: Mapping[str, Chunk]) -> None:
    """What comes again as it was stays disabled; another text does not."""
    same = {
        row.chunk_id: disabled[row.external_id].disabled_at
        for row in rows
        if row.external_id in disabled and disabled[row.external_id].text == row.chunk.text
    }
    chunks = list(Chunk.objects.filter(pk__in=same)) if same else []
    for chunk in chunks:
        chunk.disabled_at = same[chunk.pk]
    set_aside(collection=collection, chunks=chunks)


def _checked_id(external_id: str | None, index: int) -> str:
    if external_id is None:
        return str(uuid.uuid4())
    if not external_id or len(external_id.encode("utf-8")) > MAX_ID_BYTES:
        raise InvalidInput(f"documents[{index}].id: use 1 to {MAX_ID_BYTES} bytes.", code="invalid_id")
    return external_id


def _space(collection: Collection, *, dimension: int) -> Space:
    generation = collection.active_generation
    if generation is None:
        # Of the caller's own making: the server has no model that a query could be embedded with.
        return writable_space(
            collection=collection, embedding_connection=None, embedding_model=None, dimension=dimension
        )
    if generation.dimension != dimension:
        raise InvalidInput(
            f"Collection '{collection.name}' holds embeddings of {generation.dimension} numbers, these have "
            f"{dimension}. Use the model its other embeddings were made with, or another collection.",
            code="dimension_mismatch",
        )
    return space_of(generation)


def _stored(collection: Collection, external_ids: list[str]) -> list[Stored]:
    with connection.cursor() as cursor:
        cursor.execute(
            statement("collections_app", "chunks_by_external_id"),
            {"collection_id": collection.pk, "external_ids": external_ids},
        )
        return [
            Stored(external_id=external_id, chunk_id=chunk_id, position=position, document_id=document_id)
            for external_id, chunk_id, position, document_id in cursor.fetchall()
        ]


def _next_ids(count: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "next_chunk_ids"), {"count": count})
        return [chunk_id for (chunk_id,) in cursor.fetchall()]


#: Of add_chunks.sql's columns; what is given as bytea is in the column's own binary form.
_TYPES = ("int8", "int8", "int8", "text", "text", "bytea", "bytea")


def _copied(collection: Collection, rows: Sequence[_Row]) -> Iterator[tuple[Any, ...]]:
    encode = msgspec.json.Encoder().encode
    for row in rows:
        metadata = _JSONB_VERSION + encode(row.chunk.metadata)
        yield row.chunk_id, row.position, collection.pk, row.external_id, row.chunk.text, metadata, _NO_SECTION


def _indexed(rows: Sequence[_Row]) -> list[IndexedChunk]:
    return [IndexedChunk(chunk_id=row.chunk_id, text=row.chunk.text, embedding=row.embedding) for row in rows]
