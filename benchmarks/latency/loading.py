"""Collections filled by the services that fill them for users, settled as jobs would leave them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from django.db import transaction
from django.db.models import QuerySet
from numpy.typing import NDArray

from benchmarks.latency.texts import Library, Passage, library
from benchmarks.latency.vectors import Embedded, Vectors
from collections_app.adding import NewChunk, add_chunks
from collections_app.models import Chunk, Collection
from collections_app.selectors import get_collection
from collections_app.services import create_collection, lock_collection, writable_space
from core_app.errors import NotFound
from core_app.ports import Space, Store
from core_app.wiring import embedder, store
from stores_app.models import Segment

#: As the storage API is sent them; merging makes fewer and larger segments of theirs.
_BATCH = 1000


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A collection, and what of it others are given as well; texts and vectors are in the order of `ids`."""

    collection: Collection
    space: Space

    @property
    def store(self) -> Store:
        return store(self.collection.store)

    @property
    def segments(self) -> int:
        """Parts of its word index, each of which every query is looked up in."""
        return Segment.objects.filter(collection_id=self.collection.pk).count()

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        found = self._chunks.values_list("pk", flat=True)
        return np.fromiter(found.iterator(), np.int64)

    @cached_property
    def texts(self) -> list[str]:
        return list(self._chunks.values_list("text", flat=True).iterator())

    @cached_property
    def vectors(self) -> Vectors:
        found = np.empty((len(self), self.space.dimension), np.float32)
        for start in range(0, len(self), _BATCH):
            ids = self.ids[start : start + _BATCH].tolist()
            stored = self.store.vectors(space=self.space, chunk_ids=ids)
            found[start : start + len(ids)] = [stored[chunk_id] for chunk_id in ids]
        return found

    @property
    def _chunks(self) -> QuerySet[Chunk]:
        return Chunk.objects.filter(collection=self.collection).order_by("position")

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, kw_only=True)
class Material:
    """Texts, and vectors around `embedded` real ones."""

    library: Library
    embedded: int

    @classmethod
    def of(cls, folder: Path | None, *, embedded: int) -> Material:
        found = library(folder)
        return cls(library=found, embedded=min(embedded, len(found.kept)))

    @cached_property
    def real(self) -> Embedded:
        texts = [" ".join(found[:6]) for found in self.library.kept[: self.embedded]]
        return Embedded.of(embedder().embed_documents(texts))

    def batches(self, count: int) -> Iterator[tuple[list[Passage], Vectors]]:
        passages = self.library.passages(count, subjects=self.embedded)
        while batch := list(islice(passages, _BATCH)):
            sources = np.array([passage.source for passage in batch])
            # Of one seed for all batches each would have the same noise.
            count -= len(batch)
            yield batch, self.real.around(sources, seed=count)


def load(material: Material, *, name: str, count: int) -> Loaded:
    """A collection with a vector index and merged segments, whose queries the server can embed.

    What an earlier run left whole is taken as it is.
    """
    source = embedder()
    collection, is_new = get_or_new(name)
    with transaction.atomic():
        space = writable_space(
            collection=lock_collection(collection_id=collection.pk),
            embedding_connection=source.connection,
            embedding_model=source.model,
            dimension=source.dimension,
        )
    collection.refresh_from_db()
    loaded = Loaded(collection=collection, space=space)
    if is_new:
        _fill(loaded, material, count)
        _settle(loaded)
    elif len(loaded) != count:
        raise RuntimeError(f"The collection '{name}' is there, and not whole: remove the folder.")
    return loaded


def get_or_new(name: str) -> tuple[Collection, bool]:
    """The collection, and whether it was made now."""
    try:
        return get_collection(name=name), False
    except NotFound:
        return create_collection(name=name), True


def _fill(loaded: Loaded, material: Material, count: int) -> None:
    name, added = loaded.collection.name, 0
    for passages, made in material.batches(count):
        chunks = [
            NewChunk(external_id=f"d{number}", text=passage.text, metadata={"number": number})
            for number, passage in enumerate(passages, start=added)
        ]
        add_chunks(collection_name=name, chunks=chunks, embeddings=lambda made=made: made)  # type: ignore[misc]
        added += len(chunks)
        _tell(f"\r{name}: {added:,} chunks")


def _settle(loaded: Loaded) -> None:
    """What the jobs for maintenance do after such an import."""
    merged = 1
    while merged:
        with transaction.atomic():
            lock_collection(collection_id=loaded.collection.pk)
            merged = loaded.store.compact(collection_id=loaded.collection.pk)
    _tell(", merged")
    loaded.store.build_index(space=loaded.space, check=lambda: None)
    _tell(", indexed")
    loaded.store.reclaim(check=_go_on)
    _tell(", vacuumed\n")


def _tell(text: str) -> None:
    """Beside the tables, which are what is printed."""
    print(text, end="", file=sys.stderr, flush=True)


def _go_on(step: str, done: int, total: int) -> None:
    """Nobody else waits for it."""
