"""The list of documents, newest first. A filter asks their chunks: a document fits that has a chunk which passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from psycopg import sql

from collections_app.browsing import BrowsedPage, Found, List, browse, in_collections
from collections_app.models import Document
from collections_app.where_sql import condition
from core_app.keyset import Place
from core_app.where import Where


class Outcome(StrEnum):
    """What became of documents."""

    READY = "ready"
    #: Ready, but the last update of it failed.
    STALE = "stale"
    FAILED = "failed"


_OUTCOMES: Mapping[Outcome, sql.SQL] = {
    Outcome.READY: sql.SQL("document.state = 'ready' AND document.error = ''"),
    Outcome.STALE: sql.SQL("document.state = 'ready' AND document.error <> ''"),
    Outcome.FAILED: sql.SQL("document.state = 'failed'"),
}
_HOLDS = sql.SQL(
    "(strpos(lower(document.source), lower(%(text)s)) > 0 OR strpos(lower(document.title), lower(%(text)s)) > 0)"
)
_HAS_CHUNK = sql.SQL("EXISTS (SELECT FROM collections_chunk AS chunk WHERE chunk.document_id = document.id AND {})")


@dataclass(frozen=True, kw_only=True)
class DocumentsAsked:
    """Which documents."""

    #: None: all of them.
    collection_ids: Sequence[int] | None = None
    outcome: Outcome | None = None
    #: A part of the source or the title, in any case.
    text: str = ""
    #: What one of its chunks must pass.
    where: Where | None = None


def browse_documents(*, asked: DocumentsAsked, place: Place, size: int) -> BrowsedPage[Document]:
    """A page of documents, with their collections, as `browse` has it. Raises InvalidInput for the filter."""
    scope, params = in_collections("document", asked.collection_ids)
    where: list[sql.Composable] = [_OUTCOMES[asked.outcome]] if asked.outcome else []
    if asked.text:
        where.append(_HOLDS)
    narrowed = condition(asked.where)
    if asked.where is not None:
        where.append(_HAS_CHUNK.format(narrowed.sql))
    documents = List(
        name="browse_documents",
        part="browse_documents_part",
        alias="document",
        table="collections_document",
        scope=scope,
        where=where,
        params={**params, **narrowed.params, "text": asked.text, "asks_chunks": asked.where is not None},
        made=_made,
        key=lambda row: row.pk,
    )
    return browse(documents, place=place, size=size)


def _made(rows: Found) -> list[Document]:
    found = Document.objects.select_related("collection").defer("metadata", "content_hash")
    by_key = found.in_bulk([key for (key,) in rows])
    return [by_key[key] for (key,) in rows if key in by_key]
