"""Cancelling jobs and trying them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from access_app.audit import record
from core_app.errors import Conflict
from core_app.wiring import mover
from ingest_app.cures import LASTING
from ingest_app.dispatching import dispatch
from ingest_app.import_log import record_ended
from ingest_app.models import Item, Job, Payload, UploadPart

#: Jobs that are begun anew where they were begun.
#: States of items that can be tried again.
_RETRIED = (Item.State.FAILED, Item.State.CANCELLED)
NEVER_RETRIED: Mapping[str, Conflict] = MappingProxyType(
    {
        Job.Kind.SYNC: Conflict(
            "Run its connector again: what is indexed and has not changed is skipped.", code="run_connector"
        ),
        Job.Kind.IMPORT: Conflict("Import the file again: what is stored by now is skipped.", code="import_again"),
        Job.Kind.COPY: Conflict("Copy the collection again.", code="copy_again"),
    }
)


def cancel_job(*, job: Job) -> Job:
    """Stop a job: at once when nobody works on it, else after the batch or step in hand.

    An emptying that is under way is taken back as a whole. Ended jobs stay as they are.
    """
    with transaction.atomic():
        job = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
        if job.finished_at is not None:
            return job
        if not job.cancel_requested:
            record("job.cancelled", job)
        job.cancel_requested = True
        free = job.lease_expires_at is None or job.lease_expires_at < timezone.now()
        if free:
            finish_cancelled(job=job)
        job.save()
    return job


def finish_cancelled(*, job: Job) -> None:
    """Mark a job and what is left of it as cancelled; the caller holds the row and saves it."""
    unfinished = (Item.State.QUEUED, Item.State.RUNNING)
    Item.objects.filter(job=job, state__in=unfinished).update(state=Item.State.CANCELLED, finished_at=timezone.now())
    job.state = Job.State.CANCELLED
    job.step = ""
    job.lease_token = job.lease_expires_at = job.next_try_at = None
    job.finished_at = timezone.now()
    drop_useless_payloads(job=job)
    record_ended(job=job)
    if job.kind == Job.Kind.MOVE and job.collection_id is not None:
        mover().give_up(collection_id=job.collection_id)


def drop_useless_payloads(*, job: Job) -> None:
    """What is of no use once a job has ended: a sync reads its files anew, and an imported file is sent anew."""
    if job.kind == Job.Kind.SYNC:
        Payload.objects.filter(item__job=job).delete()
    if job.kind == Job.Kind.IMPORT:
        UploadPart.objects.filter(job=job).delete()


def can_be_retried(*, job: Job) -> bool:
    """Whether the job has ended and something of it failed or was cancelled that could still be done."""
    if job.finished_at is None:
        return False
    if _is_never_retried(job):
        return False
    if not job.has_items:
        return job.state in (Job.State.FAILED, Job.State.CANCELLED)
    return _items_to_retry(job).exists()


def _is_never_retried(job: Job) -> bool:
    # Nothing of an imported file is kept, but what a connection leads to is still there.
    return job.kind in NEVER_RETRIED and not job.is_fetch


def retry_job(*, job: Job, ordinal: int | None = None) -> Job:
    """Queue an ended job again: its failed and cancelled items, or the whole of one without items.

    With `ordinal` only the item at that place, and the others stay as they are. Raises Conflict when the job still
    runs, has nothing that can be tried again, or another one is on the same work by now.
    """
    try:
        with transaction.atomic():
            job = Job.objects.select_for_update(no_key=True).get(pk=job.pk)
            if job.finished_at is None:
                raise Conflict("The job has not ended yet. Wait for it or cancel it first.", code="job_running")
            if _is_never_retried(job):
                refused = NEVER_RETRIED[job.kind]
                raise Conflict(refused.detail, code=refused.code)
            items = _items_to_retry(job) if ordinal is None else _items_to_retry(job).filter(ordinal=ordinal)
            if not can_be_retried(job=job) or (ordinal is not None and not items.exists()):
                raise Conflict("Nothing of the job failed that could be tried again.", code="nothing_to_retry")
            items.update(
                state=Item.State.QUEUED,
                attempts=0,
                next_try_at=None,
                started_at=None,
                finished_at=None,
                error="",
                code="",
            )
            _queue(job)
            record("job.retried", job, after=None if ordinal is None else {"item": ordinal})
            transaction.on_commit(lambda: dispatch(job_id=str(job.pk), kind=job.kind))
    except IntegrityError:
        raise Conflict("Another job does the same by now. Wait for that one.", code="job_running") from None
    return job


def retriable_items(*, job: Job, among: Sequence[Item]) -> frozenset[int]:
    """The places of those of these items that can be tried again one by one; none before the job has ended."""
    if job.finished_at is None or _is_never_retried(job) or not job.has_items:
        return frozenset()
    places = [item.ordinal for item in among if item.state in _RETRIED]
    if not places:
        return frozenset()
    return frozenset(_items_to_retry(job).filter(ordinal__in=places).values_list("ordinal", flat=True))


def _items_to_retry(job: Job) -> QuerySet[Item]:
    """What ended badly and could still be done: the bytes of a file are kept until it is indexed."""
    items = Item.objects.filter(job=job, state__in=_RETRIED).exclude(code__in=LASTING)
    return items.filter(payload__isnull=False) if job.kind == Job.Kind.INGEST else items


def _queue(job: Job) -> None:
    job.state = Job.State.QUEUED
    job.cancel_requested = job.again = False
    job.started_at = job.finished_at = job.next_try_at = None
    job.attempts = job.total = job.done = 0
    job.seen_version = None
    job.error = job.code = job.step = ""
    job.save()
