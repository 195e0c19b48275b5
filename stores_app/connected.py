"""Collections whose nearest chunks another system finds: rows, vectors and words stay here and are the record.

What changes here is noted beside the change, in the same transaction, and sent afterwards (`stores_app.delivering`).
Until then a search looks here for what the other system does not have yet, so nobody sees that it lags behind.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from psycopg import sql

from collections_app.where_sql import condition
from connections_app.models import Connection
from core_app.ports import DenseFound, DenseHit, IndexedChunk, IndexState, Prepared, Space, Vectors
from core_app.sql import statement
from core_app.where import Where
from core_app.wiring import store
from stores_app import dense, index_upkeep
from stores_app.asking_there import ask_there
from stores_app.models import Placement
from stores_app.transfer import ROOM, binary_cursor

logger = logging.getLogger(__name__)

#: The store that has the record.
HOME = "pgvector"
#: So many chunks that wait to be sent are compared here, beside what the other system finds; with more, all are.
MOST_STALE = 1000
#: Asked for more, other systems refuse or take long.
MOST_ASKED = 1000
#: What others change between the beginning of a search and the other system's answer.
_SLACK = 10


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """Where a collection is searched, and what is not as it is here there: external ids, and keys of what is here."""

    connection: Connection
    name_there: str
    stale: frozenset[str]
    stale_here: Sequence[int]


class ConnectedStore:
    """`core_app.ports.Store` over the built-in store and the provider of a connection.

    What stands here is what differs; all else is the built-in store's.
    """

    def __init__(self) -> None:
        self._here = store(HOME)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._here, name)

    def add(
        self, *, space: Space, language: str, chunks: Sequence[IndexedChunk], prepared: Prepared | None = None
    ) -> None:
        """As the built-in store, and noted to be sent."""
        self._here.add(space=space, language=language, chunks=chunks, prepared=prepared)
        self.changed(collection_id=space.collection_id, chunk_ids=[chunk.chunk_id for chunk in chunks])

    def remove(self, *, collection_id: int, chunk_ids: Sequence[int]) -> None:
        """As the built-in store, before the rows are deleted, and noted to be sent."""
        self.changed(collection_id=collection_id, chunk_ids=chunk_ids)
        self._here.remove(collection_id=collection_id, chunk_ids=chunk_ids)

    def changed(self, *, collection_id: int, chunk_ids: Sequence[int]) -> None:
        """Note that text or metadata of chunks are others now."""
        if chunk_ids:
            _execute("mark_outgoing", collection_id=collection_id, chunk_ids=list(chunk_ids))

    def empty(self, *, collection_id: int) -> None:
        """As the built-in store, and noted to be sent."""
        _execute("mark_emptied", collection_id=collection_id)
        self._here.empty(collection_id=collection_id)

    def dense(
        self, *, space: Space, query: Vectors, limit: int, where: Where | None = None, seconds: float | None = None
    ) -> DenseFound:
        """The nearest chunks by the other system, at distances that are computed here.

        Where it is being filled, lags far behind or does not know the filter's operators, all are compared here.
        Raises InvalidInput, StoreFailed for whatever goes wrong there, and FarSideSlow when `seconds` are over.
        """
        dense.checked([query], space)
        found = _found_there(space, query, limit, where, seconds) if 0 < limit <= MOST_ASKED else None
        if found is None:
            here = self._here.dense(space=space, query=query, limit=limit, where=where)
            return DenseFound(hits=here.hits, way=f"here: {here.way}")
        near, way = found
        distances = self._here.distances(space=space, query=query, chunk_ids=near)
        hits = [DenseHit(chunk_id=chunk_id, distance=distance) for chunk_id, distance in distances.items()]
        return DenseFound(hits=sorted(hits, key=lambda hit: (hit.distance, hit.chunk_id))[:limit], way=way)

    def index_state(self, *, space: Space) -> IndexState:
        """An index is not wanted for what another system searches."""
        state = self._here.index_state(space=space)
        if not _is_served(space.collection_id):
            return state
        return IndexState(indexed=state.indexed, unindexed=state.unindexed, wanted=state.indexed > 0)

    def build_index(self, *, space: Space, check: Callable[[], None]) -> None:
        """Drop it where another system searches."""
        if _is_served(space.collection_id):
            index_upkeep.drop(space, check)
        else:
            self._here.build_index(space=space, check=check)


def _execute(name: str, **given: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, name), given)


def _is_served(collection_id: int) -> bool:
    return Placement.objects.filter(collection_id=collection_id, state=Placement.State.SERVING).exists()


def _found_there(
    space: Space, query: Vectors, limit: int, where: Where | None, seconds: float | None
) -> tuple[list[int], str] | None:
    """The keys of what may be nearest, and how it was found; None where it must be looked for here."""
    placed = _placed(space.collection_id)
    if placed is None:
        return None
    wanted = limit + len(placed.stale) + _SLACK
    there = ask_there(
        connection=placed.connection, name=placed.name_there, query=query, limit=wanted, where=where, seconds=seconds
    )
    if there is None:
        return None
    ids = [near.chunk.id for near in there if near.chunk.id not in placed.stale]
    keys = _keys(space, ids) + _passing(placed.stale_here, where)
    return keys, f"asked '{placed.connection.name}'"


def _placed(collection_id: int) -> _Placed | None:
    placement = (
        Placement.objects.select_related("connection")
        .filter(collection_id=collection_id, state=Placement.State.SERVING)
        .first()
    )
    if placement is None:
        return None
    asked = {"placement_id": placement.pk, "collection_id": collection_id, "limit": MOST_STALE + 1}
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "stale_there"), asked)
        rows = cursor.fetchall()
    if len(rows) > MOST_STALE or any(external_id is None for external_id, _ in rows):
        return None
    return _Placed(
        connection=placement.connection,
        name_there=placement.name_there,
        stale=frozenset(external_id for external_id, _ in rows),
        stale_here=sorted({chunk_id for _, chunk_id in rows if chunk_id is not None}),
    )


def _keys(space: Space, external_ids: Sequence[str]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            statement("collections_app", "chunks_by_external_id"),
            {"collection_id": space.collection_id, "external_ids": list(external_ids)},
        )
        return [row[1] for row in cursor.fetchall()]


def _passing(chunk_ids: Sequence[int], where: Where | None) -> list[int]:
    if where is None or not chunk_ids:
        return list(chunk_ids)
    narrowed = condition(where)
    with binary_cursor() as cursor:
        query = sql.SQL(statement(ROOM, "passing")).format(where=narrowed.sql)
        cursor.execute(query, {"chunk_ids": list(chunk_ids), **narrowed.params})
        return [chunk_id for (chunk_id,) in cursor.fetchall()]
