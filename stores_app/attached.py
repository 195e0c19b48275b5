"""Collections that another system holds alone: found by their vectors there, shown as they are there.

No row of theirs is here, so nothing can be found by words, and nothing is written: whoever fills such a collection does
it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NoReturn

from connections_app.models import Connection
from core_app.errors import Conflict, StoreFailed
from core_app.ports import DenseFound, DenseHit, IndexedChunk, Prepared, Space, Vectors
from core_app.providers import HeldChunk
from core_app.where import Where
from core_app.wiring import store
from stores_app.asking_there import ask_there
from stores_app.models import Placement

#: The store that has what is searched here; of these collections it has nothing.
HOME = "pgvector"
#: Asked for more, other systems refuse or take long.
MOST_ASKED = 1000


@dataclass(frozen=True, kw_only=True)
class _There:
    connection: Connection
    name: str


class AttachedStore:
    """`core_app.ports.Store` that reads through a connection. What stands here is what differs from an empty store."""

    #: See `core_app.ports.Store`.
    home = "attached"
    has_words = False

    def __init__(self) -> None:
        self._here = store(HOME)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._here, name)

    def check_rows(self, *, collection_id: int) -> None:
        """Raises Conflict: there are none here."""
        _refuse(collection_id)

    def held_by(self, *, collection_id: int) -> str:
        """The name of its connection. Raises StoreFailed where that is gone."""
        return _there(collection_id).connection.name

    def add(
        self, *, space: Space, language: str, chunks: Sequence[IndexedChunk], prepared: Prepared | None = None
    ) -> None:
        """Raises Conflict."""
        _refuse(space.collection_id)

    def empty(self, *, collection_id: int) -> None:
        """Raises Conflict."""
        _refuse(collection_id)

    def dense(
        self, *, space: Space, query: Vectors, limit: int, where: Where | None = None, seconds: float | None = None
    ) -> DenseFound:
        """The nearest chunks as the other system has them. Raises StoreFailed, and FarSideSlow."""
        there = _there(space.collection_id)
        found = ask_there(
            connection=there.connection,
            name=there.name,
            query=query,
            limit=min(limit, MOST_ASKED),
            where=where,
            seconds=seconds,
        )
        if found is None:
            raise StoreFailed(f"'{there.connection.name}' cannot apply this filter exactly. Search without it.")
        hits = [
            DenseHit(chunk_id=key_of(space.collection_id, near.chunk), distance=near.distance, chunk=near.chunk)
            for near in found
        ]
        return DenseFound(hits=hits, way=f"asked '{there.connection.name}'")


def key_of(collection_id: int, chunk: HeldChunk) -> int:
    """A number below zero, which no row has, and the same whenever the chunk is found."""
    return -int.from_bytes(sha256(f"{collection_id}:{chunk.id}".encode("utf-8", "surrogatepass")).digest()[:7]) - 1


def _there(collection_id: int) -> _There:
    placement = Placement.objects.select_related("connection").filter(collection_id=collection_id).first()
    if placement is None:
        raise StoreFailed("The connection of this collection is gone. Delete the collection here, and attach it again.")
    return _There(connection=placement.connection, name=placement.name_there)


def _refuse(collection_id: int) -> NoReturn:
    there = _there(collection_id)
    raise Conflict(
        f"The documents of this collection are held by '{there.connection.name}' and not here. Ask for them, and write "
        f"them, as '/api/collections/{there.name}/...?service={there.connection.name}'; or import the collection.",
        code="held_elsewhere",
    )
