"""Building vector indexes beside searches and writes, and clearing away what nobody needs any more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter

import psycopg
from django.db import connection
from psycopg import errors, sql

from collections_app.models import Generation
from collections_app.services import space_of
from core_app.ports import IndexState, Space
from core_app.sql import statement
from core_app.wiring import app_settings
from stores_app import hnsw
from stores_app.hnsw import VectorIndex
from stores_app.maintenance import Check, Upkeep, upkeep
from stores_app.transfer import ROOM

#: Whose deleted rows are given back, in the order in which they were deleted.
_TABLES = (
    "stores_vector",
    "stores_postingblock",
    "stores_segment",
    "collections_chunk",
    "collections_documenttext",
    "collections_document",
)

#: Segments of emptied collections that are deleted at a time: each may have some ten thousand blocks of postings.
_SEGMENTS_AT_ONCE = 10

#: An index is built anew when so many vectors came or went since, as a share of those in it.
_CHANGED_SHARE = 0.25
#: An index stays until its vectors are so few, as a share of what is needed to build one.
_KEPT_SHARE = 0.5

#: Vacuum mends an index by a search for each vector beside a deleted one, in one process. With so many deleted, as a
#: share of all, it takes longer than building anew: 77 s against 28 s for a fifth of 124,000.
_MENDED_SHARE = 0.01

#: Bytes that one vector takes while the graph is built, beside its numbers; and what is too little for any graph.
_GRAPH_BYTES = 1100
_LEAST_MEMORY = 64 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class _Count:
    """Vectors of one generation: in the index, beside it, and the last chunk that has one."""

    indexed: int
    unindexed: int
    last_chunk_id: int
    #: In the index though they were deleted.
    gone: int

    @property
    def total(self) -> int:
        return self.indexed + self.unindexed


def state(space: Space) -> IndexState:
    """How the space's vectors are searched, and whether `build` would change that for the better."""
    index = hnsw.standing(space)
    found = _counted(space, index)
    if _is_worth_an_index(space, found, index):
        wanted = _is_behind(space, found) and _has_half_precision(space)
    else:
        wanted = index is not None
    return IndexState(indexed=found.indexed, unindexed=found.unindexed, wanted=wanted)


def build(space: Space, check: Check) -> None:
    """See to it that one index covers the space's vectors, or none where they are few.

    Where some have no half precision, things stay as they are: what stands is right for what it covers.
    """
    with upkeep(check) as session:
        _renew(session, space, check)


def drop(space: Space, check: Check) -> None:
    """Leave the space's vectors without an index."""
    with upkeep(check) as session:
        _drop(session, hnsw.catalogued(space), check)


def _renew(session: Upkeep, space: Space, check: Check) -> None:
    _drop(session, (left for left in hnsw.catalogued(space) if not left.is_valid), check)
    standing = hnsw.standing(space)
    found = _counted(space, standing)
    kept = None
    if _is_worth_an_index(space, found, standing):
        kept = standing
        due = VectorIndex(generation_id=space.generation_id, watermark=found.last_chunk_id, rows=found.total)
        if (standing is None or standing.name != due.name) and _has_half_precision(space):
            _create(session, space, due, check)
            kept = due
    _drop(session, (old for old in hnsw.catalogued(space) if kept is None or old.name != kept.name), check)


def reclaim(check: Callable[[str, int, int], None]) -> None:
    """Drop indexes that serve no search, build worn ones anew, vacuum; `check` hears every second of what."""
    steps = ("vector indexes", "emptied word indexes", *_TABLES)
    with upkeep(partial(check, steps[0], 0, len(steps))) as session:
        for done, step in enumerate(steps):
            tell = partial(check, step, done, len(steps))
            tell()
            if step in _TABLES:
                session.run(sql.SQL(statement(ROOM, "vacuum")).format(table=sql.Identifier(step)), check=tell)
            elif step == steps[1]:
                while session.rows("drop_retired_segments", {"most": _SEGMENTS_AT_ONCE}):
                    tell()
            else:
                _drop(session, _unneeded(), tell)
                for space in _worn():
                    _renew(session, space, tell)


def _is_worth_an_index(space: Space, found: _Count, standing: VectorIndex | None) -> bool:
    """Whether there are enough vectors, and not too long."""
    enough = app_settings().vector_database.index_bytes * (1 if standing is None else _KEPT_SHARE)
    is_enough = found.total > 0 and found.total * _bytes(space) >= enough
    return is_enough and space.dimension <= hnsw.MAX_DIMENSION


def _is_behind(space: Space, found: _Count) -> bool:
    """Whether what is compared one by one, or deleted and still met, costs more than an index is worth."""
    changed = found.unindexed + found.gone
    bearable = max(app_settings().vector_database.index_bytes / _bytes(space), _CHANGED_SHARE * found.indexed)
    return changed > 0 and changed >= bearable


def _has_half_precision(space: Space) -> bool:
    """Whether the vectors' numbers fit and still differ: `halfvec` goes from 6e-5 to 65,504 with full precision."""
    if hnsw.holds_directions(space):
        return True
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "longest_vector"), {"generation_id": space.generation_id})
        longest = float(cursor.fetchone()[0] or 0)
    # Of a vector of this length an ordinary number is the smallest with full precision.
    shortest = hnsw.SMALLEST_HALF * math.sqrt(space.dimension)
    return shortest <= longest <= hnsw.LARGEST_HALF


def _bytes(space: Space) -> int:
    """Of one vector."""
    return 4 * space.dimension


def _counted(space: Space, standing: VectorIndex | None) -> _Count:
    with connection.cursor() as cursor:
        cursor.execute(
            statement(ROOM, "count_vectors"),
            {"generation_id": space.generation_id, "watermark": -1 if standing is None else standing.watermark},
        )
        indexed, unindexed, last = cursor.fetchone()
    gone = 0 if standing is None else max(standing.rows - indexed, 0)
    return _Count(indexed=indexed, unindexed=unindexed, last_chunk_id=last or 0, gone=gone)


def _create(session: Upkeep, space: Space, new: VectorIndex, check: Check) -> None:
    """Build an index; nothing is left of it when that fails or `check` raises."""
    needed = max(new.rows * (2 * space.dimension + _GRAPH_BYTES), _LEAST_MEMORY)
    allowed = app_settings().vector_database.index_build_memory_bytes
    session.rows("build_settings", {"needed": needed, "allowed": allowed})
    query = hnsw.composed("create_vector_index", space=space, watermark=new.watermark, name=sql.Identifier(new.name))
    try:
        try:
            session.run(query, check=check)
        except errors.DiskFull:
            # Several processes share the graph; containers often have little room for what is shared.
            _drop(session, [new], check)
            session.rows("build_alone", {})
            session.run(query, check=check)
        session.run(sql.SQL(statement(ROOM, "analyze")).format(), check=check)
    except BaseException:
        # Where the connection itself is gone, the next build or `reclaim` does it.
        with suppress(psycopg.Error):
            _drop(session, [new], _go_on)
        raise


def _drop(session: Upkeep, indexes: Iterable[VectorIndex], check: Check) -> None:
    for index in indexes:
        session.run(sql.SQL(statement(ROOM, "drop_vector_index")).format(name=sql.Identifier(index.name)), check=check)


def _go_on() -> None:
    """For what is quick and must be done."""


def _unneeded() -> list[VectorIndex]:
    """Indexes that ended early, that a newer one replaces, or that have no vector left, as of a deleted generation."""
    found = sorted(hnsw.catalogued(), key=attrgetter("generation_id"))
    in_use = filter(None, (hnsw.newest(indexes) for _, indexes in groupby(found, key=attrgetter("generation_id"))))
    with connection.cursor() as cursor:
        chosen = {index.generation_id: index for index in in_use}
        cursor.execute(
            statement(ROOM, "indexed_generations"),
            {"generation_ids": list(chosen), "watermarks": [index.watermark for index in chosen.values()]},
        )
        needed = [chosen[generation_id] for (generation_id,) in cursor.fetchall()]
    return [index for index in found if index not in needed]


def _worn() -> list[Space]:
    """Spaces from whose index so much was deleted that vacuum would be at it for long."""
    indexed = {index.generation_id for index in hnsw.catalogued()}
    spaces = [space_of(generation) for generation in Generation.objects.filter(pk__in=indexed)]
    return [space for space in spaces if _is_worn(space)]


def _is_worn(space: Space) -> bool:
    standing = hnsw.standing(space)
    return standing is not None and _counted(space, standing).gone > _MENDED_SHARE * standing.rows
