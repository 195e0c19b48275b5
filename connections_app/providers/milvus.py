"""Collections in Milvus: in a folder by Milvus Lite, or on a server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr, field_validator, model_validator

from connections_app.finishing import distinct_values, merged
from connections_app.folders import allowed_path
from connections_app.providers.milvus_calls import Calls, Passing, told
from connections_app.providers.milvus_collections import Found, Shelf
from connections_app.providers.milvus_search import nearest
from core_app.errors import InvalidInput, NotFound, RagsiteError
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
from core_app.retrying import MOST_TRIES, with_retry
from core_app.where import Where, matches

_HEALTH_SECONDS = 5.0
_FIELD = r"^([A-Za-z_][A-Za-z0-9_]*)?$"
Result = TypeVar("Result")


class MilvusSettings(ConnectionSettings):
    """Where Milvus is."""

    addresses: ClassVar[frozenset[str]] = frozenset({"url", "folder"})

    folder: str = Field(
        "",
        title=gettext_noop("Folder"),
        description=gettext_noop(
            "For Milvus Lite: a name, for a folder of its own below the server's data folder, or a path below one of "
            "`Security:ConnectionFolders`. Made where there is none. Empty with an address."
        ),
        max_length=1000,
    )
    url: str = Field(
        "",
        title=gettext_noop("Address"),
        description=gettext_noop("Of a Milvus server, such as `http://milvus.example.org:19530`. Empty with a folder."),
        pattern=r"^(https?://[^\s/]+/?)?$",
        max_length=2000,
    )
    token: SecretStr | None = Field(
        None, title=gettext_noop("Token"), description=gettext_noop("Empty where none is needed, or with a user.")
    )
    user: str = Field(
        "",
        title=gettext_noop("User"),
        description=gettext_noop("Of a server; empty where none is needed, or with a token."),
        max_length=200,
    )
    password: SecretStr | None = Field(
        None, title=gettext_noop("Password"), description=gettext_noop("Of the user; empty without one.")
    )
    database: str = Field(
        "",
        title=gettext_noop("Database"),
        description=gettext_noop("Of the server; empty for its default."),
        pattern=_FIELD,
        max_length=200,
    )
    index: str = Field(
        "FLAT",
        title=gettext_noop("Index"),
        pattern=r"^(FLAT|HNSW)$",
        description=gettext_noop(
            "Of collections that are made here: FLAT compares all vectors and is exact, HNSW is faster for millions."
        ),
    )
    text_field: str = Field(
        "",
        title=gettext_noop("Text field"),
        description=gettext_noop("Of collections that other programs made; found by its type where empty."),
        pattern=_FIELD,
    )
    vector_field: str = Field(
        "",
        title=gettext_noop("Vector field"),
        description=gettext_noop("Of collections that other programs made; found by its type where empty."),
        pattern=_FIELD,
    )
    metadata_field: str = Field(
        "",
        title=gettext_noop("Metadata field"),
        description=gettext_noop("Of collections that other programs made; all other fields where empty."),
        pattern=_FIELD,
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        30.0, title=gettext_noop("Time limit"), description=gettext_noop("Seconds that one request may take.")
    )

    @field_validator("folder")
    @classmethod
    def _lies_where_it_may(cls, value: str) -> str:
        try:
            if value:
                allowed_path(value)
        except InvalidInput as error:
            raise ValueError(error.detail.rstrip(".")) from None
        return value

    @field_validator("url")
    @classmethod
    def _holds_no_password(cls, value: str) -> str:
        if "@" in urlsplit(value).netloc:
            raise ValueError("must not hold a user or a password: send them as 'user' and 'password'")
        return value

    @model_validator(mode="after")
    def _is_one_place(self) -> Self:
        if bool(self.folder) == bool(self.url):
            raise ValueError("send either 'folder' or 'url'")
        if self.token and (self.user or self.password):
            raise ValueError("send either 'token' or 'user' and 'password'")
        return self


class MilvusProvider:
    """`core_app.providers.Provider` on Milvus. Reads are tried again; writes are not.

    What a filter needs that Milvus does not know is done here, over all that Milvus lets through.
    """

    label: ClassVar[str] = gettext_noop("Milvus")
    settings_model: ClassVar[type[ConnectionSettings]] = MilvusSettings
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

    def __init__(self, settings: MilvusSettings) -> None:
        self._settings = settings
        seconds = settings.timeout_seconds
        if settings.folder:
            # Its libraries are large, and a server needs none of them.
            folder = import_string("connections_app.providers.milvus_folder.Folder")
            self._place: _Place = folder(allowed_path(settings.folder), seconds)
        else:
            self._place = _Server(settings)
        self._writing = threading.Lock()

    def close(self) -> None:
        self._place.close()

    def health_check(self) -> ProviderHealth:
        now = timezone.now()
        try:
            with told(), self._place.opened(min(_HEALTH_SECONDS, self._settings.timeout_seconds)) as calls:
                details = _details(Shelf(calls, self._settings))
        except (RagsiteError, Passing) as error:
            said = error.ours.detail if isinstance(error, Passing) else error.detail
            return ProviderHealth(is_healthy=False, checked_at=now, error=said)
        return ProviderHealth(is_healthy=True, checked_at=now, details=details)

    def list_collections(self, *, limit: int | None, offset: int) -> HeldCollections:
        def work(shelf: Shelf) -> HeldCollections:
            names = shelf.names()
            page = names[offset:] if limit is None else names[offset : offset + limit]
            return HeldCollections(collections=[shelf.told(name) for name in page], total=len(names))

        return self._read(work)

    def get_collection(self, *, name: str) -> HeldCollection:
        return self._read(lambda shelf: shelf.held(shelf.found(name)))

    def create_collection(self, *, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> HeldCollection:
        return self._write(lambda shelf: shelf.make(name, metadata, distance))

    def update_metadata(self, *, name: str, metadata: Mapping[str, Any], merge: bool) -> Mapping[str, Any]:
        return self._write(lambda shelf: shelf.describe(shelf.ours(name), metadata, merge=merge))

    def delete_collection(self, *, name: str) -> None:
        self._write(lambda shelf: shelf.remove(shelf.found(name)))

    def add(self, *, name: str, chunks: Sequence[HeldChunk]) -> None:
        self._write(lambda shelf: shelf.put(shelf.ours(name), chunks))

    def get_chunk(self, *, name: str, chunk_id: str, with_embedding: bool) -> HeldChunk:
        return self._read(lambda shelf: _one_chunk(shelf.found(name), chunk_id, with_vector=with_embedding))

    def change_chunk(
        self,
        *,
        name: str,
        chunk_id: str,
        metadata: Mapping[str, Any] | None,
        text: str | None,
        embedding: Vectors | None,
    ) -> HeldChunk:
        def work(shelf: Shelf) -> HeldChunk:
            found = shelf.ours(name)
            before = _one_chunk(found, chunk_id, with_vector=True)
            after = HeldChunk(
                id=chunk_id,
                text=before.text if text is None else text,
                metadata=merged(before.metadata, metadata or {}),
                embedding=before.embedding if embedding is None else embedding,
            )
            shelf.put(found, [after])
            return after

        return self._write(work)

    def list_chunks(
        self, *, name: str, where: Where | None, limit: int, offset: int, with_embeddings: bool
    ) -> HeldChunks:
        def work(shelf: Shelf) -> HeldChunks:
            found = shelf.found(name)
            keys = found.keys(where)
            page = found.chunks(keys[offset : offset + limit], with_vector=with_embeddings)
            return HeldChunks(chunks=page, total=len(keys))

        return self._read(work)

    def scan(self, *, name: str, after: str | None, limit: int) -> ScannedChunks:
        def work(shelf: Shelf) -> ScannedChunks:
            found = shelf.found(name)
            keys = found.following(after, limit)
            chunks = found.chunks(keys, with_vector=True)
            return ScannedChunks(chunks=chunks, after=f"key:{keys[-1]}" if len(keys) == limit else None)

        return self._read(work)

    def metadata_values(self, *, name: str, key: str) -> HeldValues:
        def work(shelf: Shelf) -> HeldValues:
            return distinct_values(chunk.metadata.get(key) for chunk in shelf.found(name).walk(None))

        return self._read(work)

    def delete_chunks(self, *, name: str, ids: Sequence[str] | None, where: Where | None) -> int:
        if not ids and where is None:
            raise InvalidInput("Name the documents by 'ids' or 'where', not empty.", code="nothing_named")

        def work(shelf: Shelf) -> int:
            found = shelf.ours(name)
            if not ids:
                return found.delete(found.keys(where))
            chunks = found.chunks(list(dict.fromkeys(ids)), with_vector=False)
            return found.delete([one.id for one in chunks if matches(where, metadata=one.metadata, text=one.text)])

        return self._write(work)

    def empty(self, *, name: str) -> int:
        return self._write(lambda shelf: shelf.ours(name).empty())

    def nearest(self, *, name: str, queries: Vectors, limit: int, where: Where | None) -> Sequence[Sequence[NearChunk]]:
        return self._read(lambda shelf: nearest(shelf.found(name), queries, limit, where))

    def _read(self, work: Callable[[Shelf], Result]) -> Result:
        try:
            return with_retry(lambda _: self._once(work), seconds=MOST_TRIES * self._settings.timeout_seconds)
        except Passing as failure:
            raise failure.ours from failure

    def _write(self, work: Callable[[Shelf], Result]) -> Result:
        """One at a time: a write looks at what is there first."""
        try:
            with self._writing:
                return self._once(work)
        except Passing as failure:
            raise failure.ours from failure

    def _once(self, work: Callable[[Shelf], Result]) -> Result:
        with told(), self._place.opened() as calls:
            return work(Shelf(calls, self._settings))


class _Place(Protocol):
    def opened(self, within: float | None = None) -> AbstractContextManager[Calls]: ...

    def close(self) -> None: ...


class _Server:
    """A client that connects at the first call."""

    def __init__(self, settings: MilvusSettings) -> None:
        self._settings = settings
        self._guard = threading.Lock()
        self._calls: Calls | None = None

    @contextmanager
    def opened(self, within: float | None = None) -> Iterator[Calls]:
        """With a time, a client of its own whose calls take no longer."""
        if within is not None:
            calls = self._connected(within)
            try:
                yield calls
            finally:
                calls.close()
            return
        with self._guard:
            if self._calls is None:
                self._calls = self._connected(self._settings.timeout_seconds)
            calls = self._calls
        yield calls

    def close(self) -> None:
        with self._guard:
            if self._calls is not None:
                self._calls.close()
                self._calls = None

    def _connected(self, seconds: float) -> Calls:
        one = self._settings
        token = one.token.get_secret_value() if one.token else ""
        if one.user:
            token = f"{one.user}:{one.password.get_secret_value() if one.password else ''}"
        return Calls(one.url.rstrip("/"), token=token, database=one.database, seconds=seconds)


def _details(shelf: Shelf) -> Mapping[str, Any]:
    version = shelf.calls.version
    return {"version": version, "collections": len(shelf.names()), "sparse": _finds_by_words(version)}


def _finds_by_words(version: str) -> bool:
    """Whether Milvus has BM25: servers from 2.5 on, Milvus Lite from 3 on."""
    numbers = [int(part) for part in version.lower().rpartition("-")[2].lstrip("v").split(".")[:2] if part.isdigit()]
    return numbers >= ([3, 0] if "lite" in version else [2, 5])


def _one_chunk(found: Found, chunk_id: str, *, with_vector: bool) -> HeldChunk:
    chunks = found.chunks([chunk_id], with_vector=with_vector)
    if not chunks:
        raise NotFound(f"Document '{chunk_id}' not found in collection '{found.name}'", code="document_not_found")
    return chunks[0]
