"""Emptying a collection: everything in it goes in one transaction, the collection itself stays (A9)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection, transaction

from access_app.audit import record
from collections_app.models import Chunk, Collection, Document, Generation
from collections_app.services import lock_collection, touch
from core_app.errors import Conflict
from core_app.sql import statement
from core_app.wiring import store
from ingest_app.itemless import succeed, tell
from ingest_app.leases import CancelledError, Heartbeat, Lease, hold
from ingest_app.maintenance import request_reclaim

logger = logging.getLogger(__name__)

ROOM = "ingest_app"
#: From here on the space of what was deleted is given back at once; less than that autovacuum does in its time.
RECLAIM_FROM = 1000
#: The code of an emptying that would have deleted what came after it was cut off.
CHANGED = "collection_changed"


@dataclass(frozen=True, kw_only=True)
class Contents:
    """How much a collection holds, or held."""

    chunks: int
    documents: int


def contents(*, collection: Collection) -> Contents:
    """What emptying would delete now. Reads the indexes of the collection's rows, once through."""
    return Contents(
        chunks=Chunk.objects.filter(collection=collection).count(),
        documents=Document.objects.filter(collection=collection).count(),
    )


def holds_more_than(limit: int, *, collection: Collection) -> bool:
    """Whether there are more chunks; counts no further."""
    return Chunk.objects.filter(collection=collection).values("pk")[: limit + 1].count() > limit


def empty_now(*, collection_id: int) -> Contents:
    """Delete everything in one transaction; how much it was. Raises CollectionGone."""
    with transaction.atomic():
        return _delete(lock_collection(collection_id=collection_id), check=lambda: None)


def run(lease: Lease, heartbeat: Heartbeat) -> None:
    """The same as a job's work. Its outcome is committed with the deletes, so it can never happen twice.

    When it was begun before and cut off, and the collection has changed since, it raises Conflict: whoever
    saw it cut off may have begun to fill the collection anew. The job's row is locked at the very end: until
    then the heartbeat, and whoever cancels, write to it.
    """
    seen_version = _note_version(lease)
    total = Chunk.objects.filter(collection_id=lease.collection_id).count()
    tell(lease=lease, step=f"Deleting {total:,} chunks, all or none.", total=total)
    heartbeat.check()
    with transaction.atomic():
        collection = lock_collection(collection_id=lease.collection_id)
        if seen_version not in (None, collection.version):
            raise Conflict(
                "The collection was changed after its emptying was cut off. Nothing was deleted; empty it again, if "
                "that is still wanted.",
                code=CHANGED,
            )
        deleted = _delete(collection, check=heartbeat.look)
        job = hold(lease=lease)
        if job.cancel_requested:
            raise CancelledError
        job.total = deleted.chunks
        succeed(job=job, result={"count_deleted": deleted.chunks, "documents_deleted": deleted.documents})


def _note_version(lease: Lease) -> int | None:
    """The collection's version when the work was first begun; None if that is now."""
    with transaction.atomic():
        collection = lock_collection(collection_id=lease.collection_id)
        job = hold(lease=lease)
        before = job.seen_version
        if before is None:
            job.seen_version = collection.version
            job.save(update_fields=["seen_version"])
    return before


def _delete(collection: Collection, *, check: Callable[[], None]) -> Contents:
    """Needs the write lock. `check` is called between the steps and may raise."""
    with connection.cursor() as cursor:
        # However long it takes: half of it is of no use to anybody.
        cursor.execute(statement("core_app", "set_statement_timeout"), {"milliseconds": "0"})
    store(collection.store).empty(collection_id=collection.pk)
    check()
    chunks = _run("delete_all_chunks", collection)
    check()
    documents = _run("delete_all_documents", collection)
    _renew_generation(collection)
    touch(collection=collection)
    record("collection.emptied", collection, before={"chunks": chunks, "documents": documents})
    if chunks >= RECLAIM_FROM:
        request_reclaim(collection=collection)
    logger.info("emptied collection %s: %s chunks, %s documents", collection.pk, chunks, documents)
    return Contents(chunks=chunks, documents=documents)


def _renew_generation(collection: Collection) -> None:
    """A new, empty set of vectors: what was built over the old one is dropped whole instead of row by row.

    The server's model is a setting and stays; vectors of callers leave nothing behind, so the next ones
    may have another dimension.
    """
    old = collection.active_generation
    fresh = None
    if old is not None and old.embedding_model is not None:
        fresh = Generation.objects.create(
            collection=collection,
            embedding_connection=old.embedding_connection,
            embedding_model=old.embedding_model,
            dimension=old.dimension,
            distance=old.distance,
        )
    collection.active_generation = fresh
    collection.save(update_fields=["active_generation", "updated_at"])
    _run("delete_generations", collection, keep=fresh.pk if fresh else 0)


def _run(name: str, collection: Collection, **more: int) -> int:
    """Execute `sql/name.sql` about this collection; the number of rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, name), {"collection_id": collection.pk, **more})
        return int(cursor.rowcount)
