"""Lists for people to leaf through: each page begins at a key, so that the last costs as little as the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import connection
from psycopg import sql

from collections_app.where_sql import filter_errors
from core_app.keyset import Listed, Place, page_of, sql_parts
from core_app.snapshot import in_time, snapshot
from core_app.sql import statement

Row = TypeVar("Row")
Found = list[tuple[Any, ...]]

#: Rows are counted no further.
MOST_COUNTED = 10_000
#: What a list may take before it is made of a part of the rows; twice that at most.
PATIENCE_SECONDS = 0.2
#: Chunks or documents that are looked at for one page then.
LOOKED_AT = 50_000


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A number of rows; `is_capped` where there may be more."""

    number: int
    is_capped: bool


@dataclass(frozen=True, kw_only=True)
class BrowsedPage(Listed[Row]):
    """A page of a list; `count` is None where counting would take long."""

    count: Counted | None = None
    #: Where it was not searched to the end, how many rows were looked at.
    looked_at: int | None = None


@dataclass(frozen=True, kw_only=True)
class List(Generic[Row]):
    """A list: the statement of its pages, and what stands in it."""

    #: The names of its statement, and of that of its rows where only so many are looked at.
    name: str
    part: str
    #: Its rows' name in the statements, and the table.
    alias: str
    table: str
    #: The column of the keys.
    column: str = "id"
    newest_first: bool = True
    #: Conditions: what an index answers, and what else.
    scope: Sequence[sql.Composable]
    where: Sequence[sql.Composable]
    params: Mapping[str, Any]
    #: Rows as they were found, made into what is shown. What is gone by then may be left out.
    made: Callable[[Found], list[Row]]
    key: Callable[[Row], int]


def browse(asked: List[Row], *, place: Place, size: int) -> BrowsedPage[Row]:
    """A page and how many rows there are, up to `MOST_COUNTED`.

    Where the database finds no quick way to what is asked for, only the next `LOOKED_AT` rows are looked at, and
    nothing is counted. Raises InvalidInput for a filter that cannot be used.
    """
    parts = _parts(asked, place)
    whole = {**parts, "rows": _table(asked)}
    given = {**asked.params, "limit": size + 1, "looked_at": LOOKED_AT, "most": MOST_COUNTED + 1, "key": place.key}
    with filter_errors(), snapshot():
        found = _in_time(asked.name, whole, given)
        if found is None:
            return _part(asked, parts, given, place, size)
        counted = _in_time("browse_count", whole, given)
        page = page_of(asked.made(found), size=size, place=place, key=asked.key)
    return BrowsedPage(rows=page.rows, before=page.before, after=page.after, count=_counted(counted))


def in_collections(alias: str, collection_ids: Sequence[int] | None) -> tuple[list[sql.Composable], dict[str, Any]]:
    """The condition that rows are of these collections, none where that is None, and its values."""
    if collection_ids is None:
        return [], {}
    column = sql.Identifier(alias, "collection_id")
    if len(collection_ids) == 1:
        return [sql.SQL("{} = %(collection_id)s").format(column)], {"collection_id": collection_ids[0]}
    keys = list(collection_ids)
    return [sql.SQL("{} = ANY(%(collection_ids)s::bigint[])").format(column)], {"collection_ids": keys}


def _parts(asked: List[Row], place: Place) -> dict[str, sql.Composable]:
    key = sql.Identifier(asked.alias, asked.column)
    return {
        **sql_parts(place, key=key, newest_first=asked.newest_first),
        "scope": sql.SQL(" AND ").join([sql.SQL("TRUE"), *asked.scope]),
        "where": sql.SQL(" AND ").join([sql.SQL("TRUE"), *asked.where]),
    }


def _part(
    asked: List[Row], parts: Mapping[str, sql.Composable], given: Mapping[str, Any], place: Place, size: int
) -> BrowsedPage[Row]:
    """A page of what is found among the next rows alone; the next one goes on where these end."""
    part = sql.SQL(statement("collections_app", asked.part)).format(**parts)
    rows = sql.SQL("({}) AS {}").format(part, sql.Identifier(asked.alias))
    found = _rows(asked.name, {**parts, "rows": rows}, given)
    page = page_of(asked.made(found), size=size, place=place, key=asked.key)
    before, after = page.before, page.after
    if not page.rows:
        # The row of the place's own key belongs to the page that one came from.
        towards = -1 if asked.newest_first else 1
        before = None if place.after is None else place.after + towards
        after = None if place.before is None else place.before - towards
    column = sql.Identifier("part", asked.column)
    ((looked_at, lowest, highest),) = _rows("browse_end", {"part": part, "column": column}, given)
    ends = lowest if asked.newest_first != place.is_backwards else highest
    if len(found) > size or ends is None or not _has_more(asked, given, place, ends):
        return BrowsedPage(rows=page.rows, before=before, after=after)
    before, after = (ends, after) if place.is_backwards else (before, ends)
    return BrowsedPage(rows=page.rows, before=before, after=after, looked_at=looked_at)


def _has_more(asked: List[Row], given: Mapping[str, Any], place: Place, ends: int) -> bool:
    """Whether the list has rows behind this one, in the direction in which it is read."""
    behind = _parts(asked, Place(before=ends) if place.is_backwards else Place(after=ends))
    parts = {**behind, "rows": _table(asked), "where": sql.SQL("TRUE")}
    return bool(_rows(asked.name, parts, {**given, "key": ends, "limit": 1}))


def _table(asked: List[Row]) -> sql.Composed:
    return sql.SQL("{} AS {}").format(sql.Identifier(asked.table), sql.Identifier(asked.alias))


def _counted(rows: Found | None) -> Counted | None:
    if rows is None:
        return None
    ((number,),) = rows
    return Counted(number=min(number, MOST_COUNTED), is_capped=number > MOST_COUNTED)


def _in_time(name: str, parts: Mapping[str, sql.Composable], params: Mapping[str, Any]) -> Found | None:
    """None where it takes longer than anybody who leafs through a list should wait."""
    return in_time(lambda: _rows(name, parts, params), seconds=PATIENCE_SECONDS)


def _rows(name: str, parts: Mapping[str, sql.Composable], params: Mapping[str, Any]) -> Found:
    query = sql.SQL(statement("collections_app", name)).format(**parts)
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        found: Found = cursor.fetchall()
        return found
