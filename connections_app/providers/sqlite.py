"""Collections in one SQLite file, vectors compared one by one by sqlite-vec."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, cast

import apsw
import numpy as np
from django.utils import timezone
from django.utils.translation import gettext_noop
from pydantic import Field, field_validator

from connections_app.finishing import distinct_values, merged, position
from connections_app.folders import allowed_path
from connections_app.providers.sqlite_file import ROOM, all_rows, one_row, opened, told
from core_app.errors import Conflict, FarSideFailed, InvalidInput, NotFound, Unavailable
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
from core_app.sql import statement
from core_app.where import Where, written


class SqliteSettings(ConnectionSettings):
    """Where the file is."""

    addresses: ClassVar[frozenset[str]] = frozenset({"file"})

    file: str = Field(
        title=gettext_noop("File"),
        description=gettext_noop(
            "A name, for a file of its own below the server's data folder, or a path below one of "
            "`Security:ConnectionFolders`. Made where there is none."
        ),
        min_length=1,
        max_length=1000,
    )
    busy_seconds: Annotated[float, Field(gt=0, le=60)] = Field(
        5.0, title=gettext_noop("Patience"), description=gettext_noop("Seconds to wait for another write to the file.")
    )

    @field_validator("file")
    @classmethod
    def _lies_where_it_may(cls, value: str) -> str:
        try:
            allowed_path(value)
        except InvalidInput as error:
            raise ValueError(error.detail.rstrip(".")) from None
        return value


class SqliteProvider:
    """`core_app.providers.Provider` on a file. One connection for each thread, which reads beside one write."""

    label: ClassVar[str] = gettext_noop("SQLite")
    settings_model: ClassVar[type[ConnectionSettings]] = SqliteSettings
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.COLLECTIONS,
            Capability.SEARCH,
            Capability.METADATA_FILTERING,
            Capability.EXACT_FILTERS,
            Capability.NESTED_METADATA,
            Capability.UPSERT,
            Capability.TRANSACTIONS,
        }
    )

    def __init__(self, settings: SqliteSettings) -> None:
        self._path = allowed_path(settings.file)
        self._busy_seconds = settings.busy_seconds
        self._of_thread = threading.local()
        self._opened: list[apsw.Connection] = []
        self._guard = threading.Lock()

    def close(self) -> None:
        with self._guard:
            for connection in self._opened:
                connection.close()
            self._opened.clear()

    def health_check(self) -> ProviderHealth:
        now = timezone.now()
        try:
            with self._read() as connection:
                collections, chunks = one_row(
                    connection, "SELECT (SELECT count(*) FROM collections), (SELECT count(*) FROM chunks)", {}
                )
        except (FarSideFailed, Unavailable) as error:
            return ProviderHealth(is_healthy=False, checked_at=now, error=error.detail)
        details = {"collections": collections, "documents": chunks, "storage_bytes": self._path.stat().st_size}
        return ProviderHealth(is_healthy=True, checked_at=now, details=details | {"version": apsw.sqlite_lib_version()})

    def list_collections(self, *, limit: int | None, offset: int) -> HeldCollections:
        with self._read() as connection:
            asked = {"limit": -1 if limit is None else limit, "offset": offset}
            rows = all_rows(connection, f"{_COUNTED} ORDER BY name LIMIT :limit OFFSET :offset", asked)
            total = one_row(connection, "SELECT count(*) FROM collections", {})[0]
        return HeldCollections(collections=[_collection(row) for row in rows], total=total)

    def get_collection(self, *, name: str) -> HeldCollection:
        with self._read() as connection:
            return _collection(_found(connection, name, select=_COUNTED))

    def create_collection(self, *, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> HeldCollection:
        now = _now()
        with self._write() as connection:
            if all_rows(connection, f"{_COLLECTION} WHERE name = :name", {"name": name}):
                raise Conflict(f"Collection '{name}' already exists.", code="collection_exists")
            connection.execute(
                "INSERT INTO collections (name, metadata, distance, created_at, updated_at) "
                "VALUES (:name, :metadata, :distance, :now, :now)",
                {"name": name, "metadata": json.dumps(dict(metadata)), "distance": distance, "now": now},
            )
            return _collection(_found(connection, name, select=_COUNTED))

    def update_metadata(self, *, name: str, metadata: Mapping[str, Any], merge: bool) -> Mapping[str, Any]:
        with self._write() as connection:
            found = _found(connection, name)
            new = {**json.loads(found[2]), **metadata} if merge else dict(metadata)
            connection.execute(
                "UPDATE collections SET metadata = :metadata, updated_at = :now WHERE key = :key",
                {"metadata": json.dumps(new), "now": _now(), "key": found[0]},
            )
        return new

    def delete_collection(self, *, name: str) -> None:
        with self._write() as connection:
            connection.execute("DELETE FROM collections WHERE key = ?", (_found(connection, name)[0],))

    def add(self, *, name: str, chunks: Sequence[HeldChunk]) -> None:
        vectors = [_vector(chunk) for chunk in chunks]
        with self._write() as connection:
            found = _found(connection, name)
            dimension = found[4] or (len(vectors[0]) if vectors else None)
            if any(len(vector) != dimension for vector in vectors):
                raise InvalidInput(
                    f"The collection holds embeddings of {dimension} numbers. Send such ones.",
                    code="dimension_mismatch",
                )
            for chunk, vector in zip(chunks, vectors, strict=True):
                _store(connection, found[0], chunk, vector)
            connection.execute(
                "UPDATE collections SET dimension = :dimension, updated_at = :now WHERE key = :key",
                {"dimension": dimension, "now": _now(), "key": found[0]},
            )

    def get_chunk(self, *, name: str, chunk_id: str, with_embedding: bool) -> HeldChunk:
        with self._read() as connection:
            return _chunk(_found_chunk(connection, name, chunk_id)[1:], with_embedding=with_embedding)

    def change_chunk(
        self,
        *,
        name: str,
        chunk_id: str,
        metadata: Mapping[str, Any] | None,
        text: str | None,
        embedding: Vectors | None,
    ) -> HeldChunk:
        with self._write() as connection:
            row = _found_chunk(connection, name, chunk_id)
            before = _chunk(row[1:], with_embedding=True)
            after = HeldChunk(
                id=chunk_id,
                text=before.text if text is None else text,
                metadata=merged(before.metadata, metadata or {}),
                embedding=before.embedding if embedding is None else embedding,
            )
            vector = _vector(after)
            if before.embedding is not None and len(vector) != len(before.embedding):
                raise InvalidInput(
                    f"The collection holds embeddings of {len(before.embedding)} numbers. Send such ones.",
                    code="dimension_mismatch",
                )
            _store(connection, row[0], after, vector)
            connection.execute(_TOUCH, {"now": _now(), "key": row[0]})
        return after

    def list_chunks(
        self, *, name: str, where: Where | None, limit: int, offset: int, with_embeddings: bool
    ) -> HeldChunks:
        with self._read() as connection:
            asked = {"collection": _found(connection, name)[0], "filter": _filter(where)}
            page = {"limit": limit, "offset": offset, "vectors": with_embeddings}
            rows = all_rows(connection, statement(ROOM, "sqlite_list"), {**asked, **page})
            counted = (
                "SELECT count(*) FROM chunks WHERE collection = :collection "
                "AND (:filter IS NULL OR passes(:filter, metadata, text))"
            )
            total = one_row(connection, counted, asked)[0]
        return HeldChunks(chunks=[_chunk(row, with_embedding=with_embeddings) for row in rows], total=total)

    def scan(self, *, name: str, after: str | None, limit: int) -> ScannedChunks:
        with self._read() as connection:
            asked = {"collection": _found(connection, name)[0], "after": position(after), "limit": limit}
            rows = all_rows(connection, statement(ROOM, "sqlite_scan"), asked)
        chunks = [_chunk(row[1:], with_embedding=True) for row in rows]
        return ScannedChunks(chunks=chunks, after=str(rows[-1][0]) if len(rows) == limit else None)

    def metadata_values(self, *, name: str, key: str) -> HeldValues:
        with self._read() as connection:
            key_of = _found(connection, name)[0]
            rows = connection.execute("SELECT metadata FROM chunks WHERE collection = ?", (key_of,))
            try:
                return distinct_values(json.loads(metadata).get(key) for (metadata,) in rows)
            finally:
                rows.close()

    def delete_chunks(self, *, name: str, ids: Sequence[str] | None, where: Where | None) -> int:
        if not ids and where is None:
            raise InvalidInput("Name the documents by 'ids' or 'where', not empty.", code="nothing_named")
        with self._write() as connection:
            asked = {"collection": _found(connection, name)[0], "filter": _filter(where)}
            connection.execute(
                "DELETE FROM chunks WHERE collection = :collection "
                "AND (:ids IS NULL OR id IN (SELECT value FROM json_each(:ids))) "
                "AND (:filter IS NULL OR passes(:filter, metadata, text))",
                {**asked, "ids": json.dumps(list(ids)) if ids else None},
            )
            deleted = connection.changes()
            if deleted:
                connection.execute(_TOUCH, {"now": _now(), "key": asked["collection"]})
            return deleted

    def empty(self, *, name: str) -> int:
        with self._write() as connection:
            key, *_, dimension, _created_at, _updated_at = _found(connection, name)
            connection.execute("DELETE FROM chunks WHERE collection = ?", (key,))
            deleted = connection.changes()
            if deleted or dimension is not None:
                connection.execute("UPDATE collections SET dimension = NULL WHERE key = ?", (key,))
                connection.execute(_TOUCH, {"now": _now(), "key": key})
            return deleted

    def nearest(self, *, name: str, queries: Vectors, limit: int, where: Where | None) -> Sequence[Sequence[NearChunk]]:
        with self._read() as connection:
            found = _found(connection, name)
            distance = cast("DistanceName", found[3])
            if found[4] is None:
                return [[] for _ in queries]
            if queries.shape[1:] != (found[4],):
                raise InvalidInput(
                    f"The collection holds embeddings of {found[4]} numbers. Send such a query.",
                    code="dimension_mismatch",
                )
            given = {"collection": found[0], "distance": distance, "filter": _filter(where), "limit": limit}
            rows_of = [
                all_rows(
                    connection,
                    statement(ROOM, "sqlite_nearest"),
                    given | {"query": np.asarray(query, dtype=np.float32).tobytes()},
                )
                for query in queries
            ]
        return [[_near(row, distance) for row in rows] for rows in rows_of]

    @contextmanager
    def _read(self) -> Iterator[apsw.Connection]:
        """In one snapshot."""
        with told():
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def _write(self) -> Iterator[apsw.Connection]:
        """All of it or nothing."""
        with told():
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _connection(self) -> apsw.Connection:
        found: apsw.Connection | None = getattr(self._of_thread, "connection", None)
        if found is None:
            found = self._of_thread.connection = opened(str(self._path), self._busy_seconds)
            with self._guard:
                self._opened.append(found)
        return found


_COLLECTION = "SELECT key, name, metadata, distance, dimension, created_at, updated_at FROM collections"
#: Counting reads a part of every chunk.
_COUNTED = (
    "SELECT key, name, metadata, distance, dimension, created_at, updated_at, "
    "(SELECT count(*) FROM chunks WHERE chunks.collection = collections.key) FROM collections"
)
_TOUCH = "UPDATE collections SET updated_at = :now WHERE key = :key"


def _filter(where: Where | None) -> str | None:
    return None if where is None else json.dumps(written(where))


def _found(connection: apsw.Connection, name: str, *, select: str = _COLLECTION) -> Any:
    rows = all_rows(connection, f"{select} WHERE name = :name", {"name": name})
    if not rows:
        raise NotFound(f"Collection '{name}' not found", code="collection_not_found")
    return rows[0]


def _found_chunk(connection: apsw.Connection, name: str, chunk_id: str) -> Any:
    """The collection's key, and the chunk with its vector."""
    key = _found(connection, name)[0]
    rows = all_rows(
        connection,
        "SELECT :key, id, text, metadata, embedding FROM chunks LEFT JOIN vectors ON chunk = chunks.key "
        "WHERE collection = :key AND id = :id",
        {"key": key, "id": chunk_id},
    )
    if not rows:
        raise NotFound(f"Document '{chunk_id}' not found in collection '{name}'", code="document_not_found")
    return rows[0]


def _near(row: Sequence[Any], distance: DistanceName) -> NearChunk:
    chunk = _chunk((*row[:3], None), with_embedding=False)
    return NearChunk(chunk=chunk, distance=row[3], score=similarity(row[3], metric=distance))


def _store(connection: apsw.Connection, collection: int, chunk: HeldChunk, vector: Vectors) -> None:
    given = {"collection": collection, "id": chunk.id, "text": chunk.text, "metadata": json.dumps(dict(chunk.metadata))}
    key = one_row(connection, statement(ROOM, "sqlite_upsert"), given)[0]
    connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (key, vector.tobytes()))


def _vector(chunk: HeldChunk) -> Vectors:
    if chunk.embedding is None:
        raise InvalidInput("All documents must include pre-computed embeddings", code="embeddings_required")
    return np.ascontiguousarray(chunk.embedding, dtype=np.float32)


def _collection(row: Any) -> HeldCollection:
    return HeldCollection(
        name=row[1],
        metadata=json.loads(row[2]),
        distance=row[3],
        id=str(row[0]),
        count=row[7],
        dimension=row[4],
        created_at=datetime.fromisoformat(row[5]),
        updated_at=datetime.fromisoformat(row[6]),
    )


def _chunk(row: Any, *, with_embedding: bool) -> HeldChunk:
    embedding = np.frombuffer(row[3], dtype=np.float32) if with_embedding and row[3] is not None else None
    return HeldChunk(id=row[0], text=row[1], metadata=json.loads(row[2]), embedding=embedding)


def _now() -> str:
    return datetime.now(UTC).isoformat()
