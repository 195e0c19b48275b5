"""Collections of a Chroma: a server, or a folder that is opened in this process."""

from __future__ import annotations

import hashlib
import re
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext_noop

from connections_app.finishing import distinct_values, merged
from connections_app.providers.chroma_engine import BATCH, Engine, Found
from connections_app.providers.chroma_reading import chunks_of, compared, matching, near_of, place_after, token
from connections_app.providers.chroma_records import NAME, decoded, encoded, replacing
from connections_app.providers.chroma_settings import ChromaSettings, engine_of
from core_app.errors import Conflict, FarSideFailed, InvalidInput, NotFound, RagsiteError
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

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
#: Begins the names that Chroma is given for those that it could not have.
_OTHER = "ragsite-"
_ALL = ("metadatas", "documents", "embeddings")


class ChromaProvider:
    """`core_app.providers.Provider` on Chroma. Its graph finds; where that gives too few, all are compared."""

    label: ClassVar[str] = gettext_noop("Chroma")
    settings_model: ClassVar[type[ConnectionSettings]] = ChromaSettings
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

    def __init__(self, settings: ChromaSettings) -> None:
        self._engine: Engine = engine_of(settings)
        #: Collections as they were when they were searched last, by name: their ids never come back.
        self._searched: dict[str, Found] = {}
        #: What is replaced is read first.
        self._writing = threading.RLock()

    def close(self) -> None:
        self._engine.close()

    def health_check(self) -> ProviderHealth:
        now = timezone.now()
        try:
            version, collections = self._engine.version(), len(self._engine.collections())
            details = {"version": version, "collections": collections, "sparse": self._engine.is_sparse()}
        except RagsiteError as error:
            return ProviderHealth(is_healthy=False, checked_at=now, error=error.detail)
        return ProviderHealth(is_healthy=True, checked_at=now, details=details)

    def list_collections(self, *, limit: int | None, offset: int) -> HeldCollections:
        every = sorted(self._engine.collections(), key=_name)
        page = every[offset : None if limit is None else offset + limit]
        return HeldCollections(collections=[_held(one) for one in page], total=len(every))

    def get_collection(self, *, name: str) -> HeldCollection:
        found = self._found(name)
        return _held(found, count=self._engine.count(found))

    def create_collection(self, *, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> HeldCollection:
        native = encoded(metadata) | ({} if _native_name(name) == name else {NAME: name})
        try:
            return _held(self._engine.create(_native_name(name), native, distance), count=0)
        except Conflict:
            raise Conflict(f"Collection '{name}' already exists.", code="collection_exists") from None

    def update_metadata(self, *, name: str, metadata: Mapping[str, Any], merge: bool) -> Mapping[str, Any]:
        with self._writing:
            found = self._found(name)
            new = {**decoded(found.metadata), **metadata} if merge else dict(metadata)
            kept = {key: value for key, value in found.metadata.items() if key == NAME}
            # Chroma takes no empty metadata.
            self._engine.set_metadata(found, {**encoded(new), **kept} or {NAME: name})
        return new

    def delete_collection(self, *, name: str) -> None:
        with _named(name):
            self._engine.drop(_native_name(name))

    def add(self, *, name: str, chunks: Sequence[HeldChunk]) -> None:
        vectors = _vectors(chunks)
        with self._writing, _named(name):
            found = self._found(name)
            if not chunks:
                return
            found = self._fitting(found, vectors.shape[1])
            for start in range(0, len(chunks), BATCH):
                self._put(found, chunks[start : start + BATCH], vectors[start : start + BATCH])

    def get_chunk(self, *, name: str, chunk_id: str, with_embedding: bool) -> HeldChunk:
        with _named(name):
            return self._chunk(self._found(name), name, chunk_id, with_embedding=with_embedding)

    def change_chunk(
        self,
        *,
        name: str,
        chunk_id: str,
        metadata: Mapping[str, Any] | None,
        text: str | None,
        embedding: Vectors | None,
    ) -> HeldChunk:
        with self._writing, _named(name):
            found = self._found(name)
            before = self._chunk(found, name, chunk_id, with_embedding=True)
            after = HeldChunk(
                id=chunk_id,
                text=before.text if text is None else text,
                metadata=merged(before.metadata, metadata or {}),
                embedding=before.embedding if embedding is None else embedding,
            )
            vectors = _vectors([after])
            if before.embedding is not None and vectors.shape[1] != len(before.embedding):
                raise _mismatch(len(before.embedding))
            self._put(found, [after], vectors)
        return after

    def list_chunks(
        self, *, name: str, where: Where | None, limit: int, offset: int, with_embeddings: bool
    ) -> HeldChunks:
        include = _ALL if with_embeddings else _ALL[:2]
        with _named(name):
            found = self._found(name)
            if where is None:
                records = self._engine.get(found, include=include, limit=limit, offset=offset)
                # What came is all where it is less than asked for; counted apart, others may have written between.
                is_end = len(records.ids) < limit and (records.ids or not offset)
                total = offset + len(records.ids) if is_end else self._engine.count(found)
                return HeldChunks(chunks=chunks_of(records), total=total)
            ids = matching(self._engine, found, where)
            page = ids[offset : offset + limit]
            chunks = self._by_id(found, page, include)
        return HeldChunks(chunks=[chunks[one] for one in page if one in chunks], total=len(ids))

    def scan(self, *, name: str, after: str | None, limit: int) -> ScannedChunks:
        with _named(name):
            found = self._found(name)
            place = place_after(self._engine, found, after)
            records = self._engine.get(found, include=_ALL, limit=limit, offset=place)
        is_over = len(records.ids) < limit
        return ScannedChunks(
            chunks=chunks_of(records), after=None if is_over else token(place + len(records.ids), records.ids)
        )

    def metadata_values(self, *, name: str, key: str) -> HeldValues:
        with _named(name):
            records = self._engine.get(self._found(name), include=("metadatas",))
        return distinct_values(decoded(one).get(key) for one in records.metadatas)

    def delete_chunks(self, *, name: str, ids: Sequence[str] | None, where: Where | None) -> int:
        if not ids and where is None:
            raise InvalidInput("Name the documents by 'ids' or 'where', not empty.", code="nothing_named")
        with self._writing, _named(name):
            found = self._found(name)
            wanted = list(dict.fromkeys(ids)) if ids else matching(self._engine, found, where) if where else []
            if ids and where is not None:
                passing = set(matching(self._engine, found, where))
                wanted = [one for one in wanted if one in passing]
            return self._delete(found, wanted)

    def empty(self, *, name: str) -> int:
        with self._writing, _named(name):
            found = self._found(name)
            return self._delete(found, self._engine.get(found, include=()).ids)

    def nearest(self, *, name: str, queries: Vectors, limit: int, where: Where | None) -> Sequence[Sequence[NearChunk]]:
        with _named(name):
            found = self._searched.get(name) or self._found(name)
            try:
                return self._nearest(found, queries, limit, where)
            except (NotFound, InvalidInput):
                # It may be another one of this name by now, or be empty and have had another dimension.
                self._searched.pop(name, None)
                found = self._found(name)
                if not self._engine.count(found):
                    return [[] for _ in queries]
                if found.dimension is not None and queries.shape[1:] != (found.dimension,):
                    raise _mismatch(found.dimension) from None
                return self._nearest(found, queries, limit, where)

    def _nearest(
        self, found: Found, queries: Vectors, limit: int, where: Where | None
    ) -> Sequence[Sequence[NearChunk]]:
        if found.dimension is None:
            return [[] for _ in queries]
        if queries.shape[1:] != (found.dimension,):
            raise _mismatch(found.dimension)
        self._searched[_name(found)] = found
        ids: Sequence[str] | None = None if where is None else matching(self._engine, found, where)
        if ids is not None and not ids:
            return [[] for _ in queries]
        try:
            matches = self._engine.query(found, queries=queries.tolist(), count=limit, ids=ids)
        except FarSideFailed:
            # An id that was deleted since the filter was applied is more than Chroma can bear. Whatever else is wrong
            # is wrong with what follows, too.
            matches = []
        least = limit if ids is None else min(limit, len(ids))
        if len(matches) == len(queries) and all(len(one.records.ids) >= least for one in matches):
            return [near_of(one, found.distance) for one in matches]
        if ids is None:
            # Fewer than asked for: there are no more, or the graph lost some.
            ids = self._engine.get(found, include=()).ids
            if len(matches) == len(queries) and all(len(one.records.ids) >= min(limit, len(ids)) for one in matches):
                return [near_of(one, found.distance) for one in matches]
        rows = list(self._by_id(found, ids, _ALL).values())
        return [compared(query, rows, limit, found.distance) for query in queries]

    def _found(self, name: str) -> Found:
        with _named(name):
            return self._engine.collection(_native_name(name))

    def _fitting(self, found: Found, dimension: int) -> Found:
        """The collection, or where it is empty and had another dimension a new one in its place."""
        if found.dimension in {None, dimension}:
            return found
        if self._engine.count(found):
            raise _mismatch(found.dimension or 0)
        # Chroma keeps the first dimension for ever. Under another name first: one of the two is always there.
        fresh = self._engine.create(f"{_OTHER}{uuid.uuid4().hex}", found.metadata, found.distance)
        self._engine.drop(found.name)
        self._engine.rename(fresh, found.name)
        return self._engine.collection(found.name)

    def _put(self, found: Found, chunks: Sequence[HeldChunk], vectors: Vectors) -> None:
        ids = [chunk.id for chunk in chunks]
        if not all(ids):
            raise InvalidInput("A document has an empty id.", code="invalid_id")
        there = self._engine.get(found, include=("metadatas",), ids=ids)
        old = dict(zip(there.ids, there.metadatas, strict=True))
        self._engine.upsert(
            found,
            ids=ids,
            embeddings=vectors.tolist(),
            metadatas=[replacing(old.get(chunk.id), encoded(chunk.metadata)) for chunk in chunks],
            documents=[chunk.text for chunk in chunks],
        )

    def _delete(self, found: Found, ids: Sequence[str]) -> int:
        deleted = 0
        for start in range(0, len(ids), BATCH):
            there = self._engine.get(found, include=(), ids=ids[start : start + BATCH]).ids
            if there:
                self._engine.delete(found, there)
                deleted += len(there)
        return deleted

    def _chunk(self, found: Found, name: str, chunk_id: str, *, with_embedding: bool) -> HeldChunk:
        rows = self._by_id(found, [chunk_id], _ALL if with_embedding else _ALL[:2]) if chunk_id else {}
        if chunk_id not in rows:
            raise NotFound(f"Document '{chunk_id}' not found in collection '{name}'", code="document_not_found")
        return rows[chunk_id]

    def _by_id(self, found: Found, ids: Sequence[str], include: Sequence[str]) -> dict[str, HeldChunk]:
        rows: dict[str, HeldChunk] = {}
        for start in range(0, len(ids), BATCH):
            records = self._engine.get(found, include=include, ids=ids[start : start + BATCH])
            rows |= {chunk.id: chunk for chunk in chunks_of(records)}
        return rows


@contextmanager
def _named(name: str) -> Iterator[None]:
    """What is said of a collection that is not there, with the name that the caller has for it."""
    try:
        yield
    except NotFound as error:
        if error.code != "collection_not_found":
            raise
        raise NotFound(f"Collection '{name}' not found", code="collection_not_found") from None


def _native_name(name: str) -> str:
    if _NAME.fullmatch(name) and not name.startswith(_OTHER):
        return name
    return _OTHER + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _name(found: Found) -> str:
    name = found.metadata.get(NAME)
    return name if isinstance(name, str) else found.name


def _held(found: Found, *, count: int | None = None) -> HeldCollection:
    return HeldCollection(
        name=_name(found),
        metadata=decoded(found.metadata),
        distance=found.distance,
        id=found.id,
        count=count,
        # Chroma remembers that of chunks that are gone.
        dimension=found.dimension if count or count is None else None,
    )


def _vectors(chunks: Sequence[HeldChunk]) -> Vectors:
    """Of shape (chunks, dimension). Raises InvalidInput where they are of several dimensions, or not finite."""
    vectors = [chunk.embedding for chunk in chunks]
    if any(vector is None or vector.ndim != 1 or not vector.size for vector in vectors):
        raise InvalidInput("All documents must include pre-computed embeddings", code="embedding_required")
    sizes = {vector.size for vector in vectors if vector is not None}
    if len(sizes) > 1:
        raise InvalidInput(
            f"Send embeddings of one dimension, not of {min(sizes)} and {max(sizes)}.", code="dimension_mismatch"
        )
    made: Vectors = np.asarray(vectors, dtype=np.float32).reshape(len(chunks), -1)
    if not np.isfinite(made).all():
        raise InvalidInput("An embedding has numbers that are not finite.", code="invalid_vector")
    return made


def _mismatch(dimension: int) -> InvalidInput:
    return InvalidInput(
        f"The collection holds embeddings of {dimension} numbers. Send such ones.", code="dimension_mismatch"
    )
