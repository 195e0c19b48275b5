"""What the doors call besides submitting: waiting for a job, removing a source."""

from __future__ import annotations

import time
import uuid

from django.db import connection, transaction

from collections_app.models import Document
from collections_app.selectors import get_collection
from collections_app.services import lock_collection, touch
from core_app.errors import NotFound
from ingest_app.indexing import remove_chunks
from ingest_app.models import Job
from ingest_app.selectors import get_job

POLL_SECONDS = 0.2


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
        collection = lock_collection(collection_id=get_collection(name=collection_name).pk)
        document = Document.objects.filter(collection=collection, source=source).first()
        if document is None:
            raise NotFound(f"Source '{source}' not found in collection '{collection_name}'", code="source_not_found")
        removed = remove_chunks(collection=collection, document=document)
        document.delete()
        touch(collection=collection)
    return removed
