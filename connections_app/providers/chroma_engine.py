"""What is asked of Chroma, whether it runs as a server or in this process on a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from core_app.ports import DistanceName

#: As many records as every Chroma takes and gives at once.
BATCH = 2000


@dataclass(frozen=True, kw_only=True)
class Found:
    """A collection as Chroma has it."""

    id: str
    name: str
    metadata: Mapping[str, Any]
    distance: DistanceName
    #: None until it is given its first vector; it stays when all are deleted.
    dimension: int | None


@dataclass(frozen=True, kw_only=True)
class Records:
    """Records in the order in which Chroma has them; empty lists for what was not asked for."""

    ids: Sequence[str]
    metadatas: Sequence[Mapping[str, Any] | None] = field(default_factory=list)
    documents: Sequence[str | None] = field(default_factory=list)
    embeddings: Sequence[Any] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Matches:
    """What one query found, nearest first; distances as Chroma counts them."""

    records: Records
    distances: Sequence[float | None]


class Engine(Protocol):
    """One Chroma. Raises NotFound, Conflict and InvalidInput, and Unavailable, FarSideFailed and FarSideSlow."""

    def close(self) -> None: ...

    def version(self) -> str: ...

    def is_sparse(self) -> bool:
        """Whether some collection has an index of words."""

    def collections(self) -> Sequence[Found]: ...

    def collection(self, name: str) -> Found: ...

    def create(self, name: str, metadata: Mapping[str, Any], distance: DistanceName) -> Found: ...

    def rename(self, found: Found, name: str) -> None: ...

    def set_metadata(self, found: Found, metadata: Mapping[str, Any]) -> None: ...

    def drop(self, name: str) -> None: ...

    def count(self, found: Found) -> int: ...

    def get(
        self,
        found: Found,
        *,
        include: Sequence[str],
        ids: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Records: ...

    def upsert(
        self,
        found: Found,
        *,
        ids: Sequence[str],
        embeddings: Sequence[Sequence[float]],
        metadatas: Sequence[Mapping[str, Any] | None],
        documents: Sequence[str],
    ) -> None: ...

    def delete(self, found: Found, ids: Sequence[str]) -> None: ...

    def query(
        self, found: Found, *, queries: Sequence[Sequence[float]], count: int, ids: Sequence[str] | None
    ) -> Sequence[Matches]:
        """For each query, with texts and metadata."""


#: How the graph of a new collection is built and searched: for nine tenths and more of the nearest.
GRAPH: Mapping[str, int] = {"ef_construction": 200, "max_neighbors": 32, "ef_search": 400}


def distance_of(configuration: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None) -> DistanceName:
    """As the collection was made; older ones say it in their metadata, and l2 is what Chroma means otherwise."""
    parts = configuration or {}
    space = next((parts[name].get("space") for name in ("hnsw", "spann") if parts.get(name)), None)
    space = space or (metadata or {}).get("hnsw:space")
    return "cosine" if space == "cosine" else "ip" if space == "ip" else "l2"
