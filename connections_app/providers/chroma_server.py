"""A Chroma that runs as a server, asked over its HTTP API (v2)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from connections_app.providers.chroma_engine import GRAPH, Found, Matches, Records, distance_of
from core_app.errors import Conflict, FarSideFailed, FarSideSlow, InvalidInput, NotFound, RagsiteError, Unavailable
from core_app.far_side import FarSide, FarSideError
from core_app.ports import DistanceName

#: Twenty thousand records with vectors of 400 numbers, written out.
_LARGEST_ANSWER = 256 * 1024 * 1024
_QUICK_SECONDS = 5.0
#: What only reads is asked so often where the server says that something went wrong in it.
_READS, _PAUSE_SECONDS, _FAILED = 4, 0.1, 500


class ChromaServer:
    """`chroma_engine.Engine` over HTTP. What only reads is tried again; what writes is not."""

    def __init__(
        self, *, url: str, headers: Mapping[str, str], tenant: str, database: str, timeout_seconds: float
    ) -> None:
        self._far_side = FarSide(
            base_url=url,
            headers=headers,
            timeout_seconds=timeout_seconds,
            largest_answer=_LARGEST_ANSWER,
            what="Chroma server",
        )
        self._base = f"/api/v2/tenants/{quote(tenant, safe='')}/databases/{quote(database, safe='')}/collections"

    def close(self) -> None:
        self._far_side.close()

    def version(self) -> str:
        with _told():
            return str(self._far_side.ask_any("GET", "/api/v2/version", seconds=_QUICK_SECONDS, is_repeatable=False))

    def is_sparse(self) -> bool:
        return any(_has_words(one) for one in self._listed())

    def collections(self) -> Sequence[Found]:
        return [_found(one) for one in self._listed()]

    def collection(self, name: str) -> Found:
        return _found(self._read("GET", f"/{quote(name, safe='')}"))

    def create(self, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> Found:
        body = {
            "name": name,
            "metadata": dict(metadata) or None,
            "configuration": {"hnsw": {"space": distance, **GRAPH}},
            "get_or_create": False,
        }
        return _found(self._write("POST", "", body))

    def rename(self, found: Found, name: str) -> None:
        self._write("PUT", f"/{found.id}", {"new_name": name})

    def set_metadata(self, found: Found, metadata: Mapping[str, Any]) -> None:
        self._write("PUT", f"/{found.id}", {"new_metadata": dict(metadata)})

    def drop(self, name: str) -> None:
        self._write("DELETE", f"/{quote(name, safe='')}")

    def count(self, found: Found) -> int:
        count = self._read("GET", f"/{found.id}/count")
        if not isinstance(count, int):
            raise _unreadable()
        return count

    def get(
        self,
        found: Found,
        *,
        include: Sequence[str],
        ids: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Records:
        body: dict[str, Any] = {"include": list(include)}
        asked = {"ids": None if ids is None else list(ids), "where": where, "limit": limit, "offset": offset}
        body |= {key: value for key, value in asked.items() if value is not None}
        answer = self._read("POST", f"/{found.id}/get", body)
        return _records(answer)

    def upsert(
        self,
        found: Found,
        *,
        ids: Sequence[str],
        embeddings: Sequence[Sequence[float]],
        metadatas: Sequence[Mapping[str, Any] | None],
        documents: Sequence[str],
    ) -> None:
        body = {"ids": ids, "embeddings": embeddings, "metadatas": metadatas, "documents": documents}
        self._write("POST", f"/{found.id}/upsert", body)

    def delete(self, found: Found, ids: Sequence[str]) -> None:
        self._write("POST", f"/{found.id}/delete", {"ids": list(ids)})

    def query(
        self, found: Found, *, queries: Sequence[Sequence[float]], count: int, ids: Sequence[str] | None
    ) -> Sequence[Matches]:
        include = ["metadatas", "documents", "distances"]
        body: dict[str, Any] = {"query_embeddings": queries, "n_results": count, "include": include}
        if ids is not None:
            body["ids"] = list(ids)
        answer = self._read("POST", f"/{found.id}/query", body)
        parts = [answer.get(key) if isinstance(answer, dict) else None for key in ("ids", *include)]
        if not all(isinstance(part, list) and len(part) == len(queries) for part in parts):
            raise _unreadable()
        return [_matches(*lists) for lists in zip(*parts, strict=True)]

    def _listed(self) -> Sequence[Any]:
        found = self._read("GET", "")
        if not isinstance(found, list):
            raise _unreadable()
        return found

    def _read(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        with _told():
            for _ in range(_READS - 1):
                try:
                    return self._far_side.ask_any(method, self._base + path, body=body, is_repeatable=True)
                except FarSideError as error:
                    # A search that meets a record which is being deleted ends so.
                    if error.status != _FAILED:
                        raise
                time.sleep(_PAUSE_SECONDS)
            return self._far_side.ask_any(method, self._base + path, body=body, is_repeatable=True)

    def _write(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        with _told():
            return self._far_side.ask_any(method, self._base + path, body=body, is_repeatable=False)


@contextmanager
def _told() -> Iterator[None]:
    """What the server did, as an error of ours."""
    try:
        yield
    except FarSideError as error:
        raise _ours(error) from error


def _ours(error: FarSideError) -> RagsiteError:
    if error.is_slow:
        return FarSideSlow("The Chroma server did not answer in time. Try again, or raise the connection's time limit.")
    if error.is_unreachable:
        return Unavailable("The Chroma server cannot be reached. Check its address.", code="far_side_unreachable")
    if error.status in {401, 403}:
        return FarSideFailed(
            "The Chroma server refused the connection's key. Check the key and what it may do.",
            code="far_side_refused",
        )
    if error.status == 404:
        return NotFound("There is no such collection at the Chroma server.", code="collection_not_found")
    if error.status == 409:
        return Conflict("There is a collection of this name at the Chroma server.", code="collection_exists")
    if error.status in {400, 422}:
        return InvalidInput(f"Chroma does not take this: {error.said or 'it does not say why'}.", code="refused_there")
    if error.status in {429, 503}:
        return Unavailable("The Chroma server is busy. Try again in a few seconds.", code="far_side_busy")
    return FarSideFailed("The Chroma server failed. Try again; this server's log has what it said.")


def _unreadable() -> FarSideFailed:
    return FarSideFailed("The Chroma server answered what cannot be read. Is it a Chroma of version 1?")


def _found(answer: Any) -> Found:
    if not isinstance(answer, dict) or not isinstance(answer.get("id"), str) or not isinstance(answer.get("name"), str):
        raise _unreadable()
    metadata, dimension = answer.get("metadata"), answer.get("dimension")
    configuration = answer.get("configuration_json")
    return Found(
        id=quote(answer["id"], safe=""),
        name=answer["name"],
        metadata=metadata if isinstance(metadata, dict) else {},
        distance=distance_of(configuration if isinstance(configuration, dict) else None, metadata),
        dimension=dimension if isinstance(dimension, int) else None,
    )


def _has_words(answer: Any) -> bool:
    """Whether some field has an index of sparse vectors."""
    keys = ((answer.get("schema") or {}).get("keys") or {}) if isinstance(answer, dict) else {}
    kinds = [kind.get("sparse_vector") or {} for kind in keys.values() if isinstance(kind, dict)]
    return any((kind.get("sparse_vector_index") or {}).get("enabled") is True for kind in kinds)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _matches(ids: Any, metadatas: Any, documents: Any, distances: Any) -> Matches:
    records = _records({"ids": ids, "metadatas": metadatas, "documents": documents})
    if not isinstance(distances, list) or len(distances) != len(records.ids):
        raise _unreadable()
    return Matches(records=records, distances=[one if isinstance(one, int | float) else None for one in distances])


def _records(answer: Any) -> Records:
    if not isinstance(answer, dict) or not _is_texts(answer.get("ids")):
        raise _unreadable()
    parts = {key: answer.get(key) or [] for key in ("metadatas", "documents", "embeddings")}
    if any(part and (not isinstance(part, list) or len(part) != len(answer["ids"])) for part in parts.values()):
        raise _unreadable()
    return Records(ids=answer["ids"], **parts)
