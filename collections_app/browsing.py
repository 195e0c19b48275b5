"""Pages of chunks for people to leaf through: each begins at a key, so that the last costs as little as the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from django.db import connection
from psycopg import sql

from collections_app.where_sql import condition, filter_errors
from core_app.snapshot import in_time, snapshot
from core_app.sql import statement
from core_app.where import Where

Row = TypeVar("Row")

#: Rows are counted no further.
MOST_COUNTED = 10_000
#: Characters of a text that a list shows.
EXCERPT = 120
#: What a list may take before it is made of a part of the chunks; twice that at most.
PATIENCE_SECONDS = 0.2
#: Chunks that are looked at for one page then.
LOOKED_AT = 50_000


class Marked(StrEnum):
    """What was done to chunks by hand."""

    DISABLED = "disabled"
    EDITED = "edited"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a page begins: after a key in the order of the list, or before it; None is the first page."""

    after: int | None = None
    before: int | None = None


@dataclass(frozen=True, kw_only=True)
class ChunksAsked:
    """Which chunks. Newest first, but those of a document in its order."""

    #: None: all of them.
    collection_ids: Sequence[int] | None = None
    document_id: int | None = None
    marked: Marked | None = None
    where: Where | None = None


@dataclass(frozen=True, kw_only=True)
class ListedChunk:
    """A chunk as a list shows it."""

    id: int
    #: Its place in the order of the list.
    key: int
    collection_id: int
    document_id: int | None
    #: How its text begins.
    beginning: str
    section_path: Sequence[str]
    page: int | None
    ordinal: int | None
    is_disabled: bool
    is_edited: bool

    @property
    def is_cut(self) -> bool:
        return len(self.beginning) == EXCERPT


@dataclass(frozen=True, kw_only=True)
class Listed(Generic[Row]):
    """A page, and the keys to ask for those before and after it with; None where there is none."""

    rows: Sequence[Row]
    before: int | None
    after: int | None


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A number of rows; `is_capped` where there may be more."""

    number: int
    is_capped: bool


def page_of(rows: list[Row], *, size: int, place: Place, key: Callable[[Row], int]) -> Listed[Row]:
    """A page of rows in the order in which they were read, of which one more than a page was asked for."""
    is_more = len(rows) > size
    rows = rows[:size]
    backwards = place.before is not None
    if backwards:
        rows.reverse()
    if not rows:
        return Listed(rows=rows, before=None, after=None)
    has_before = is_more if backwards else place.after is not None
    has_after = True if backwards else is_more
    return Listed(rows=rows, before=key(rows[0]) if has_before else None, after=key(rows[-1]) if has_after else None)


@dataclass(frozen=True, kw_only=True)
class ChunkPage(Listed[ListedChunk]):
    """A page of chunks; `count` is None where counting would take long."""

    count: Counted | None = None
    #: Where it was not searched to the end, how many chunks were looked at.
    looked_at: int | None = None


def browse_chunks(*, asked: ChunksAsked, place: Place, size: int) -> ChunkPage:
    """A page of chunks and how many there are, up to `MOST_COUNTED`.

    Where the database finds no quick way to what a filter lets through, only the next `LOOKED_AT` chunks are looked
    at, and nothing is counted. Raises InvalidInput for a filter that cannot be used.
    """
    parts, params = _parts(asked)
    parts |= _order(asked, place)
    given = {**params, "limit": size + 1, "characters": EXCERPT, "looked_at": LOOKED_AT, "most": MOST_COUNTED + 1}
    given["key"] = place.after if place.before is None else place.before
    with filter_errors(), snapshot():
        rows = _in_time("browse_chunks", parts, given)
        if rows is None:
            return _part(asked, parts, given, place, size)
        counted = _in_time("browse_chunks_count", parts, given)
    page = page_of(_listed(rows), size=size, place=place, key=lambda row: row.key)
    return ChunkPage(rows=page.rows, before=page.before, after=page.after, count=_counted(counted))


def _part(
    asked: ChunksAsked, parts: Mapping[str, sql.Composable], given: Mapping[str, Any], place: Place, size: int
) -> ChunkPage:
    """A page of what is found among the next chunks alone; the next one goes on where these end."""
    rows = _rows("browse_chunks_part", parts, given)
    page = page_of(_listed(rows), size=size, place=place, key=lambda row: row.key)
    before, after = page.before, page.after
    if not page.rows:
        before, after = place.after, place.before
    ((looked_at, lowest, highest),) = _rows("browse_chunks_end", parts, given)
    if len(rows) > size or looked_at < LOOKED_AT:
        return ChunkPage(rows=page.rows, before=before, after=after)
    ends = highest if _ascends(asked, place) else lowest
    if place.before is None:
        after = ends
    else:
        before = ends
    return ChunkPage(rows=page.rows, before=before, after=after, looked_at=looked_at)


def _listed(rows: Sequence[tuple[Any, ...]]) -> list[ListedChunk]:
    return [ListedChunk(**dict(zip(_FIELDS, row, strict=True))) for row in rows]


_FIELDS = tuple(ListedChunk.__dataclass_fields__)


def _counted(rows: Sequence[tuple[Any, ...]] | None) -> Counted | None:
    if rows is None:
        return None
    ((number,),) = rows
    return Counted(number=min(number, MOST_COUNTED), is_capped=number > MOST_COUNTED)


def _in_time(name: str, parts: Mapping[str, sql.Composable], params: Mapping[str, Any]) -> list[tuple[Any, ...]] | None:
    """None where it takes longer than anybody who leafs through a list should wait."""
    return in_time(lambda: _rows(name, parts, params), seconds=PATIENCE_SECONDS)


def _parts(asked: ChunksAsked) -> tuple[dict[str, sql.Composable], dict[str, Any]]:
    narrowed = condition(asked.where)
    scopes = [sql.SQL("TRUE")]
    if asked.collection_ids is not None:
        one = len(asked.collection_ids) == 1
        scopes.append(
            sql.SQL("chunk.collection_id = %(collection_id)s")
            if one
            else sql.SQL("chunk.collection_id = ANY(%(collection_ids)s::bigint[])")
        )
    if asked.document_id is not None:
        scopes.append(sql.SQL("chunk.document_id = %(document_id)s"))
    marked = {
        None: sql.SQL("TRUE"),
        Marked.DISABLED: sql.SQL("chunk.disabled_at IS NOT NULL"),
        Marked.EDITED: sql.SQL("chunk.edited_at IS NOT NULL"),
    }
    ids = list(asked.collection_ids or ())
    params = {"collection_id": ids[0] if ids else None, "collection_ids": ids, "document_id": asked.document_id}
    parts = {"scope": sql.SQL(" AND ").join(scopes), "state": marked[asked.marked], "where": narrowed.sql}
    return parts, {**params, **narrowed.params}


def _order(asked: ChunksAsked, place: Place) -> dict[str, sql.Composable]:
    """The order's key, and where a page begins in it."""
    ascends = _ascends(asked, place)
    key = sql.SQL("chunk.id" if asked.document_id is None else "chunk.ordinal")
    begins: sql.Composable = sql.SQL("TRUE")
    if place != Place():
        begins = sql.SQL("{key} > %(key)s" if ascends else "{key} < %(key)s").format(key=key)
    return {"key": key, "from_key": begins, "order": sql.SQL("{key} ASC" if ascends else "{key} DESC").format(key=key)}


def _ascends(asked: ChunksAsked, place: Place) -> bool:
    """Whether keys grow in the order in which a page is read."""
    return (asked.document_id is not None) != (place.before is not None)


def _rows(name: str, parts: Mapping[str, sql.Composable], params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    query = sql.SQL(statement("collections_app", name)).format(**parts)
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found
