"""Disabling chunks: stored and shown, but found by no search, until they are enabled again.

A chunk that is disabled is in no index: neither its vector nor its words, so no search has to know of it and BM25
counts as if it had never been there. Its vector is kept beside it, and put back as it was (docs/decisions/0024).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from django.db import transaction
from django.utils import timezone

from access_app.audit import record
from collections_app.context import indexed_text
from collections_app.models import Chunk, Collection, Document, KeptVector
from collections_app.reading import find_chunk, kept_vectors
from collections_app.selectors import get_held
from collections_app.services import lock_collection, space_of, touch
from core_app.copying import copy
from core_app.errors import Conflict
from core_app.ports import IndexedChunk, Vectors
from core_app.wiring import store


def set_disabled(*, collection_name: str, external_id: str, disabled: bool) -> Chunk:
    """Take a chunk out of all searches, or put it back; the row, which has another key once it is back.

    One that is so already stays as it is. Raises NotFound, and Conflict for one that cannot be put back.
    """
    with transaction.atomic():
        collection = lock_collection(collection_id=get_held(name=collection_name).pk)
        chunk = find_chunk(collection=collection, external_id=external_id)
        if apply_disabled(collection=collection, chunk=chunk, disabled=disabled):
            touch(collection=collection)
            was, now = {"disabled": not disabled}, {"disabled": disabled}
            record("chunk.changed", chunk, collection=collection.name, before=was, after=now)
    return chunk


def apply_disabled(*, collection: Collection, chunk: Chunk, disabled: bool) -> bool:
    """The same within a transaction that holds the write lock; False where it was so already."""
    if disabled == (chunk.disabled_at is not None):
        return False
    if disabled:
        chunk.disabled_at = timezone.now()
        set_aside(collection=collection, chunks=[chunk])
    else:
        _put_back(collection, chunk)
    return True


def set_aside(*, collection: Collection, chunks: Sequence[Chunk]) -> None:
    """Take chunks out of the index, keeping their vectors, and note when: their `disabled_at`. Needs the write lock."""
    generation = collection.active_generation
    if not chunks or generation is None:
        return
    searched, keys = store(collection.store), [chunk.pk for chunk in chunks]
    vectors = searched.vectors(space=space_of(generation), chunk_ids=keys)
    keep_vectors(collection=collection, vectors=vectors)
    searched.remove(collection_id=collection.pk, chunk_ids=keys)
    Chunk.objects.bulk_update(chunks, ["disabled_at"], batch_size=500)


def keep_vectors(*, collection: Collection, vectors: Mapping[int, Vectors]) -> None:
    """Remember the vectors of chunks that are disabled, by their keys. Needs the write lock."""
    if not vectors:
        return
    generation = collection.active_generation
    assert generation is not None, "a collection with a vector has a generation"
    rows = (
        (key, generation.pk, np.asarray(vector, dtype=KeptVector.NUMBER).tobytes()) for key, vector in vectors.items()
    )
    copy("collections_app", "add_kept_vectors", types=("int8", "int8", "bytea"), rows=rows)


def _put_back(collection: Collection, chunk: Chunk) -> None:
    """A new row with a key of its own: the index knows the words and the vector of the old key for ever."""
    vector = kept_vectors(collection=collection, chunk_ids=[chunk.pk]).get(chunk.pk)
    generation = collection.active_generation
    if vector is None or generation is None:
        raise Conflict(
            "Its vector was not kept, or is of another model than the collection has now. Ingest its document again, "
            "or send the passage with its embedding.",
            code="vector_not_kept",
        )
    Chunk.objects.filter(pk=chunk.pk).delete()
    chunk.pk, chunk.disabled_at = None, None
    chunk.save(force_insert=True)
    store(collection.store).add(
        space=space_of(generation),
        language=collection.language,
        chunks=[IndexedChunk(chunk_id=chunk.pk, text=indexed_text(chunk), embedding=vector)],
    )


class DisabledTexts:
    """What was disabled of a document that is about to be replaced, so that the same text stays disabled."""

    def __init__(self, document: Document) -> None:
        self._left: defaultdict[str, list[tuple[int | None, datetime]]] = defaultdict(list)
        disabled = Chunk.objects.filter(document=document, disabled_at__isnull=False).order_by("ordinal")
        for text, original, ordinal, at in disabled.values_list("text", "original_text", "ordinal", "disabled_at"):
            if at is not None:
                self._left[text if original is None else original].append((ordinal, at))

    def mark(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Set `disabled_at` of the new chunks that say what a disabled one said; those chunks.

        Where a text occurs more often than it was disabled, the one at the same place is, and then the first.
        """
        candidates = [chunk for chunk in chunks if chunk.text in self._left]
        in_place = [chunk for chunk in candidates if self._take(chunk, anywhere=False)]
        taken = {chunk.ordinal for chunk in in_place}
        moved = [chunk for chunk in candidates if chunk.ordinal not in taken and self._take(chunk, anywhere=True)]
        return in_place + moved

    def _take(self, chunk: Chunk, *, anywhere: bool) -> bool:
        left = self._left[chunk.text]
        for index, (ordinal, at) in enumerate(left):
            if anywhere or ordinal == chunk.ordinal:
                chunk.disabled_at = at
                del left[index]
                return True
        return False
