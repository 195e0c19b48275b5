"""A provider on whatever keeps values by their keys: a folder, a cache, a table. Small providers inherit it.

Four calls are left to write; collections, filters, search and errors are here. Vectors are compared one by one: it is
exact, and for some ten thousand chunks in a collection.
"""

from __future__ import annotations

import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar

import numpy as np

from connections_app.finishing import distinct_values, merged, position
from connections_app.key_value_entries import (
    Entry,
    Record,
    distances,
    entry_of,
    key_of_chunk,
    key_of_collection,
    packed,
    record_of,
    written_entry,
    written_record,
)
from core_app.errors import Conflict, FarSideFailed, InvalidInput, NotFound
from core_app.names import RULE, is_collection_name
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
from core_app.similarity import similarity
from core_app.where import Where, matches


class KeyValueProvider(ABC):
    """`core_app.providers.Provider` on `get`, `put`, `delete` and `iterate`.

    A subclass says its `label` and `settings_model`. Keys are printable ASCII without blanks, of up to four thousand
    characters. The calls of one process take turns. An OSError means that the store cannot be read or written.
    """

    label: ClassVar[str]
    settings_model: ClassVar[type[ConnectionSettings]]
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.COLLECTIONS,
            Capability.SEARCH,
            Capability.METADATA_FILTERING,
            Capability.EXACT_FILTERS,
            Capability.NESTED_METADATA,
            Capability.UPSERT,
        }
    )

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self._turns = threading.RLock()
        self._last_position = 0

    @abstractmethod
    def get(self, key: str) -> bytes | None:
        """The value as it was put; None where there is none."""

    @abstractmethod
    def put(self, values: Mapping[str, bytes]) -> None:
        """Keep values in the place of those that were there."""

    @abstractmethod
    def delete(self, keys: Iterable[str]) -> None:
        """Forget values; a key that is not there is none."""

    @abstractmethod
    def iterate(self, prefix: str) -> Iterable[tuple[str, bytes]]:
        """All keys that begin so, with their values, in any order."""

    def close(self) -> None:  # noqa: B027 (not abstract: most have nothing to give back)
        """Nothing is held open unless a subclass does."""

    def health_check(self) -> ProviderHealth:
        now = datetime.now(UTC)
        try:
            total = self.list_collections(limit=0, offset=0).total
        except FarSideFailed as error:
            return ProviderHealth(is_healthy=False, checked_at=now, error=error.detail)
        return ProviderHealth(is_healthy=True, checked_at=now, details={"collections": total})

    def list_collections(self, *, limit: int | None, offset: int) -> HeldCollections:
        with self._turn():
            records = sorted(
                (record_of(value) for _, value in self.iterate(key_of_collection())), key=lambda one: one.name
            )
            shown = records[offset : None if limit is None else offset + limit]
            return HeldCollections(collections=[self._held(one) for one in shown], total=len(records))

    def get_collection(self, *, name: str) -> HeldCollection:
        with self._turn():
            return self._held(self._record(name))

    def create_collection(self, *, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> HeldCollection:
        if not is_collection_name(name):
            raise InvalidInput(RULE, code="invalid_name")
        now = datetime.now(UTC)
        with self._turn():
            if self.get(key_of_collection(name)) is not None:
                raise Conflict(f"Collection '{name}' already exists.", code="collection_exists")
            made = Record(
                id=str(uuid.uuid4()),
                name=name,
                metadata=dict(metadata),
                distance=distance,
                dimension=None,
                created_at=now,
                updated_at=now,
            )
            self._keep(made)
            return self._held(made)

    def update_metadata(self, *, name: str, metadata: Mapping[str, Any], merge: bool) -> Mapping[str, Any]:
        with self._turn():
            record = self._record(name)
            changed = {**record.metadata, **metadata} if merge else dict(metadata)
            self._keep(replace(record, metadata=changed))
            return changed

    def delete_collection(self, *, name: str) -> None:
        with self._turn():
            self._record(name)
            # The collection last: what was cut off can be done again.
            self.delete([key for key, _ in self.iterate(key_of_chunk(name))])
            self.delete([key_of_collection(name)])

    def add(self, *, name: str, chunks: Sequence[HeldChunk]) -> None:
        vectors = [packed(chunk.embedding) for chunk in chunks]
        with self._turn():
            record = self._record(name)
            dimension = record.dimension or (len(vectors[0]) if vectors else None)
            _check_dimension(dimension, *vectors)
            new = {}
            for chunk, vector in zip(chunks, vectors, strict=True):
                key = key_of_chunk(name, chunk.id)
                before = self.get(key)
                place = self._next_position() if before is None else entry_of(before).position
                new[key] = written_entry(Entry(position=place, chunk=replace(chunk, embedding=vector)))
            self.put(new)
            self._keep(replace(record, dimension=dimension))

    def change_chunk(
        self,
        *,
        name: str,
        chunk_id: str,
        metadata: Mapping[str, Any] | None,
        text: str | None,
        embedding: Vectors | None,
    ) -> HeldChunk:
        with self._turn():
            record, entry = self._record(name), self._entry(name, chunk_id)
            vector = entry.chunk.embedding if embedding is None else packed(embedding)
            _check_dimension(record.dimension, vector)
            changed = HeldChunk(
                id=chunk_id,
                text=entry.chunk.text if text is None else text,
                metadata=merged(entry.chunk.metadata, metadata or {}),
                embedding=vector,
            )
            self.put({key_of_chunk(name, chunk_id): written_entry(replace(entry, chunk=changed))})
            self._keep(record)
            return changed

    def get_chunk(self, *, name: str, chunk_id: str, with_embedding: bool) -> HeldChunk:
        with self._turn():
            self._record(name)
            found = self._entry(name, chunk_id).chunk
        return found if with_embedding else replace(found, embedding=None)

    def list_chunks(
        self, *, name: str, where: Where | None, limit: int, offset: int, with_embeddings: bool
    ) -> HeldChunks:
        with self._turn():
            self._record(name)
            found = [entry.chunk for entry in self._entries(name, where)]
        shown = found[offset : offset + limit]
        return HeldChunks(
            chunks=shown if with_embeddings else [replace(one, embedding=None) for one in shown], total=len(found)
        )

    def scan(self, *, name: str, after: str | None, limit: int) -> ScannedChunks:
        seen = position(after)
        with self._turn():
            self._record(name)
            found = [entry for entry in self._entries(name) if entry.position > seen][:limit]
        following = str(found[-1].position) if len(found) == limit else None
        return ScannedChunks(chunks=[entry.chunk for entry in found], after=following)

    def metadata_values(self, *, name: str, key: str) -> HeldValues:
        with self._turn():
            self._record(name)
            return distinct_values(entry.chunk.metadata.get(key) for entry in self._entries(name))

    def delete_chunks(self, *, name: str, ids: Sequence[str] | None, where: Where | None) -> int:
        if not ids and where is None:
            raise InvalidInput("Name the documents by 'ids' or 'where', not empty.", code="nothing_named")
        with self._turn():
            record = self._record(name)
            wanted = set(ids) if ids else None
            gone = [
                entry.chunk.id for entry in self._entries(name, where) if wanted is None or entry.chunk.id in wanted
            ]
            self.delete([key_of_chunk(name, key) for key in gone])
            if gone:
                self._keep(record)
            return len(gone)

    def empty(self, *, name: str) -> int:
        with self._turn():
            record = self._record(name)
            gone = [key for key, _ in self.iterate(key_of_chunk(name))]
            self.delete(gone)
            self._keep(replace(record, dimension=None))
            return len(gone)

    def nearest(self, *, name: str, queries: Vectors, limit: int, where: Where | None) -> Sequence[Sequence[NearChunk]]:
        with self._turn():
            record = self._record(name)
            if record.dimension is None:
                return [[] for _ in queries]
            _check_dimension(record.dimension, *queries)
            chunks = [entry.chunk for entry in self._entries(name, where)]
        if not chunks:
            return [[] for _ in queries]
        away = distances(chunks, queries, metric=record.distance)
        return [
            [
                NearChunk(
                    chunk=replace(chunks[index], embedding=None),
                    distance=float(row[index]),
                    score=similarity(float(row[index]), metric=record.distance),
                )
                for index in np.argsort(row, kind="stable")[:limit]
            ]
            for row in away
        ]

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._turns:
            try:
                yield
            except OSError as error:
                raise FarSideFailed(f"The store '{self.label}' cannot be read or written.") from error

    def _record(self, name: str) -> Record:
        found = self.get(key_of_collection(name))
        if found is None:
            raise NotFound(f"Collection '{name}' not found", code="collection_not_found")
        return record_of(found)

    def _keep(self, record: Record) -> None:
        self.put({key_of_collection(record.name): written_record(replace(record, updated_at=datetime.now(UTC)))})

    def _held(self, record: Record) -> HeldCollection:
        count = sum(1 for _ in self.iterate(key_of_chunk(record.name)))
        return HeldCollection(**vars(record), count=count)

    def _entry(self, name: str, chunk_id: str) -> Entry:
        found = self.get(key_of_chunk(name, chunk_id))
        if found is None:
            raise NotFound(f"Document '{chunk_id}' not found in collection '{name}'", code="document_not_found")
        return entry_of(found)

    def _entries(self, name: str, where: Where | None = None) -> list[Entry]:
        """Those that the filter lets through, in the order in which they were added."""
        found = [entry_of(value) for _, value in self.iterate(key_of_chunk(name))]
        passing = [
            one for one in found if where is None or matches(where, metadata=one.chunk.metadata, text=one.chunk.text)
        ]
        return sorted(passing, key=lambda one: one.position)

    def _next_position(self) -> int:
        """Larger than all before, in another process, too, while the clock goes forward."""
        self._last_position = max(self._last_position + 1, time.time_ns() // 1000)
        return self._last_position


def _check_dimension(dimension: int | None, *vectors: Vectors | None) -> None:
    if any(vector is not None and len(vector) != dimension for vector in vectors):
        raise InvalidInput(
            f"The collection holds embeddings of {dimension} numbers. Send such ones.", code="dimension_mismatch"
        )
