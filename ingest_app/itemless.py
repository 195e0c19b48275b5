"""Jobs without items: their progress stands in the job's row, and they have one outcome."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from core_app.errors import Conflict, RagsiteError
from core_app.wiring import app_settings
from ingest_app.import_log import record_ended
from ingest_app.leases import ENDS, Heartbeat, Lease, hold
from ingest_app.models import Item, Job
from ingest_app.steering import drop_useless_payloads

logger = logging.getLogger(__name__)

#: Nobody asked for these by name; what went well is forgotten after a while.
UPKEEP = (Job.Kind.INDEX, Job.Kind.RECLAIM)
REMEMBERED = timedelta(days=1)

Work = Callable[[Lease, Heartbeat], None]


def attempt(work: Work, lease: Lease, heartbeat: Heartbeat, *, counts_itself: bool = False) -> None:
    """Do the work of a job that is held; what goes wrong is its outcome.

    Work that was cut off too often is not begun again, for it may be what kills its workers, unless it
    `counts_itself` what comes of its attempts.
    """
    try:
        if not counts_itself:
            check_attempts(lease)
        work(lease, heartbeat)
    except ENDS:
        raise
    except RagsiteError as error:
        logger.warning("job %s failed: %s", lease.job_id, error.code)
        _fail(lease, error.detail, error.code)
    except Exception:
        logger.exception("job %s crashed", lease.job_id)
        _fail(lease, "Could not be done because of an error on the server. Its log has the cause.", "server_error")


def check_attempts(lease: Lease) -> None:
    """Raise Conflict where the work was cut off too often."""
    if lease.attempts > app_settings().ingestion.max_attempts:
        raise Conflict(
            f"Set aside: the work was cut off {lease.attempts - 1} times. The log has the causes; then retry.",
            code="quarantined",
        )


def tell(*, lease: Lease, step: str, done: int = 0, total: int = 0) -> None:
    """Write down what is being done now and how far it is."""
    Job.objects.filter(pk=lease.job_id, lease_token=lease.token).update(step=step, done=done, total=total)


def succeed(*, job: Job, result: Mapping[str, Any]) -> None:
    """Write the outcome into the job's row, which the caller has locked and found to be its own."""
    _end(job, Job.State.SUCCEEDED)
    job.result = dict(result)
    job.done = job.total
    job.save()
    if job.kind in UPKEEP:
        old = timezone.now() - REMEMBERED
        Job.objects.filter(kind=job.kind, state=Job.State.SUCCEEDED, finished_at__lt=old).delete()


def _fail(lease: Lease, detail: str, code: str) -> None:
    with transaction.atomic():
        job = hold(lease=lease)
        _end(job, Job.State.FAILED)
        # Of a sync that ended before its time.
        unfinished = Item.objects.filter(job=job, state__in=(Item.State.QUEUED, Item.State.RUNNING))
        unfinished.update(state=Item.State.CANCELLED, finished_at=timezone.now())
        drop_useless_payloads(job=job)
        record_ended(job=job)
        job.error = detail
        job.code = code
        job.save()


def _end(job: Job, state: Job.State) -> None:
    job.state = state
    job.step = ""
    job.lease_token = job.lease_expires_at = None
    job.finished_at = timezone.now()
