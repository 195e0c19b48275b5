"""Copying a collection that is too large for a request: as a job, in one transaction of one snapshot (decision 29).

The copy appears with the last of its rows: a job that dies, fails or is cancelled leaves nothing. Its key is chosen
when the job is made, so whoever takes it up once more sees whether the copy is there. The job's own row is written
beside the transaction, which could not write to a row that the heartbeat writes to.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from types import TracebackType

from django.db import IntegrityError, connection, transaction

from access_app.audit import record
from collections_app.cloning import ALL, Along, clone_collection, copy_in_one_snapshot, is_large, next_key
from collections_app.models import Chunk, Collection
from collections_app.naming import claim_name
from collections_app.selectors import CollectionSummary, get_collection
from core_app.errors import Conflict
from ingest_app import maintenance
from ingest_app.dispatching import request
from ingest_app.itemless import succeed, tell
from ingest_app.leases import Heartbeat, Lease, hold
from ingest_app.models import Job


def start_copy(*, name: str, new_name: str, along: Along = ALL) -> CollectionSummary | Job:
    """Copy a collection: a small one at once, a larger one by the job that is returned.

    Raises as `clone_collection`, but TooLarge; Conflict, too, while another job makes a copy of that name.
    """
    if not is_large(name=name):
        return clone_collection(name=name, new_name=new_name, along=along)
    with transaction.atomic():
        claim_name(new_name)
        source = get_collection(name=name)
        others = Job.objects.filter(kind=Job.Kind.COPY, finished_at__isnull=True, options__name=new_name)
        if others.exists():
            raise Conflict(f"Another job makes a collection '{new_name}'. Choose another name.", code="job_running")
        options = {"name": new_name, "key": next_key(), **asdict(along)}
        job = Job(kind=Job.Kind.COPY, collection=source, options=options)
        request(job=job)
        record(
            "job.submitted", job, collection=source.name, after={"kind": job.kind, "name": new_name, **asdict(along)}
        )
    return job


def run(lease: Lease, heartbeat: Heartbeat) -> None:
    """The work of a job of the kind `copy`."""
    options = Job.objects.values_list("options", flat=True).get(pk=lease.job_id) or {}
    name, key = options["name"], options["key"]
    if not _is_there(key):
        along = Along(filters=options["filters"], test_cases=options["test_cases"])
        total = Chunk.objects.filter(collection_id=lease.collection_id).count()
        with Beside() as beside:
            told = partial(_told, lease, heartbeat, beside, total)
            told(0)
            try:
                copy_in_one_snapshot(
                    source_id=lease.collection_id, target_id=key, new_name=name, along=along, told=told
                )
            except IntegrityError:
                # Somebody gave this name, or this key, to a collection since the snapshot was taken.
                if not _is_there(key):
                    raise Conflict(
                        f"Collection '{name}' was made meanwhile. Copy under another name.", code="conflict"
                    ) from None
    _finish(lease, key)
    while maintenance.compact(collection_id=key):
        pass


def _told(lease: Lease, heartbeat: Heartbeat, beside: Beside, total: int, done: int) -> None:
    """Say how far it is, and learn whether to go on."""
    step = f"Copying chunks: {done:,} of {total:,}."
    beside.call(partial(tell, lease=lease, step=step, done=done, total=total))
    beside.call(heartbeat.check)


def _finish(lease: Lease, key: int) -> None:
    with transaction.atomic():
        job = hold(lease=lease)
        job.total = Chunk.objects.filter(collection_id=key).count()
        succeed(job=job, result={"chunks": job.total, "collection_id": key})


def _is_there(key: int) -> bool:
    return Collection.objects.filter(pk=key).exists()


def _close() -> None:
    connection.close()  # of the thread that calls this


class Beside:
    """Calls on a connection of their own: what they write is seen at once, and they see what others have written."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="beside")

    def __enter__(self) -> Beside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.call(_close)
        self._thread.shutdown()

    def call(self, work: Callable[[], None]) -> None:
        """Wait for what it does. Raises what it raises."""
        self._thread.submit(work).result()
