"""Pages of documents for people to leaf through, newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db import connection
from psycopg import sql

from collections_app.browsing import Listed, Place, page_of
from collections_app.models import Document
from core_app.snapshot import snapshot
from core_app.sql import statement

#: Documents that are looked at for one page of those that fit.
LOOKED_AT = 50_000


class Outcome(StrEnum):
    """What became of documents."""

    READY = "ready"
    #: Ready, but the last update of it failed.
    STALE = "stale"
    FAILED = "failed"


_OUTCOMES: Mapping[Outcome | None, sql.SQL] = {
    None: sql.SQL("TRUE"),
    Outcome.READY: sql.SQL("document.state = 'ready' AND NOT document.has_error"),
    Outcome.STALE: sql.SQL("document.state = 'ready' AND document.has_error"),
    Outcome.FAILED: sql.SQL("document.state = 'failed'"),
}


@dataclass(frozen=True, kw_only=True)
class DocumentsAsked:
    """Which documents."""

    #: None: all of them.
    collection_ids: Sequence[int] | None = None
    outcome: Outcome | None = None
    #: A part of the source or the title, in any case.
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class DocumentPage(Listed[Document]):
    """A page; where it was not searched to the end, how many documents were looked at."""

    looked_at: int | None = None


def list_document_rows(*, asked: DocumentsAsked, place: Place, size: int) -> DocumentPage:
    """A page of documents, with their collections."""
    backwards = place.before is not None
    ids, looked_at, lowest, highest = _found(asked, place, size)
    rows = Document.objects.select_related("collection").defer("metadata", "content_hash").in_bulk(ids)
    page = page_of([rows[key] for key in ids if key in rows], size=size, place=place, key=lambda row: row.pk)
    before, after, unfinished = page.before, page.after, None
    is_narrowed = bool(asked.text) or asked.outcome is not None
    if is_narrowed and len(ids) <= size and looked_at >= LOOKED_AT:
        # It goes on where the search ended, not after the last that fits.
        unfinished = looked_at
        before, after = (highest, after) if backwards else (before, lowest)
    if not page.rows and not backwards:
        before = place.after
    if not page.rows and backwards:
        after = place.before
    return DocumentPage(rows=page.rows, before=before, after=after, looked_at=unfinished)


def _found(asked: DocumentsAsked, place: Place, size: int) -> tuple[list[int], int, int | None, int | None]:
    """Keys, how many were looked at, and the lowest and the highest key of these."""
    backwards = place.before is not None
    begins = sql.SQL("TRUE")
    if place != Place():
        begins = sql.SQL("document.id > %(key)s" if backwards else "document.id < %(key)s")
    scope = sql.SQL("TRUE")
    if asked.collection_ids is not None:
        scope = (
            sql.SQL("document.collection_id = %(collection_id)s")
            if len(asked.collection_ids) == 1
            else sql.SQL("document.collection_id = ANY(%(collection_ids)s::bigint[])")
        )
    query = sql.SQL(statement("collections_app", "browse_documents")).format(
        scope=scope,
        from_key=begins,
        order=sql.SQL("document.id ASC" if backwards else "document.id DESC"),
        state=_OUTCOMES[asked.outcome],
    )
    is_narrowed = bool(asked.text) or asked.outcome is not None
    ids = list(asked.collection_ids or ())
    params = {
        "collection_id": ids[0] if ids else None,
        "collection_ids": ids,
        "key": place.before if backwards else place.after,
        "text": asked.text,
        "limit": size + 1,
        "looked_at": LOOKED_AT if is_narrowed else size + 1,
    }
    with snapshot(), connection.cursor() as cursor:
        cursor.execute(query, params)
        keys, looked_at, lowest, highest = cursor.fetchone()
        return list(keys), int(looked_at), lowest, highest
