"""Copying a collection that is too large for a request: as a job, in one transaction of one snapshot (decision 29).

The copy appears with the last of its rows: a job that dies, fails or is cancelled leaves nothing. Its key is chosen
when the job is made, so whoever takes it up once more sees whether the copy is there. The job's own row is written
beside the transaction, which could not write to a row that the heartbeat writes to. It is locked there before the copy
is committed, and the job ends there after it: who cancels it meanwhile waits, and finds that it has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from types import TracebackType
from typing import Any

from django.db import IntegrityError, connection, transaction

from access_app.audit import record
from collections_app.cloning import ALL, Along, clone_collection, copy_in_one_snapshot, is_large, next_key
from collections_app.models import Chunk, Collection
from collections_app.naming import claim_name
from collections_app.selectors import CollectionSummary, get_held
from core_app.errors import Conflict
from ingest_app import maintenance
from ingest_app.dispatching import request
from ingest_app.itemless import succeed, tell
from ingest_app.leases import CancelledError, Heartbeat, Lease, hold
from ingest_app.models import Job


def start_copy(*, name: str, new_name: str, along: Along = ALL) -> CollectionSummary | Job:
    """Copy a collection: a small one at once, a larger one by the job that is returned.

    Raises as `clone_collection`, but TooLarge; Conflict, too, while another job makes a copy of that name.
    """
    if not is_large(name=name):
        return clone_collection(name=name, new_name=new_name, along=along)
    with transaction.atomic():
        claim_name(new_name)
        source = get_held(name=name)
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
    key = options["key"]
    try:
        if _is_there(key):
            _finish_held(lease, key)
        else:
            _copy(lease, heartbeat, options)
    except IntegrityError:
        # Somebody gave this name, or this key, to a collection since the snapshot was taken.
        if not _is_there(key):
            raise Conflict(
                f"Collection '{options['name']}' was made meanwhile. Copy under another name.", code="conflict"
            ) from None
        _finish_held(lease, key)
    while maintenance.compact(collection_id=key):
        pass


def _copy(lease: Lease, heartbeat: Heartbeat, options: Mapping[str, Any]) -> None:
    total = Chunk.objects.filter(collection_id=lease.collection_id).count()
    with Beside() as beside, Fence(lease, beside) as fence:
        told = partial(_told, lease, heartbeat, beside, total)
        told(0)
        copy_in_one_snapshot(
            source_id=lease.collection_id,
            target_id=options["key"],
            new_name=options["name"],
            along=Along(filters=options["filters"], test_cases=options["test_cases"]),
            told=told,
            fence=fence.close,
        )
        fence.finish(options["key"])


def _told(lease: Lease, heartbeat: Heartbeat, beside: Beside, total: int, done: int) -> None:
    """Say how far it is, and learn whether to go on."""
    step = f"Copying chunks: {done:,} of {total:,}."
    beside.call(partial(tell, lease=lease, step=step, done=done, total=total))
    beside.call(heartbeat.check)


def _finish_held(lease: Lease, key: int) -> None:
    with transaction.atomic():
        _finish(hold(lease=lease), key)


def _finish(job: Job, key: int) -> None:
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


class Fence:
    """The job's row, locked on the connection beside the copy's from before the copy's commit to after it."""

    def __init__(self, lease: Lease, beside: Beside) -> None:
        self._lease = lease
        self._beside = beside
        self._closed = ExitStack()

    def __enter__(self) -> Fence:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._beside.call(lambda: self._open(kind, error, trace))

    def close(self) -> None:
        """Raises LeaseLostError or CancelledError where the copy must not be committed."""
        self._beside.call(self._close)

    def finish(self, key: int) -> None:
        """The copy is committed: the job ends."""
        self._beside.call(lambda: self._finish(key))

    def _close(self) -> None:
        with ExitStack() as closing:
            closing.enter_context(transaction.atomic())
            self._job = hold(lease=self._lease)
            if self._job.cancel_requested:
                raise CancelledError
            self._closed = closing.pop_all()

    def _finish(self, key: int) -> None:
        with self._closed:
            _finish(self._job, key)

    def _open(self, *given: Any) -> None:
        self._closed.__exit__(*given)
