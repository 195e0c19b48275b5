"""Changing one stored chunk: its metadata in place; its text and embedding by a new row in its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction

from collections_app.context import indexed_text
from collections_app.models import Chunk, Collection
from collections_app.reading import StoredChunk, find_chunk
from collections_app.removing import Stored, remove
from collections_app.selectors import get_collection
from collections_app.services import lock_collection, space_of, touch
from core_app.errors import InvalidInput
from core_app.ports import IndexedChunk, Vectors
from core_app.sql import statement
from core_app.wiring import store

#: Where an ingested chunk comes from is no matter of opinion.
SYSTEM_FIELDS = ("source", "page_number", "chunk_index", "section")


def change_chunk(
    *,
    collection_name: str,
    external_id: str,
    metadata: Mapping[str, Any] | None = None,
    text: str | None = None,
    embedding: Vectors | None = None,
) -> StoredChunk:
    """Merge metadata (a null takes its key away) and replace the embedding, with a new text or the old one.

    `embedding` has the shape (dimension,). A text alone would no longer fit its embedding: InvalidInput.
    Of an ingested chunk the system fields stay as they are, and its source is ingested anew when it is
    sent again. Raises NotFound.
    """
    if text is not None and embedding is None:
        raise InvalidInput("embedding: send the embedding of the new text with it.", code="embeddings_required")
    with transaction.atomic():
        collection = lock_collection(collection_id=get_collection(name=collection_name).pk)
        chunk = find_chunk(collection=collection, external_id=external_id)
        _check_system_fields(chunk, metadata or {})
        patch = metadata or {}
        taken_away = {key for key, value in patch.items() if value is None}
        merged = {**chunk.metadata, **patch}
        chunk.metadata = {key: value for key, value in merged.items() if key not in taken_away}
        if embedding is None:
            chunk.save(update_fields=["metadata"])
        else:
            _replace(collection, chunk, chunk.text if text is None else text, embedding)
        if chunk.document_id is not None:
            with connection.cursor() as cursor:
                cursor.execute(statement("collections_app", "recount_documents"), {"document_ids": [chunk.document_id]})
        touch(collection=collection)
    return StoredChunk(id=chunk.external_id, text=chunk.text, metadata=chunk.metadata, embedding=embedding)


def _check_system_fields(chunk: Chunk, metadata: Mapping[str, Any]) -> None:
    if chunk.document is None:
        return
    for key in SYSTEM_FIELDS:
        if key in metadata and metadata[key] != chunk.metadata.get(key):
            raise InvalidInput(
                f"metadata.{key}: is set by ingestion and cannot be changed. Use another key.", code="system_field"
            )


def _replace(collection: Collection, chunk: Chunk, text: str, embedding: Vectors) -> None:
    """A new row with a key of its own: the index knows the old key's words and vector for ever.

    Another text is not the document's, so it is not shown within it.
    """
    generation = collection.active_generation
    assert generation is not None, "a collection with a chunk has a generation"
    old = Stored(
        external_id=chunk.external_id, chunk_id=chunk.pk, position=chunk.position, document_id=chunk.document_id
    )
    is_same = text == chunk.text
    remove(collection=collection, chunks=[old], keep_parents=is_same)
    if not is_same:
        chunk.text, chunk.parent_start, chunk.parent_end = text, None, None
        chunk.start_offset = chunk.end_offset = None
    chunk.pk = None
    chunk.save(force_insert=True)
    store(collection.store).add(
        space=space_of(generation),
        language=collection.language,
        chunks=[IndexedChunk(chunk_id=chunk.pk, text=indexed_text(chunk), embedding=embedding)],
    )
