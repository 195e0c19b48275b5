"""Storing documents and chunks that another collection was written out as: rows, vectors and words as they were.

Everything here needs the collection's write lock. What is stored is decided by `ingest_app.importing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils import timezone

from collections_app.context import indexed_text
from collections_app.disabling import keep_vectors
from collections_app.exporting import CHUNK_FIELDS, DOCUMENT_FIELDS, TEXT_FIELDS
from collections_app.models import Chunk, Collection, Document, DocumentText
from collections_app.removing import Stored, remove
from collections_app.services import writable_space
from core_app.ports import IndexedChunk, Vectors
from core_app.sql import statement
from core_app.wiring import store

ROOM = "collections_app"


@dataclass(frozen=True, kw_only=True)
class Model:
    """What vectors were made with; without a model they are of the collection's callers."""

    connection: str | None
    model: str | None
    dimension: int


@dataclass(frozen=True, kw_only=True)
class Received:
    """A chunk to store. `values` has `CHUNK_FIELDS`; `replaces` is the row in whose place it comes."""

    external_id: str
    document: Document | None
    values: Mapping[str, Any]
    vector: Vectors
    replaces: Chunk | None


def put_document(
    *, collection: Collection, values: Mapping[str, Any], text: Mapping[str, Any] | None, replaces: Document | None
) -> Document:
    """Store a document without its chunks, new or in the place of an older one.

    Until `end` it has no hash: an ingestion that comes between must not take it for whole.
    """
    row = replaces or Document(collection=collection)
    for name in DOCUMENT_FIELDS:
        setattr(row, name, values[name])
    row.content_hash = ""
    row.save()
    if text is None:
        DocumentText.objects.filter(document=row).delete()
    else:
        DocumentText.objects.update_or_create(document=row, defaults={name: text[name] for name in TEXT_FIELDS})
    return row


def put_chunks(*, collection: Collection, model: Model, chunks: Sequence[Received], documents: frozenset[int]) -> None:
    """Store chunks, with vectors of `model`. `documents` are those that arrive as a whole, by key.

    Raises Conflict where the collection has vectors of another model.
    """
    if not chunks:
        return
    take_out(collection=collection, chunks=[given.replaces for given in chunks if given.replaces], documents=documents)
    space = writable_space(
        collection=collection,
        embedding_connection=model.connection,
        embedding_model=model.model,
        dimension=model.dimension,
    )
    rows = [
        Chunk(
            pk=key,
            collection=collection,
            document=given.document,
            external_id=given.external_id,
            position=given.replaces.position if given.replaces else key,
            **{name: given.values[name] for name in CHUNK_FIELDS},
        )
        for key, given in zip(_next_keys(len(chunks)), chunks, strict=True)
    ]
    Chunk.objects.bulk_create(rows)
    both = list(zip(rows, chunks, strict=True))
    store(collection.store).add(
        space=space,
        language=collection.language,
        chunks=[
            IndexedChunk(chunk_id=row.pk, text=indexed_text(row), embedding=given.vector)
            for row, given in both
            if row.disabled_at is None
        ],
    )
    disabled = {row.pk: given.vector for row, given in both if row.disabled_at is not None}
    keep_vectors(collection=collection, vectors=disabled)


def take_out(*, collection: Collection, chunks: Sequence[Chunk], documents: frozenset[int]) -> None:
    """Take stored chunks out of index and table.

    Those of documents that arrive as a whole go without a look at their neighbours, who get what they are shown
    within from where they come from.
    """
    own = [chunk.pk for chunk in chunks if chunk.document_id in documents]
    others = [chunk for chunk in chunks if chunk.document_id not in documents]
    if own:
        store(collection.store).remove(collection_id=collection.pk, chunk_ids=own)
        with connection.cursor() as cursor:
            cursor.execute(statement(ROOM, "delete_chunks"), {"chunk_ids": own})
    remove(
        collection=collection,
        chunks=[
            Stored(
                external_id=chunk.external_id,
                chunk_id=chunk.pk,
                position=chunk.position,
                document_id=chunk.document_id,
            )
            for chunk in others
        ],
    )


def end(*, hashes: Mapping[int, str]) -> None:
    """Documents, by key, have all their chunks now: count them, and give each its hash."""
    if hashes:
        with connection.cursor() as cursor:
            cursor.execute(
                statement(ROOM, "end_import"), {"document_ids": list(hashes), "hashes": list(hashes.values())}
            )
        Document.objects.filter(pk__in=hashes).update(updated_at=timezone.now())


def _next_keys(count: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "next_chunk_ids"), {"count": count})
        return [key for (key,) in cursor.fetchall()]
