"""Who works on a job: a lease that expires when its holder falls silent, and a token that fences it off."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest
from django.utils import timezone

from collections_app.services import CollectionGone
from core_app.wiring import app_settings
from ingest_app.models import Item, Job

logger = logging.getLogger(__name__)


class LeaseLostError(Exception):
    """The job went to somebody else, or is gone; whatever was done in its name must not be committed."""


class CancelledError(Exception):
    """The job was asked to stop."""


class StoppedError(Exception):
    """This process was asked to stop; the job goes back to the queue."""


class WritingCutOffError(Exception):
    """The connection broke without a word while this item was written."""

    def __init__(self, item: Item) -> None:
        super().__init__(item)
        self.item = item


#: The job, the process or the database ends: no outcome of the work, whoever holds the job next decides.
ENDS = (
    LeaseLostError,
    CancelledError,
    StoppedError,
    WritingCutOffError,
    CollectionGone,
    OperationalError,
    InterfaceError,
)


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The right to work on one job."""

    job_id: uuid.UUID
    token: uuid.UUID
    kind: str
    #: 0 where the job is about the whole server.
    collection_id: int
    #: How often somebody began on the job, this time included.
    attempts: int


def free_jobs() -> Q:
    """Jobs that have work left, nobody working on them, and no reason to wait."""
    now = timezone.now()
    silent = Q(lease_expires_at__isnull=True) | Q(lease_expires_at__lt=now)
    due = Q(next_try_at__isnull=True) | Q(next_try_at__lte=now)
    return Q(finished_at__isnull=True) & silent & due


def claim(*, job_id: uuid.UUID) -> Lease | None:
    """Take a free job; None when it has ended, is held by another, or does not exist."""
    with transaction.atomic():
        # A row that somebody else is claiming at this moment is as good as taken.
        job = Job.objects.select_for_update(skip_locked=True).filter(free_jobs(), pk=job_id).first()
        if job is None:
            return None
        now = timezone.now()
        job.lease_token = uuid.uuid4()
        job.lease_expires_at = now + lease_time()
        job.heartbeat_at = now
        job.started_at = job.started_at or now
        job.state = Job.State.RUNNING
        job.next_try_at = None
        job.attempts += 1
        job.save()
    return Lease(
        job_id=job.pk,
        token=job.lease_token,
        kind=job.kind,
        collection_id=job.collection_id or 0,
        attempts=job.attempts,
    )


def hold(*, lease: Lease) -> Job:
    """Lock the job's row for the rest of the transaction, sure that it is still ours.

    Raises LeaseLostError when it is not, so that a worker that was too slow can never commit.
    """
    job = Job.objects.select_for_update(no_key=True).filter(pk=lease.job_id, lease_token=lease.token).first()
    if job is None:
        raise LeaseLostError
    return job


def renew(*, lease: Lease) -> None:
    """Say that the holder is alive. Raises LeaseLostError, or CancelledError when asked to stop."""
    now = timezone.now()
    held = Job.objects.filter(pk=lease.job_id, lease_token=lease.token)
    if not held.update(heartbeat_at=now, lease_expires_at=now + lease_time()):
        raise LeaseLostError
    if held.filter(cancel_requested=True).exists():
        raise CancelledError


def look(*, lease: Lease) -> None:
    """What `renew` raises, without writing: inside a transaction that must not keep the row from the heartbeat."""
    cancelled = Job.objects.filter(pk=lease.job_id, lease_token=lease.token).values_list("cancel_requested", flat=True)
    found = cancelled.first()
    if found is None:
        raise LeaseLostError
    if found:
        raise CancelledError


def release(*, lease: Lease, attempt_counts: bool = False, until: datetime | None = None) -> None:
    """Give an unfinished job back to the queue; that it was not finished is not its fault unless told otherwise.

    Nobody takes it before `until`.
    """
    Job.objects.filter(pk=lease.job_id, lease_token=lease.token).update(
        state=Job.State.QUEUED,
        lease_token=None,
        lease_expires_at=None,
        next_try_at=until,
        attempts=F("attempts") if attempt_counts else Greatest(F("attempts") - 1, 0),
    )


def lease_time() -> timedelta:
    return timedelta(seconds=app_settings().ingestion.lease_seconds)


class Heartbeat:
    """Renews a lease from a thread of its own while a file is read or a batch embedded.

    `check` is called between batches: it renews at once and raises what the job has to stop for.
    """

    def __init__(self, lease: Lease, *, stopping: Callable[[], bool]) -> None:
        self._lease = lease
        self._stopping = stopping
        self._checked = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def check(self) -> None:
        """Raise LeaseLostError, CancelledError or StoppedError when the work has to end here."""
        if self._stopping():
            raise StoppedError
        renew(lease=self._lease)
        self._checked = time.monotonic()

    def look(self) -> None:
        """The same without renewing, for use inside a long transaction."""
        if self._stopping():
            raise StoppedError
        look(lease=self._lease)

    def check_sometimes(self) -> None:
        """The same for loops whose rounds may be short: at most once a second it costs a statement."""
        if time.monotonic() - self._checked >= 1:
            self.check()

    def _beat(self) -> None:
        try:
            while not self._done.wait(lease_time().total_seconds() / 3):
                try:
                    renew(lease=self._lease)
                except (LeaseLostError, CancelledError):
                    return  # the worker learns it at its next check
                except (DatabaseError, InterfaceError) as error:
                    reason = str(error).partition("\n")[0]
                    logger.warning("the heartbeat of job %s was not written: %s", self._lease.job_id, reason)
                    connection.close()
        finally:
            connection.close()
