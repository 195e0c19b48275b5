"""Taking single chunks out: by id, by filter, or because something replaces them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from psycopg import sql

from access_app.audit import record
from collections_app.filters import narrowed
from collections_app.models import Collection
from collections_app.parents import take_parents_back
from collections_app.selectors import get_held
from collections_app.services import lock_collection, touch
from collections_app.where_sql import condition, filter_errors
from core_app.errors import InvalidInput
from core_app.snapshot import limit_statements
from core_app.sql import statement
from core_app.where import Where
from core_app.wiring import app_settings, store

NOTHING_NAMED = "Send either 'ids' or 'where' (or 'filter'), not empty. To delete all documents, empty the collection."


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Where a chunk is found."""

    external_id: str
    chunk_id: int
    position: int
    document_id: int | None


def delete_chunks(
    *,
    collection_name: str,
    ids: Sequence[str] | None = None,
    where: Where | None = None,
    filter_name: str | None = None,
) -> int:
    """Delete the chunks with these external ids, or those that a filter lets through; how many there were.

    The filter may be given, or named, or both, which must then both hold.

    Unknown ids are none. Raises NotFound, and InvalidInput unless exactly one of the two is given and is
    not empty: nothing here ever means everything.
    """
    is_filtered = where is not None or filter_name is not None
    if (ids is None) != is_filtered or (ids is not None and not ids):
        raise InvalidInput(NOTHING_NAMED, code="nothing_named")
    with filter_errors(), transaction.atomic():
        collection = lock_collection(collection_id=get_held(name=collection_name).pk)
        where = narrowed(collections=[collection], where=where, filter_name=filter_name)
        chunks = _named(collection, ids) if where is None else _matching(collection, where)
        remove(collection=collection, chunks=chunks)
        if chunks:
            touch(collection=collection)
            by = {"ids": list(ids)} if ids is not None else {"where": str(where), "filter": filter_name or ""}
            record("chunks.deleted", collection, before={"chunks": len(chunks), **by})
    return len(chunks)


def remove(*, collection: Collection, chunks: Sequence[Stored]) -> None:
    """Take chunks out of index and table, and count their documents anew. Needs the write lock.

    Chunks that were shown within the same parent are shown by themselves from now on.
    """
    if not chunks:
        return
    chunk_ids = [chunk.chunk_id for chunk in chunks]
    store(collection.store).remove(collection_id=collection.pk, chunk_ids=chunk_ids)
    documents = {chunk.document_id for chunk in chunks if chunk.document_id is not None}
    if documents:
        take_parents_back(chunk_ids=chunk_ids)
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "delete_chunks"), {"chunk_ids": chunk_ids})
        if documents:
            cursor.execute(statement("collections_app", "recount_documents"), {"document_ids": list(documents)})


def _named(collection: Collection, ids: Sequence[str] | None) -> list[Stored]:
    query = statement("collections_app", "chunks_by_external_id")
    return _fetched(query, {"collection_id": collection.pk, "external_ids": list(ids or ())})


def _matching(collection: Collection, where: Where) -> list[Stored]:
    compiled = condition(where)
    query = sql.SQL(statement("collections_app", "matching_chunks")).format(where=compiled.sql)
    # A filter may be as expensive here as in a search; what it found is deleted however long that takes.
    limit_statements(app_settings().vector_database.statement_timeout_seconds)
    found = _fetched(query, {"collection_id": collection.pk, **compiled.params})
    limit_statements(None)
    return found


def _fetched(query: sql.Composable | str, params: Mapping[str, Any]) -> list[Stored]:
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        return [
            Stored(external_id=external_id, chunk_id=chunk_id, position=position, document_id=document_id)
            for external_id, chunk_id, position, document_id in cursor.fetchall()
        ]
