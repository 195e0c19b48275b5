"""Changing one stored chunk: its metadata in place; its text and embedding by a new row in its place.

A document that has such chunks is taken for unchanged as long as its source is, so that what was mended stays mended;
a source that did change replaces them (docs/decisions/0024).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from access_app.audit import record
from collections_app.context import indexed_text
from collections_app.disabling import apply_disabled, keep_vectors
from collections_app.models import Chunk, Collection
from collections_app.parents import take_parents_back
from collections_app.reading import StoredChunk, find_chunk
from collections_app.selectors import get_held
from collections_app.services import lock_collection, space_of, touch
from core_app.errors import InvalidInput
from core_app.ports import IndexedChunk, Vectors
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
    disabled: bool | None = None,
) -> StoredChunk:
    """Merge metadata (a null takes its key away), replace the embedding, with a new text or the old one, and disable
    the chunk or enable it.

    `embedding` has the shape (dimension,). A text alone would no longer fit its embedding: InvalidInput.
    Of an ingested chunk the system fields stay as they are. Raises NotFound, and Conflict for a chunk that cannot be
    enabled.
    """
    if text is not None and embedding is None:
        raise InvalidInput("embedding: send the embedding of the new text with it.", code="embeddings_required")
    with transaction.atomic():
        collection = lock_collection(collection_id=get_held(name=collection_name).pk)
        chunk = find_chunk(collection=collection, external_id=external_id)
        before = audited(chunk)
        patch = metadata or {}
        taken_away = {key for key, value in patch.items() if value is None}
        merged = {key: value for key, value in {**chunk.metadata, **patch}.items() if key not in taken_away}
        if metadata is not None or embedding is not None:
            check_system_fields(chunk=chunk, metadata=patch)
            rewrite(collection=collection, chunk=chunk, metadata=merged, text=text, embedding=embedding)
        if disabled is not None:
            apply_disabled(collection=collection, chunk=chunk, disabled=disabled)
        touch(collection=collection)
        after = audited(chunk)
        if embedding is not None:
            after["embedding"] = "replaced"
        record("chunk.changed", chunk, collection=collection.name, before=before, after=after)
    return StoredChunk(
        id=chunk.external_id,
        text=chunk.text,
        metadata=chunk.metadata,
        embedding=embedding,
        is_disabled=chunk.disabled_at is not None,
    )


def audited(chunk: Chunk) -> dict[str, Any]:
    """What the audit log keeps of a chunk."""
    return {"text": chunk.text, "metadata": chunk.metadata, "disabled": chunk.disabled_at is not None}


def check_system_fields(*, chunk: Chunk, metadata: Mapping[str, Any]) -> None:
    """Raise InvalidInput where an ingested chunk would get another value in a field of ingestion's."""
    if chunk.document_id is None:
        return
    for key in SYSTEM_FIELDS:
        if key in metadata and metadata[key] != chunk.metadata.get(key):
            raise InvalidInput(
                f"metadata.{key}: is set by ingestion and cannot be changed. Use another key.", code="system_field"
            )


def rewrite(
    *,
    collection: Collection,
    chunk: Chunk,
    metadata: Mapping[str, Any],
    text: str | None = None,
    embedding: Vectors | None = None,
) -> None:
    """Give a chunk this metadata and, where there is an embedding, that and the text. Needs the write lock."""
    chunk.metadata = dict(metadata)
    chunk.edited_at = timezone.now()
    if embedding is None:
        chunk.save(update_fields=["metadata", "edited_at"])
        store(collection.store).changed(collection_id=collection.pk, chunk_ids=[chunk.pk])
    else:
        _replace(collection, chunk, chunk.text if text is None else text, embedding)


def _replace(collection: Collection, chunk: Chunk, text: str, embedding: Vectors) -> None:
    """A new row with a key of its own: the index knows the old key's words and vector for ever.

    Another text is not the document's, so it is not shown within it.
    """
    generation = collection.active_generation
    assert generation is not None, "a collection with a chunk has a generation"
    searched = store(collection.store)
    searched.remove(collection_id=collection.pk, chunk_ids=[chunk.pk])
    if text != chunk.text:
        take_parents_back(chunk_ids=[chunk.pk])
        if chunk.document_id is not None and chunk.original_text is None:
            chunk.original_text = chunk.text
        chunk.text, chunk.parent_start, chunk.parent_end = text, None, None
        chunk.start_offset = chunk.end_offset = None
    Chunk.objects.filter(pk=chunk.pk).delete()
    chunk.pk = None
    chunk.save(force_insert=True)
    indexed = IndexedChunk(chunk_id=chunk.pk, text=indexed_text(chunk), embedding=embedding)
    searched.add(space=space_of(generation), language=collection.language, chunks=[indexed])
    if chunk.disabled_at is not None:
        # Once in the index, so that a vector that does not fit is refused here and not when it is put back.
        keep_vectors(collection=collection, vectors={chunk.pk: embedding})
        searched.remove(collection_id=collection.pk, chunk_ids=[chunk.pk])
