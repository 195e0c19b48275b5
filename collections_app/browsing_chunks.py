"""The list of chunks: newest first, but those of a document in its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from psycopg import sql

from collections_app.browsing import BrowsedPage, Found, List, browse, in_collections
from collections_app.where_sql import condition
from core_app.keyset import Place
from core_app.where import Where

#: Characters of a text that a list shows.
EXCERPT = 120


class Marked(StrEnum):
    """What was done to chunks by hand."""

    DISABLED = "disabled"
    EDITED = "edited"


_MARKED = {
    Marked.DISABLED: sql.SQL("chunk.disabled_at IS NOT NULL"),
    Marked.EDITED: sql.SQL("chunk.edited_at IS NOT NULL"),
}


@dataclass(frozen=True, kw_only=True)
class ChunksAsked:
    """Which chunks."""

    #: None: all of them.
    collection_ids: Sequence[int] | None = None
    document_id: int | None = None
    marked: Marked | None = None
    where: Where | None = None


@dataclass(frozen=True, kw_only=True)
class ListedChunk:
    """A chunk as a list shows it."""

    #: Its place in the order of the list.
    key: int
    id: int
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


_FIELDS = tuple(ListedChunk.__dataclass_fields__)


def browse_chunks(*, asked: ChunksAsked, place: Place, size: int) -> BrowsedPage[ListedChunk]:
    """A page of chunks, as `browse` has it. Raises InvalidInput for a filter that cannot be used."""
    narrowed = condition(asked.where)
    scope, params = in_collections("chunk", asked.collection_ids)
    if asked.document_id is not None:
        scope.append(sql.SQL("chunk.document_id = %(document_id)s"))
    if asked.marked is not None:
        scope.append(_MARKED[asked.marked])
    chunks = List(
        name="browse_chunks",
        part="browse_chunks_part",
        alias="chunk",
        table="collections_chunk",
        column="id" if asked.document_id is None else "ordinal",
        newest_first=asked.document_id is None,
        scope=scope,
        where=[narrowed.sql],
        params={**params, **narrowed.params, "document_id": asked.document_id, "characters": EXCERPT},
        made=_made,
        key=lambda row: row.key,
    )
    return browse(chunks, place=place, size=size)


def _made(rows: Found) -> list[ListedChunk]:
    return [ListedChunk(**dict(zip(_FIELDS, row, strict=True))) for row in rows]
