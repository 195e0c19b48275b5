"""What the doors call besides submitting: waiting for a job, removing a source, emptying a collection."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from functools import partial

from django.db import IntegrityError, connection, transaction

from access_app.audit import record
from collections_app.models import Document
from collections_app.selectors import get_held
from collections_app.services import CollectionGone, lock_collection, touch
from core_app.errors import Conflict, NotFound, RagsiteError
from ingest_app.dispatching import dispatch
from ingest_app.emptying import CHANGED, Contents, contents, empty_now, holds_more_than
from ingest_app.models import Job
from ingest_app.removing import remove_document
from ingest_app.selectors import get_job
from ingest_app.work import run_job

POLL_SECONDS = 0.2
#: Up to so many chunks a collection is emptied by the call itself: about 3 s.
IN_REQUEST_CHUNKS = 200_000
#: A job of which somebody waits for the end is taken in hand by whoever waits when no worker came in this time.
TAKE_OVER_SECONDS = 2.0
#: How long a call waits for an emptying before it answers with the job instead.
EMPTYING_SECONDS = 25.0


@dataclass(frozen=True, kw_only=True)
class Emptying:
    """How an emptying ended or, where it goes on, the job that is on it."""

    #: Chunks; None while the job goes on.
    count_deleted: int | None = None
    job: Job | None = None


def wait_for_job(*, job_id: uuid.UUID, seconds: float) -> Job:
    """The job once it has ended, or as it is when the time is over."""
    deadline = time.monotonic() + seconds
    job = get_job(job_id=job_id)
    while job.finished_at is None and time.monotonic() < deadline:
        if not connection.in_atomic_block:
            # Back to the pool: a dozen who wait must not keep everybody else from the database.
            connection.close()
        time.sleep(min(POLL_SECONDS, max(0.0, deadline - time.monotonic())))
        job = get_job(job_id=job_id)
    return job


def delete_source(*, collection_name: str, source: str) -> int:
    """Remove a document with its chunks, vectors and words; the number of chunks. Raises NotFound."""
    with transaction.atomic():
        collection = lock_collection(collection_id=get_held(name=collection_name).pk)
        document = Document.objects.filter(collection=collection, source=source).first()
        if document is None:
            raise NotFound(f"Source '{source}' not found in collection '{collection_name}'", code="source_not_found")
        gone = {"source": document.source, "title": document.title, "chunks": document.chunk_count}
        record("document.deleted", document, collection=collection.name, before=gone)
        removed = remove_document(collection=collection, document=document)
        touch(collection=collection)
    return removed


def preview_emptying(*, name: str) -> Contents:
    """What emptying would delete now. Raises NotFound."""
    return contents(collection=get_held(name=name))


def empty_collection(*, name: str, seconds: float = EMPTYING_SECONDS) -> Emptying:
    """Delete everything in a collection, all or nothing; the collection, its metadata and settings stay (A9).

    A large collection is emptied by a job, and this waits for its end. Raises NotFound, the database's
    LockNotAvailable when another write to the collection takes too long, and of a job Conflict when it was
    cancelled, or was cut off and the collection changed before it could go on.
    """
    collection = get_held(name=name)
    if not holds_more_than(IN_REQUEST_CHUNKS, collection=collection):
        return Emptying(count_deleted=empty_now(collection_id=collection.pk).chunks)
    job = start_emptying(name=name)
    try:
        job = attend(job=job, seconds=seconds)
    except NotFound:
        raise CollectionGone from None
    if job.finished_at is None:
        return Emptying(job=job)
    if job.state == Job.State.CANCELLED:
        raise Conflict("The emptying was cancelled, and nothing was deleted.", code="cancelled")
    if job.state == Job.State.FAILED:
        raise (Conflict if job.code == CHANGED else RagsiteError)(job.error, code=job.code)
    return Emptying(count_deleted=(job.result or {})["count_deleted"])


def start_emptying(*, name: str) -> Job:
    """A queued job that will empty the collection. Raises NotFound."""
    collection = get_held(name=name)
    try:
        with transaction.atomic():
            job = Job.objects.create(kind=Job.Kind.EMPTY, collection=collection)
            record("job.submitted", job, collection=collection.name, after={"kind": job.kind})
            transaction.on_commit(partial(dispatch, job_id=str(job.pk), kind=job.kind))
    except IntegrityError:
        raise CollectionGone from None
    return job


def attend(*, job: Job, seconds: float) -> Job:
    """Wait for a job; as it is at the end, or when the time is over.

    When nobody has begun on it in good time it is done here, to its end, however long that takes.
    """
    deadline = time.monotonic() + seconds
    job = wait_for_job(job_id=job.pk, seconds=min(TAKE_OVER_SECONDS, seconds))
    if job.finished_at is None and job.lease_token is None and seconds >= TAKE_OVER_SECONDS:
        run_job(job_id=job.pk, stopping=lambda: False, outage_seconds=0)
    return wait_for_job(job_id=job.pk, seconds=max(0.0, deadline - time.monotonic()))
