"""Importing a file that is too large for a request: as a job, batch by batch.

What is stored when the job ends before its time stays. Whoever goes on reads the file from its beginning and skips what
is there, so a batch that was stored twice is stored once.
"""

from __future__ import annotations

from typing import IO, Any

from django.db import IntegrityError, transaction

from access_app.audit import record
from collections_app.models import Chunk, Collection, Document
from collections_app.selectors import get_collection
from collections_app.services import CollectionGone, bound_waiting
from core_app.errors import Conflict, RagsiteError
from ingest_app import importing, maintenance
from ingest_app.dispatching import request
from ingest_app.exchange_lines import count_lines
from ingest_app.exchange_rows import Report
from ingest_app.import_log import record_ended
from ingest_app.importing import Watch, begin_import, import_collection, import_into
from ingest_app.itemless import succeed, tell
from ingest_app.kept_files import keep, kept
from ingest_app.leases import CancelledError, Heartbeat, Lease, hold
from ingest_app.models import Job, UploadPart
from ingest_app.submitting import check_room

_LEFT_EMPTY = "The collection that was made for it is empty: import the mended file into it, or delete it."


def start_import(*, name: str, stream: IO[bytes], may_create: bool = True) -> Report | Job:
    """Import a file: a small one at once, all of it or nothing, and a larger one by the job that is returned.

    Raises as `import_collection`; what is wrong with a line of a larger file is told by its job. Raises Conflict while
    another import into the collection is on its way, and Unavailable while too much waits already.
    """
    documents, chunks = count_lines(stream)
    if documents <= importing.MOST_DOCUMENTS and chunks <= importing.MOST_CHUNKS:
        return import_collection(name=name, stream=stream, may_create=may_create)
    if not may_create:
        get_collection(name=name)
    size = stream.tell()
    check_room(files=1, size=size)
    with transaction.atomic():
        bound_waiting()
        collection, is_new = begin_import(name=name, stream=stream)
        options = {"bytes": size, "documents": documents, "chunks": chunks, "is_new": is_new}
        job = Job(kind=Job.Kind.IMPORT, collection=collection, total=chunks, options=options)
        if not _asked(job):
            raise Conflict(
                "Another import into this collection is on its way. Wait for its end, or cancel it.", code="job_running"
            )
        keep(job=job, stream=stream)
        record("job.submitted", job, collection=collection.name, after={"kind": job.kind, **options})
    return job


def _asked(job: Job) -> bool:
    try:
        return request(job=job)
    except IntegrityError:
        # The foreign key: somebody deleted the collection since it was looked up.
        raise CollectionGone from None


def run(lease: Lease, heartbeat: Heartbeat) -> None:
    """The work of a job of the kind `import`."""
    collection = Collection.objects.filter(pk=lease.collection_id).first()
    if collection is None:
        raise CollectionGone
    work = _Work(lease, heartbeat)
    watch = Watch(checked=work.checked, storing=work.storing, stored=work.stored, ending=work.ending)
    try:
        with kept(job_id=lease.job_id) as stream:
            import_into(collection=collection, stream=stream, watch=watch)
    except IntegrityError:
        raise Conflict(
            "Documents of the file were deleted or added while it was imported. What was stored stays; import the file "
            "again.",
            code="collection_changed",
        ) from None
    except CollectionGone:
        raise
    except RagsiteError as error:
        if _is_left_empty(lease):
            # It stays, for the job, which says what is wrong with the file, would go with it.
            error.detail += f" {_LEFT_EMPTY}"
        raise


def _is_left_empty(lease: Lease) -> bool:
    """Whether the job made a collection that nothing has come into."""
    options = Job.objects.values_list("options", flat=True).get(pk=lease.job_id) or {}
    content = (rows.objects.filter(collection=lease.collection_id) for rows in (Document, Chunk))
    return bool(options.get("is_new")) and not any(rows.exists() for rows in content)


class _Work:
    """What the job's row says of the import; written with each batch, so that both are there or neither."""

    def __init__(self, lease: Lease, heartbeat: Heartbeat) -> None:
        self._lease = lease
        self._heartbeat = heartbeat
        row = Job.objects.values("total", "result").get(pk=lease.job_id)
        self._total = int(row["total"])
        #: By those who worked on it before.
        self._before: dict[str, int] = {"stored": 0, "removed": 0, "documents_changed": 0, **(row["result"] or {})}

    def checked(self, report: Report) -> None:
        self._heartbeat.check_sometimes()
        self._tell(f"Checking the file: {report.chunks.total:,} of {self._total:,} chunks.", done=0)

    def storing(self, report: Report) -> None:
        job = self._held()
        job.result, job.done = self._outcome(report), min(self._total, report.chunks.total)
        job.step = f"Storing chunks: {report.chunks.total:,} of {self._total:,}."
        job.save(update_fields=["result", "done", "step"])

    def stored(self, _report: Report) -> None:
        self._heartbeat.check()
        if maintenance.compact(collection_id=self._lease.collection_id):
            self._heartbeat.check()

    def ending(self, report: Report) -> None:
        job = self._held()
        succeed(job=job, result=self._outcome(report))
        record_ended(job=job)
        UploadPart.objects.filter(job=job).delete()

    def _held(self) -> Job:
        job = hold(lease=self._lease)
        if job.cancel_requested:
            raise CancelledError
        return job

    def _outcome(self, report: Report) -> dict[str, Any]:
        stored = self._before["stored"] + report.chunks.new + report.chunks.replaced
        changed = report.documents.new + report.documents.replaced
        return {
            "documents": report.documents.total,
            # Without its hash until the end, a document that was stored before differs from the file's once more.
            "documents_changed": max(self._before["documents_changed"], changed),
            "chunks": report.chunks.total,
            "stored": stored,
            "unchanged": max(0, report.chunks.total - stored),
            "removed": self._before["removed"] + report.removed,
            "embedded": report.embedded,
        }

    def _tell(self, step: str, *, done: int) -> None:
        tell(lease=self._lease, step=step, done=done, total=self._total)
