"""Collections with chunks, as the ingesting room would have written them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from django.db import transaction

from collections_app.models import Chunk, Collection, Generation
from core_app.ports import Bm25, DistanceName, IndexedChunk, Space
from stores_app.pgvector import PgVectorStore

_names = count(1)


@dataclass
class Shelf:
    """One collection, its space, and the store under test; chunks are named by any text."""

    collection: Collection
    space: Space
    store: PgVectorStore = field(default_factory=PgVectorStore)
    bm25: Bm25 = field(default_factory=lambda: Bm25(language="english", k1=1.2, b=0.75))
    ids: dict[str, int] = field(default_factory=dict)

    def add(
        self,
        texts: Mapping[str, str],
        vectors: Mapping[str, Sequence[float]] | None = None,
        metadata: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> dict[str, int]:
        rows = Chunk.objects.bulk_create(
            Chunk(collection=self.collection, external_id=name, text=text, metadata=(metadata or {}).get(name, {}))
            for name, text in texts.items()
        )
        new = {row.external_id: row.pk for row in rows}
        self.index(
            [
                IndexedChunk(
                    chunk_id=row.pk,
                    text=row.text,
                    embedding=np.array((vectors or {}).get(row.external_id, [1.0, 0.0]), np.float32),
                )
                for row in rows
            ]
        )
        self.ids |= new
        return new

    def index(self, chunks: Sequence[IndexedChunk]) -> None:
        with self.locked():
            self.store.add(space=self.space, language=self.bm25.language, chunks=chunks)

    def remove(self, *names: str) -> None:
        with self.locked():
            gone = [self.ids[name] for name in names]
            self.store.remove(collection_id=self.collection.pk, chunk_ids=gone)
            Chunk.objects.filter(pk__in=gone).delete()

    def compact(self) -> int:
        with self.locked():
            return self.store.compact(collection_id=self.collection.pk)

    def words(self, query: str, *, limit: int = 10) -> list[tuple[str, float]]:
        found = self.store.lexical(collection_ids=[self.collection.pk], bm25=self.bm25, query=query, limit=limit)
        names = {chunk_id: name for name, chunk_id in self.ids.items()}
        return [(names[hit.chunk_id], hit.score) for hit in found.hits]

    def nearest(self, query: Sequence[float], *, limit: int = 10) -> list[tuple[str, float]]:
        found = self.store.dense(space=self.space, query=np.array(query, np.float32), limit=limit)
        names = {chunk_id: name for name, chunk_id in self.ids.items()}
        return [(names[hit.chunk_id], hit.distance) for hit in found.hits]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """What every writer does first."""
        with transaction.atomic():
            Collection.objects.select_for_update(no_key=True).get(pk=self.collection.pk)
            yield


def new_shelf(distance: DistanceName = "cosine", *, dimension: int = 2) -> Shelf:
    collection = Collection.objects.create(name=f"shelf {next(_names)}", store="pgvector", distance=distance)
    generation = Generation.objects.create(collection=collection, dimension=dimension, distance=distance)
    space = Space(collection_id=collection.pk, generation_id=generation.pk, dimension=dimension, distance=distance)
    return Shelf(collection=collection, space=space)
