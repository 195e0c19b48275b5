"""The built-in store behind the calls that every provider has: on the services that the storage API calls, too.

So it is held to the same contract as the others, and collections can be moved from it and to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils import timezone
from django.utils.translation import gettext_noop

from collections_app import adding, changing, reading, removing, selectors, services
from collections_app.health import holdings
from collections_app.models import Chunk, Collection
from collections_app.selectors import CollectionSummary
from collections_app.services import DISTANCE_NAMES
from core_app.api import reject_unstorable
from core_app.errors import InvalidInput, Unavailable
from core_app.ports import DistanceName, Vectors
from core_app.providers import (
    Capability,
    ConnectionSettings,
    HeldChunk,
    HeldChunks,
    HeldCollection,
    HeldCollections,
    HeldValues,
    NearChunk,
    ProviderHealth,
    ScannedChunks,
)
from core_app.where import Where
from ingest_app.emptying import empty_now
from search_app import nearest as searching


class PgVectorProvider:
    """`core_app.providers.Provider` on this server's own collections. It has no settings, and nothing to close."""

    label: ClassVar[str] = gettext_noop("Built-in store (pgvector)")
    settings_model: ClassVar[type[ConnectionSettings]] = ConnectionSettings
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.COLLECTIONS,
            Capability.SEARCH,
            Capability.EMBEDDINGS,
            Capability.METADATA_FILTERING,
            Capability.SPARSE,
            Capability.EXACT_FILTERS,
            Capability.NESTED_METADATA,
            Capability.UPSERT,
            Capability.TRANSACTIONS,
        }
    )

    def __init__(self, settings: ConnectionSettings) -> None:
        pass

    def close(self) -> None:
        pass

    def health_check(self) -> ProviderHealth:
        now = timezone.now()
        try:
            held, documents = holdings(), Chunk.objects.count()
        except (DatabaseError, InterfaceError):
            return ProviderHealth(is_healthy=False, checked_at=now, error="The database cannot be reached.")
        details = {"collections": held.collections, "documents": documents, "storage_bytes": held.storage_bytes}
        return ProviderHealth(is_healthy=True, checked_at=now, details=details)

    def list_collections(self, *, limit: int | None, offset: int) -> HeldCollections:
        with _told():
            found = selectors.list_summaries()
        shown = found[offset : None if limit is None else offset + limit]
        return HeldCollections(collections=[_summarised(one) for one in shown], total=len(found))

    def get_collection(self, *, name: str) -> HeldCollection:
        with _told():
            return _summarised(selectors.get_summary(name=name))

    def create_collection(self, *, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> HeldCollection:
        reject_unstorable(metadata, "metadata")
        with _told():
            made = services.create_collection(name=name, metadata=metadata, distance=distance)
        return _collection(made, count=0, dimension=None)

    def update_metadata(self, *, name: str, metadata: Mapping[str, Any], merge: bool) -> Mapping[str, Any]:
        reject_unstorable(metadata, "metadata")
        with _told():
            changed: Mapping[str, Any] = services.update_metadata(name=name, metadata=metadata, merge=merge).metadata
        return changed

    def delete_collection(self, *, name: str) -> None:
        with _told():
            services.delete_collection(name=name)

    def add(self, *, name: str, chunks: Sequence[HeldChunk]) -> None:
        vectors = [_embedding(chunk) for chunk in chunks]
        if len({vector.shape for vector in vectors}) > 1:
            raise InvalidInput("Send embeddings of as many numbers each.", code="dimension_mismatch")
        new = [adding.NewChunk(external_id=one.id, text=one.text, metadata=one.metadata) for one in chunks]
        for index, one in enumerate(chunks):
            reject_unstorable([one.id, one.text, one.metadata], f"documents[{index}]")
        if not new:
            self.get_collection(name=name)
            return
        with _told():
            adding.add_chunks(collection_name=name, chunks=new, embeddings=lambda: np.stack(vectors))

    def change_chunk(
        self,
        *,
        name: str,
        chunk_id: str,
        metadata: Mapping[str, Any] | None,
        text: str | None,
        embedding: Vectors | None,
    ) -> HeldChunk:
        reject_unstorable([metadata, text], "document")
        with _told():
            return _chunk(
                changing.change_chunk(
                    collection_name=name, external_id=chunk_id, metadata=metadata, text=text, embedding=embedding
                )
            )

    def get_chunk(self, *, name: str, chunk_id: str, with_embedding: bool) -> HeldChunk:
        with _told():
            return _chunk(reading.get_chunk(collection_name=name, external_id=chunk_id, with_embedding=with_embedding))

    def list_chunks(
        self, *, name: str, where: Where | None, limit: int, offset: int, with_embeddings: bool
    ) -> HeldChunks:
        with _told():
            page = reading.list_chunks(
                collection_name=name, where=where, limit=limit, offset=offset, with_embeddings=with_embeddings
            )
        return HeldChunks(chunks=[_chunk(one) for one in page.chunks], total=page.total)

    def scan(self, *, name: str, after: str | None, limit: int) -> ScannedChunks:
        """Disabled ones are among them: they are stored like any other."""
        with _told():
            part = reading.scan_chunks(collection_name=name, cursor=after, limit=limit)
        return ScannedChunks(chunks=[_chunk(one) for one in part.chunks], after=part.next_cursor)

    def metadata_values(self, *, name: str, key: str) -> HeldValues:
        with _told():
            found = reading.metadata_values(collection_name=name, key=key)
        return HeldValues(values=found.values, truncated=found.truncated)

    def delete_chunks(self, *, name: str, ids: Sequence[str] | None, where: Where | None) -> int:
        with _told():
            return removing.delete_chunks(collection_name=name, ids=ids, where=where)

    def empty(self, *, name: str) -> int:
        with _told():
            return empty_now(collection_id=selectors.get_collection(name=name).pk).chunks

    def nearest(self, *, name: str, queries: Vectors, limit: int, where: Where | None) -> Sequence[Sequence[NearChunk]]:
        with _told():
            found = searching.nearest(collection_name=name, queries=list(queries), top_k=limit, where=where)
        return [
            [
                NearChunk(
                    chunk=HeldChunk(id=one.id, text=one.text, metadata=one.metadata),
                    distance=one.distance,
                    score=one.score,
                )
                for one in hits
            ]
            for hits in found
        ]


@contextmanager
def _told() -> Iterator[None]:
    """What the database does, as an error that the port names."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise Unavailable("The database is busy or cannot be reached. Try again in a few seconds.") from error


def _embedding(chunk: HeldChunk) -> Vectors:
    if chunk.embedding is None:
        raise InvalidInput("All documents must include pre-computed embeddings", code="embeddings_required")
    return np.asarray(chunk.embedding, dtype=np.float32)


def _chunk(stored: reading.StoredChunk) -> HeldChunk:
    return HeldChunk(id=stored.id, text=stored.text, metadata=stored.metadata, embedding=stored.embedding)


def _summarised(one: CollectionSummary) -> HeldCollection:
    return _collection(one.collection, count=one.count, dimension=one.dimension)


def _collection(row: Collection, *, count: int, dimension: int | None) -> HeldCollection:
    return HeldCollection(
        name=row.name,
        metadata=row.metadata,
        distance=DISTANCE_NAMES[row.distance],
        id=str(row.uid),
        count=count,
        dimension=dimension,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
