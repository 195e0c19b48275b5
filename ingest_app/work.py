"""Working a job off, item by item. It may be called twice, and die anywhere, without loss or duplicates."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError, transaction
from django.utils import timezone

from collections_app.models import Collection, Document
from collections_app.services import lock_collection
from core_app.errors import RagsiteError
from core_app.wiring import app_settings, store
from ingest_app.indexing import index_item
from ingest_app.leases import (
    CancelledError,
    Heartbeat,
    Lease,
    LeaseLostError,
    StoppedError,
    claim,
    free_jobs,
    hold,
    release,
)
from ingest_app.models import Item, Job
from ingest_app.parsing import UnableToParse
from ingest_app.submitting import dispatch, finish_cancelled

logger = logging.getLogger(__name__)

#: So many items bring so many parts of the word index; merging them keeps queries fast meanwhile.
ITEMS_BETWEEN_COMPACTIONS = 32
#: How many waiting jobs one round of the reaper announces.
ANNOUNCED_PER_ROUND = 20


def run_job(*, job_id: uuid.UUID, stopping: Callable[[], bool]) -> None:
    """Claim a job and work off its items until it ends; do nothing when it is not free.

    When `stopping` turns true the job goes back to the queue after the batch in hand. When the process
    dies, the lease runs out and another worker goes on with the item that was being worked on.
    """
    lease = claim(job_id=job_id)
    if lease is None:
        return
    logger.info("job %s claimed", job_id)
    try:
        with Heartbeat(lease, stopping=stopping) as heartbeat:
            done = 0
            while (item := _next_item(lease)) is not None:
                _work(lease, item, heartbeat)
                done += 1
                if done % ITEMS_BETWEEN_COMPACTIONS == 0:
                    compact(collection_id=lease.collection_id)
            compact(collection_id=lease.collection_id)
        _finish(lease)
    except CancelledError:
        _cancel(lease)
    except StoppedError:
        release(lease=lease)
    except (LeaseLostError, Collection.DoesNotExist):
        logger.warning("job %s is no longer ours", job_id)


def reap(*, interval_seconds: float) -> int:
    """Announce jobs that wait and that nobody works on; the number announced.

    Covers a message the broker lost, a worker that died, and a broker that was down or emptied. A
    message expires with the round, so a long queue is not filled with repetitions.
    """
    waiting = Job.objects.filter(free_jobs()).order_by("created_at").values_list("pk", flat=True)
    ids = list(waiting[:ANNOUNCED_PER_ROUND])
    for job_id in ids:
        dispatch(job_id=str(job_id), expires_seconds=interval_seconds)
    return len(ids)


def compact(*, collection_id: int) -> int:
    """Merge small parts of a collection's word index; the number of parts merged away."""
    try:
        with transaction.atomic():
            collection = lock_collection(collection_id=collection_id)
            return store(collection.store).compact(collection_id=collection_id)
    except Collection.DoesNotExist:
        return 0


def _next_item(lease: Lease) -> Item | None:
    """The next item to try; one that was being tried when its worker died comes again, with a limit."""
    with transaction.atomic():
        hold(lease=lease)
        while True:
            open_states = (Item.State.QUEUED, Item.State.RUNNING)
            item = Item.objects.filter(job_id=lease.job_id, state__in=open_states).order_by("ordinal").first()
            if item is None:
                return None
            if item.attempts < app_settings().ingestion.max_attempts:
                item.attempts += 1
                item.state = Item.State.RUNNING
                item.save(update_fields=["attempts", "state"])
                return item
            _fail(
                lease,
                item,
                f"Set aside: the worker ended {item.attempts} times while it read this file. "
                "Split or convert it, then retry.",
                "quarantined",
            )


def _work(lease: Lease, item: Item, heartbeat: Heartbeat) -> None:
    try:
        heartbeat.check()
        index_item(lease=lease, item=item, check=heartbeat.check)
    except (CancelledError, StoppedError):
        # Not the item's fault: this try does not count.
        Item.objects.filter(pk=item.pk, state=Item.State.RUNNING).update(
            state=Item.State.QUEUED, attempts=item.attempts - 1
        )
        raise
    except (UnableToParse, RagsiteError) as error:
        logger.info("item %s of job %s failed: %s", item.ordinal, lease.job_id, error.code)
        _fail_in_transaction(lease, item, error.detail, error.code)
    except (LeaseLostError, Collection.DoesNotExist, DatabaseError, InterfaceError):
        # The job or the database is gone: whoever holds the job next decides.
        raise
    except Exception:
        # One file must not stop the others, whatever a parser or a model makes of it.
        logger.exception("item %s of job %s crashed", item.ordinal, lease.job_id)
        detail = "Could not be indexed because of an error on the server. Its log has the cause."
        _fail_in_transaction(lease, item, detail, "server_error")


def _fail_in_transaction(lease: Lease, item: Item, detail: str, code: str) -> None:
    with transaction.atomic():
        hold(lease=lease)
        _fail(lease, item, detail, code)


def _fail(lease: Lease, item: Item, detail: str, code: str) -> None:
    """Record the failure on the item and on the document; what was searchable before stays so."""
    item.state = Item.State.FAILED
    item.error = detail
    item.code = code
    item.save(update_fields=["state", "error", "code"])
    document, _created = Document.objects.get_or_create(
        collection_id=lease.collection_id,
        source=item.source,
        defaults={"state": Document.State.FAILED, "title": item.title, "size_bytes": item.size_bytes},
    )
    document.error = detail
    document.error_code = code
    document.save(update_fields=["error", "error_code", "updated_at"])


def _finish(lease: Lease) -> None:
    with transaction.atomic():
        job = hold(lease=lease)
        states = set(Item.objects.filter(job=job).values_list("state", flat=True))
        good = bool(states & {Item.State.SUCCEEDED, Item.State.SKIPPED})
        if Item.State.FAILED not in states:
            job.state = Job.State.SUCCEEDED
        else:
            job.state = Job.State.PARTIAL if good else Job.State.FAILED
        job.lease_token = job.lease_expires_at = None
        job.finished_at = timezone.now()
        job.save()
    logger.info("job %s ended: %s", job.pk, job.state)


def _cancel(lease: Lease) -> None:
    with transaction.atomic():
        job = hold(lease=lease)
        finish_cancelled(job=job)
        job.save()
    logger.info("job %s cancelled", job.pk)
