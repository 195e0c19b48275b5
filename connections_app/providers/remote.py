"""Another server of the storage API: another Ragsite, or any that speaks its calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar
from urllib.parse import quote, urlsplit

from django.utils import timezone
from django.utils.translation import gettext_noop
from pydantic import Field, SecretStr, field_validator

from connections_app.providers.remote_answers import (
    chunk_of,
    collection_of,
    integer_in,
    near_of,
    object_in,
    objects_in,
)
from core_app.errors import Conflict, FarSideFailed, FarSideSlow, InvalidInput, NotFound, RagsiteError, Unavailable
from core_app.far_side import FarSide, FarSideError
from core_app.names import is_collection_name
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
    RankedText,
    ScannedChunks,
)
from core_app.reranking import rerank_body, scores_of
from core_app.where import Where, written

#: A thousand chunks with vectors of 4,000 numbers.
_LARGEST_ANSWER = 128 * 1024 * 1024
_HEALTH_SECONDS = 5.0
_DETAILS = ("version", "collections", "storage_bytes", "cross_encoder")
#: As Ragsite calls it; others that speak its calls have a sentence alone.
_NO_MODEL = "cross_encoder_not_loaded"
#: What the other side says of what was asked, and not of itself, is passed on in these.
_PASSED_ON: Mapping[int, type[RagsiteError]] = {400: InvalidInput, 404: NotFound, 409: Conflict}


class RemoteSettings(ConnectionSettings):
    """How another server is reached."""

    url: str = Field(
        title=gettext_noop("Address"),
        description=gettext_noop("Of the server, such as `https://rag.example.org`; what its calls begin with."),
        pattern=r"^https?://[^\s/]+",
        max_length=2000,
    )
    api_key: SecretStr | None = Field(
        None,
        title=gettext_noop("API key"),
        description=gettext_noop("Sent as `Authorization: Bearer KEY`; empty where none is needed."),
    )
    headers: Mapping[str, SecretStr] = Field(
        default_factory=dict,
        title=gettext_noop("Headers"),
        description=gettext_noop("Sent with each request, such as those of a proxy."),
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        30.0, title=gettext_noop("Time limit"), description=gettext_noop("Seconds that one request may take.")
    )

    @field_validator("url")
    @classmethod
    def _holds_no_password(cls, value: str) -> str:
        if "@" in urlsplit(value).netloc:
            raise ValueError("must not hold a user or a password: an address is no secret. Send them as a header")
        return value


class RemoteProvider:
    """`core_app.providers.Provider` over HTTP. Reads are tried again; writes are not."""

    label: ClassVar[str] = gettext_noop("Remote server")
    settings_model: ClassVar[type[ConnectionSettings]] = RemoteSettings
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.COLLECTIONS,
            Capability.SEARCH,
            Capability.METADATA_FILTERING,
            Capability.EXACT_FILTERS,
            Capability.NESTED_METADATA,
            Capability.UPSERT,
            Capability.TRANSACTIONS,
            Capability.RERANKING,
        }
    )

    def __init__(self, settings: RemoteSettings) -> None:
        headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
        if settings.api_key:
            headers["Authorization"] = f"Bearer {settings.api_key.get_secret_value()}"
        self._far_side = FarSide(
            base_url=settings.url,
            headers=headers,
            timeout_seconds=settings.timeout_seconds,
            largest_answer=_LARGEST_ANSWER,
            what="remote server",
        )

    def close(self) -> None:
        self._far_side.close()

    def health_check(self) -> ProviderHealth:
        now = timezone.now()
        try:
            with _told():
                answer = self._far_side.ask("GET", "/health", seconds=_HEALTH_SECONDS, is_repeatable=False)
                # Health is told to everybody; this needs the key.
                self._far_side.ask(
                    "GET", "/collections", params={"limit": "1"}, seconds=_HEALTH_SECONDS, is_repeatable=False
                )
        except RagsiteError as error:
            return ProviderHealth(is_healthy=False, checked_at=now, error=error.detail)
        details = {key: answer[key] for key in _DETAILS if isinstance(answer.get(key), str | int | float | dict)}
        return ProviderHealth(is_healthy=True, checked_at=now, details=details)

    def list_collections(self, *, limit: int | None, offset: int) -> HeldCollections:
        params = {"offset": str(offset)} | ({} if limit is None else {"limit": str(limit)})
        answer = self._read("/collections", params)
        with _told():
            return HeldCollections(
                collections=[collection_of(one) for one in objects_in(answer, "collections")],
                total=integer_in(answer, "total"),
            )

    def get_collection(self, *, name: str) -> HeldCollection:
        answer = self._read(_at(name))
        with _told():
            return collection_of(answer)

    def create_collection(self, *, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> HeldCollection:
        _at(name)
        answer = self._write("POST", "/collections", {"name": name, "metadata": dict(metadata), "distance": distance})
        with _told():
            return collection_of(answer)

    def update_metadata(self, *, name: str, metadata: Mapping[str, Any], merge: bool) -> Mapping[str, Any]:
        params = {"merge": "true"} if merge else {}
        answer = self._write("PUT", _at(name, "metadata"), {"metadata": dict(metadata)}, params)
        with _told():
            return object_in(answer, "metadata")

    def delete_collection(self, *, name: str) -> None:
        self._write("DELETE", _at(name))

    def add(self, *, name: str, chunks: Sequence[HeldChunk]) -> None:
        self._write("POST", _at(name, "documents"), {"documents": [_sent(chunk) for chunk in chunks]})

    def get_chunk(self, *, name: str, chunk_id: str, with_embedding: bool) -> HeldChunk:
        include = {"include": "embedding"} if with_embedding else {}
        answer = self._read(_at_chunk(name, chunk_id), include)
        with _told():
            return chunk_of(answer)

    def change_chunk(
        self,
        *,
        name: str,
        chunk_id: str,
        metadata: Mapping[str, Any] | None,
        text: str | None,
        embedding: Vectors | None,
    ) -> HeldChunk:
        body: dict[str, Any] = {} if metadata is None else {"metadata": dict(metadata)}
        if text is not None:
            body["text"] = text
        if embedding is not None:
            body["embedding"] = embedding.tolist()
        answer = self._write("PATCH", _at_chunk(name, chunk_id), body)
        with _told():
            return chunk_of(answer)

    def list_chunks(
        self, *, name: str, where: Where | None, limit: int, offset: int, with_embeddings: bool
    ) -> HeldChunks:
        params = {"limit": str(limit), "offset": str(offset)}
        if where is not None:
            params["where"] = json.dumps(written(where))
        if with_embeddings:
            params["include"] = "embedding"
        answer = self._read(_at(name, "documents"), params)
        with _told():
            return HeldChunks(
                chunks=[chunk_of(one) for one in objects_in(answer, "documents")], total=integer_in(answer, "total")
            )

    def scan(self, *, name: str, after: str | None, limit: int) -> ScannedChunks:
        """By cursors where the server has them, by offsets elsewhere."""
        params = {"limit": str(limit), "include": "embedding"}
        if after is not None:
            way, _, where_to = after.partition(":")
            if way not in {"cursor", "offset"}:
                raise InvalidInput("'after' is none of this server's.", code="invalid_cursor")
            params[way] = where_to
        answer = self._read(_at(name, "documents"), params)
        with _told():
            chunks = [chunk_of(one) for one in objects_in(answer, "documents")]
            total = integer_in(answer, "total")
        cursor, seen = answer.get("next_cursor"), int(params.get("offset", "0")) + len(chunks)
        following = f"cursor:{cursor}" if isinstance(cursor, str) else f"offset:{seen}"
        is_over = not chunks or ("cursor" in params and cursor is None) or ("cursor" not in params and seen >= total)
        return ScannedChunks(chunks=chunks, after=None if is_over else following)

    def metadata_values(self, *, name: str, key: str) -> HeldValues:
        answer = self._read(_at(name, "metadata-values"), {"field": key})
        with _told():
            values = answer.get("values")
            if not isinstance(values, list):
                raise FarSideError("the answer has no list 'values'")
            return HeldValues(values=values, truncated=answer.get("truncated") is True)

    def delete_chunks(self, *, name: str, ids: Sequence[str] | None, where: Where | None) -> int:
        if not ids and where is None:
            raise InvalidInput("Name the documents by 'ids' or 'where', not empty.", code="nothing_named")
        body: dict[str, Any] = {"ids": list(ids)} if ids else {}
        if where is not None:
            body["where"] = written(where)
        answer = self._write("DELETE", _at(name, "documents"), body)
        with _told():
            return integer_in(answer, "count_deleted")

    def empty(self, *, name: str) -> int:
        answer = self._write("DELETE", _at(name, "documents/all"))
        if "state" in answer:  # a job of the other server does it
            raise FarSideSlow("The remote server is still emptying the collection. Look again in a while.")
        with _told():
            return integer_in(answer, "count_deleted")

    def nearest(self, *, name: str, queries: Vectors, limit: int, where: Where | None) -> Sequence[Sequence[NearChunk]]:
        is_one = len(queries) == 1
        body: dict[str, Any] = {"top_k": limit}
        body |= {"query_embedding": queries[0].tolist()} if is_one else {"query_embeddings": queries.tolist()}
        if where is not None:
            body["where"] = written(where)
        with _told():
            answer = self._far_side.ask("POST", _at(name, "query"), body=body, is_repeatable=True)
            lists = [answer.get("results")] if is_one else answer.get("results")
            if not isinstance(lists, list) or len(lists) != len(queries):
                raise FarSideError("the answer has no list of results for each query")
            found = [[near_of(one) for one in objects_in({"results": those}, "results")] for those in lists]
            if any(len(those) > limit for those in found):
                raise FarSideError("the answer has more results than were asked for")
            return found

    def rerank(self, *, query: str, texts: Sequence[str], top_k: int | None) -> Sequence[RankedText]:
        sent = {str(index): text for index, text in enumerate(texts)}
        body = rerank_body(query=query, texts=sent, top_k=top_k)
        with _told():
            answer = self._far_side.ask("POST", "/rerank", body=body, is_repeatable=True)
            scores = scores_of(answer, sent, top_k)
        ranked = [RankedText(index=int(key), score=score) for key, score in scores.items()]
        return sorted(ranked, key=lambda one: -one.score)

    def _read(self, path: str, params: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        with _told():
            return self._far_side.ask("GET", path, params=params, is_repeatable=True)

    def _write(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, params: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        with _told():
            return self._far_side.ask(method, path, body=body, params=params, is_repeatable=False)


@contextmanager
def _told() -> Iterator[None]:
    """What the other side did, as an error of ours."""
    try:
        yield
    except FarSideError as error:
        raise _ours(error) from error


def _ours(error: FarSideError) -> RagsiteError:
    if error.is_slow:
        return FarSideSlow("The remote server did not answer in time. Try again, or raise the connection's time limit.")
    if error.is_unreachable:
        return Unavailable("The remote server cannot be reached. Check its address.", code="far_side_unreachable")
    if error.status in {401, 403}:
        return FarSideFailed(
            "The remote server refused the connection's API key. Check the key and what it may do.",
            code="far_side_refused",
        )
    if error.status == 503 and (error.code == _NO_MODEL or "cross-encoder not loaded" in error.said.lower()):
        return Unavailable(
            "The remote server has no cross-encoder loaded. Load one there, or use another connection.",
            code=_NO_MODEL,
            retry_after_seconds=60,
        )
    passed_on = _PASSED_ON.get(error.status)
    if passed_on and error.said and error.code:
        return passed_on(error.said, code=error.code)
    if error.status in {429, 503}:
        return Unavailable("The remote server is busy. Try again in a few seconds.", code="far_side_busy")
    return FarSideFailed("The remote server failed. Try again; this server's log has what it said.")


def _at(name: str, below: str = "") -> str:
    """The path of a collection. Raises InvalidInput for a name that would be another path."""
    if not is_collection_name(name):
        raise InvalidInput(f"'{name[:100]}' is no name of a collection.", code="invalid_name")
    return f"/collections/{quote(name, safe='')}" + (f"/{below}" if below else "")


def _at_chunk(name: str, chunk_id: str) -> str:
    """Raises NotFound for an id that would be another path: nothing can be asked about it there."""
    if not chunk_id or chunk_id in {".", "..", "all"} or "/" in chunk_id or "\\" in chunk_id:
        raise NotFound(f"There is no document '{chunk_id[:100]}' here.", code="document_not_found")
    return f"{_at(name, 'documents')}/{quote(chunk_id, safe='')}"


def _sent(chunk: HeldChunk) -> dict[str, Any]:
    if chunk.embedding is None:
        raise InvalidInput("All documents must include pre-computed embeddings", code="embedding_required")
    return {
        "id": chunk.id,
        "text": chunk.text,
        "metadata": dict(chunk.metadata),
        "embedding": chunk.embedding.tolist(),
    }
