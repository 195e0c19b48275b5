"""Vector indexes: what one is made of, and which ones stand.

An index belongs to one generation and covers its chunks up to a watermark, a chunk id. Chunk ids only
grow, so what is added later never touches the index: it is compared one by one until the next build.
Generation, watermark and the number of vectors are the index's name, and Postgres' catalogue says which
indexes are whole. Nothing else is written down, so nothing can disagree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from django.db import connection
from psycopg import sql

from core_app.cursors import Preparing, server_side
from core_app.ports import DistanceName, Space
from core_app.sql import statement
from stores_app.transfer import ROOM

#: What pgvector's HNSW can hold of `halfvec`; longer vectors are compared one by one.
MAX_DIMENSION = 4000
#: Where `halfvec` has its full precision. A larger number is an error, below the smallest all become one.
SMALLEST_HALF = 2.0**-14
LARGEST_HALF = 65_504.0

_NAME = re.compile(r"stores_hnsw_g(\d+)_w(\d+)_n(\d+)")
_LARGEST_BIGINT = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class VectorIndex:
    """An index of the catalogue. One that is not valid is being built, or was left by a build that ended early."""

    generation_id: int
    watermark: int
    #: Vectors when it was built; those that were deleted since slow it down.
    rows: int
    is_valid: bool = False

    @property
    def name(self) -> str:
        return f"stores_hnsw_g{self.generation_id}_w{self.watermark}_n{self.rows}"


@dataclass(frozen=True, kw_only=True)
class _Measure:
    """How one distance is computed, and how it is indexed."""

    #: Of a stored vector from the query, smaller being nearer; always a number.
    distance: sql.SQL
    #: What of a vector the index holds, in half precision.
    key: sql.SQL
    operator: sql.SQL
    operator_class: sql.SQL


#: The index for cosine holds directions: they fit half precision however long a vector is, and the
#: inner product of directions has a value for the zero vector too, the one it has in `distance`.
_MEASURES: dict[DistanceName, _Measure] = {
    "cosine": _Measure(
        distance=sql.SQL("coalesce(nullif(embedding <=> %(query)s::vector, 'NaN'), 1)"),
        key=sql.SQL("l2_normalize({vector})"),
        operator=sql.SQL("<#>"),
        operator_class=sql.SQL("halfvec_ip_ops"),
    ),
    "l2": _Measure(
        distance=sql.SQL("embedding <-> %(query)s::vector"),
        key=sql.SQL("{vector}"),
        operator=sql.SQL("<->"),
        operator_class=sql.SQL("halfvec_l2_ops"),
    ),
    "ip": _Measure(
        distance=sql.SQL("embedding <#> %(query)s::vector"),
        key=sql.SQL("{vector}"),
        operator=sql.SQL("<#>"),
        operator_class=sql.SQL("halfvec_ip_ops"),
    ),
}


def holds_directions(space: Space) -> bool:
    """Whether the space's index holds vectors of length 1, so that every vector fits."""
    return space.distance == "cosine"


@lru_cache(maxsize=1000)
def whole(name: str, /, *, space: Space, watermark: int = 0) -> str:
    """The text of a statement that has no other parts, put together once."""
    return composed(name, space=space, watermark=watermark).as_string()


def composed(name: str, /, *, space: Space, watermark: int = 0, **parts: sql.Composable) -> sql.Composed:
    """The statement in `sql/name.sql` for one space: the only place where values become part of SQL.

    A partial index is used only where its condition can be seen when a statement is planned, so
    generation, watermark and dimension are written out, as integers that were checked. Everything else
    stays a placeholder.
    """
    measure = _MEASURES[space.distance]
    return sql.SQL(statement(ROOM, name)).format(
        generation=_integer(space.generation_id),
        watermark=_integer(watermark),
        dimension=_integer(space.dimension),
        distance=measure.distance,
        key=measure.key.format(vector=sql.SQL("embedding")),
        query_key=measure.key.format(vector=sql.SQL("%(query)s::vector")),
        operator=measure.operator,
        operator_class=measure.operator_class,
        **parts,
    )


def _integer(value: int) -> sql.Literal:
    if not 0 <= value <= _LARGEST_BIGINT:
        raise ValueError(f"{value!r} is no key.")
    return sql.Literal(int(value))


def standing(space: Space) -> VectorIndex | None:
    """The index that a search of this space can use."""
    return newest(catalogued(space))


def newest(indexes: Iterable[VectorIndex]) -> VectorIndex | None:
    """Of the whole ones of one generation, that with the latest vectors and then with the least that is gone."""
    whole = [index for index in indexes if index.is_valid]
    return max(whole, key=lambda index: (index.watermark, -index.rows), default=None)


def catalogued(space: Space | None = None) -> list[VectorIndex]:
    """The indexes of one space, or of all, whole or not."""
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "vector_indexes"), {"pattern": _prefix(space).replace("_", r"\_") + "%"})
        return _named(cursor.fetchall())


def made_ready(space: Space, *, ef_search: int, most_evaluated: int) -> VectorIndex | None:
    """`standing`, and the rest of the transaction searches it like this (`search_plan.IndexScan`)."""
    prefix = _prefix(space)
    given = {
        # What begins with it, as a range: a plan for any pattern would read all names.
        "names": prefix,
        "names_end": prefix[:-1] + chr(ord(prefix[-1]) + 1),
        "ef_search": str(ef_search),
        "most_evaluated": str(most_evaluated),
    }
    with server_side(Preparing) as cursor:
        cursor.execute(statement(ROOM, "search_settings"), given)
        return newest(_named((name, True) for name in cursor.fetchone()[-1]))


def _prefix(space: Space | None) -> str:
    return "stores_hnsw_g" if space is None else f"stores_hnsw_g{space.generation_id}_w"


def _named(rows: Iterable[tuple[str, bool]]) -> list[VectorIndex]:
    found = [(_NAME.fullmatch(name), is_valid) for name, is_valid in rows]
    return [
        VectorIndex(generation_id=int(name[1]), watermark=int(name[2]), rows=int(name[3]), is_valid=is_valid)
        for name, is_valid in found
        if name
    ]
