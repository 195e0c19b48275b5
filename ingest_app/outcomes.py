"""What came of items and jobs, written down: failed, tried again later, ended, cancelled."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from collections_app.models import Document
from collections_app.services import lock_collection
from core_app.errors import RagsiteError
from core_app.wiring import app_settings
from ingest_app.leases import Lease, hold, release
from ingest_app.models import UNPACKED, Item, Job
from ingest_app.ownership import taken_names
from ingest_app.parsing import UnableToParse
from ingest_app.steering import drop_useless_payloads, finish_cancelled

logger = logging.getLogger(__name__)

#: After the first failure that may pass, then four times as long after each other one, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)
#: What a service that embeds did, and may not do the next time.
_PASSES = frozenset({"far_side_busy", "far_side_slow", "far_side_unreachable"})


def pause(attempts: int) -> timedelta:
    """How long to wait after so many attempts, at least one."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * int(4 ** min(attempts - 1, 10)))


def record(*, lease: Lease, item: Item, error: Exception) -> None:
    """Make an error the outcome of an item, or have it tried again where the cause may pass."""
    if isinstance(error, RagsiteError) and error.code in _PASSES and item.attempts < _most_attempts():
        logger.warning("item %s of job %s waits: %s", item.ordinal, lease.job_id, error.code)
        _postpone(lease, item, detail=f"{error.detail} It is tried again by itself.", code=error.code)
        return
    if isinstance(error, UnableToParse | RagsiteError):
        logger.info("item %s of job %s failed: %s", item.ordinal, lease.job_id, error.code)
        fail(lease=lease, item=item, detail=error.detail, code=error.code)
        return
    logger.error("item %s of job %s crashed", item.ordinal, lease.job_id, exc_info=error)
    if item.attempts < _most_attempts():
        _postpone(lease, item)
    else:
        detail = "Could not be indexed because of an error on the server. Its log has the cause."
        fail(lease=lease, item=item, detail=detail, code="server_error")


def _most_attempts() -> int:
    return app_settings().ingestion.max_attempts


def _postpone(
    lease: Lease,
    item: Item,
    *,
    detail: str = "An error on the server stopped the work on it. It is tried again.",
    code: str = "server_error",
) -> None:
    item.state = Item.State.QUEUED
    item.next_try_at = timezone.now() + pause(item.attempts)
    item.error = detail
    item.code = code
    with transaction.atomic():
        hold(lease=lease)
        item.save(update_fields=["state", "next_try_at", "error", "code"])


def next_try(*, lease: Lease) -> datetime | None:
    """When the first of the items that wait for another try is due; None where none waits."""
    waiting = Item.objects.filter(job_id=lease.job_id, state=Item.State.QUEUED)
    due: datetime | None = waiting.aggregate(due=Min("next_try_at"))["due"]
    return due


def fail(*, lease: Lease, item: Item, detail: str, code: str) -> None:
    """Record the failure on the item and on its document; what was searchable before stays so."""
    item.state = Item.State.FAILED
    item.finished_at = timezone.now()
    item.error = detail
    item.code = code
    with transaction.atomic():
        # Collection before job, as every write: the other way round two of them wait for each other.
        lock_collection(collection_id=lease.collection_id)
        job = hold(lease=lease)
        item.save(update_fields=["state", "finished_at", "error", "code"])
        if taken_names(collection_id=lease.collection_id, origin=item.origin, names=[item.source]):
            return  # the document of this name is another connector's
        document, _created = Document.objects.get_or_create(
            collection_id=lease.collection_id,
            source=item.source,
            defaults={
                "state": Document.State.FAILED,
                "title": item.title,
                "size_bytes": item.size_bytes,
                "origin": item.origin,
            },
        )
        if document.submitted_at is not None and document.submitted_at > job.created_at:
            return  # a version that was sent later is there already
        document.error = detail
        document.error_code = code
        document.save(update_fields=["error", "error_code", "updated_at"])


def finish_or_wait(*, lease: Lease) -> bool:
    """End the job, or let it rest until the first of its items is to be tried again; whether it has ended."""
    due = next_try(lease=lease)
    if due is None:
        finish(lease=lease)
    else:
        release(lease=lease, until=due)
    return due is None


def finish(*, lease: Lease) -> None:
    """End a job whose items all have an outcome."""
    with transaction.atomic():
        job = hold(lease=lease)
        job.step = ""
        # An archive that was opened is as good as what was in it.
        states = set(Item.objects.filter(job=job).exclude(code=UNPACKED).values_list("state", flat=True))
        # Of a sync, files that have not changed are no items.
        unchanged = (job.result or {}).get("unchanged", 0)
        good = bool(unchanged or states & {Item.State.SUCCEEDED, Item.State.SKIPPED})
        # Cancelled ones stay so where only one file was tried again.
        if not states & {Item.State.FAILED, Item.State.CANCELLED}:
            job.state = Job.State.SUCCEEDED
        else:
            job.state = Job.State.PARTIAL if good else Job.State.FAILED
        job.lease_token = job.lease_expires_at = None
        job.finished_at = timezone.now()
        job.save()
        drop_useless_payloads(job=job)
    logger.info("job %s ended: %s", job.pk, job.state)


def cancel(*, lease: Lease) -> None:
    """End a job that was asked to stop."""
    with transaction.atomic():
        job = hold(lease=lease)
        finish_cancelled(job=job)
        job.save()
    logger.info("job %s cancelled", job.pk)
