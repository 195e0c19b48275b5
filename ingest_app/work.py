"""Working a job off. It may be called twice, and die anywhere, without loss or duplicates."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from psycopg.errors import (
    AdminShutdown,
    CannotConnectNow,
    CrashShutdown,
    DeadlockDetected,
    LockNotAvailable,
    SerializationFailure,
)

from collections_app.services import CollectionGone
from core_app.wiring import app_settings
from ingest_app import emptying, maintenance
from ingest_app.dispatching import QUEUES, dispatch
from ingest_app.indexing import Draft, draft_item, embed_drafts, write_draft
from ingest_app.itemless import attempt
from ingest_app.leases import (
    ENDS,
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
from ingest_app.outcomes import cancel, fail, finish, next_try, pause, record
from ingest_app.rechunking import plan_items

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

#: How many items are read before their chunks are embedded together, and how many bytes at most.
ITEMS_TOGETHER = 32
BYTES_TOGETHER = 16 * 1024 * 1024
#: How many waiting jobs one round of the reaper announces on each queue.
ANNOUNCED_PER_ROUND = 20
#: How long a worker waits for a database that went away before it leaves the job to its lease.
OUTAGE_SECONDS = 600
#: Failures of a statement that have to do with other writers, never with the work in hand.
NOT_THE_WORKS = (LockNotAvailable, DeadlockDetected, SerializationFailure)
#: Postgres ends or has just begun.
GONE = (AdminShutdown, CrashShutdown, CannotConnectNow)


def run_job(*, job_id: uuid.UUID, stopping: Callable[[], bool], outage_seconds: float = OUTAGE_SECONDS) -> None:
    """Claim a job and work on it until it ends; do nothing when it is not free.

    When `stopping` turns true the job goes back to the queue after the batch or step in hand. When the
    process dies, the lease runs out and another worker goes on with what was being worked on. For a
    database that went away it waits at most `outage_seconds`.
    """
    lease = claim(job_id=job_id)
    if lease is None:
        return
    logger.info("job %s claimed", job_id)
    try:
        try:
            with Heartbeat(lease, stopping=stopping) as heartbeat:
                WORK[lease.kind](lease, heartbeat)
        except CancelledError:
            cancel(lease=lease)
    except StoppedError:
        release(lease=lease)
    except KeyboardInterrupt:  # of a command that works on its job itself
        release(lease=lease)
        raise
    except (LeaseLostError, CollectionGone):
        logger.warning("job %s is no longer ours", job_id)
    except (OperationalError, InterfaceError) as error:
        # A lock that took too long, or a database that went away.
        logger.warning("job %s goes back to the queue: %s", job_id, str(error).partition("\n")[0])
        if connection.in_atomic_block or connection.is_usable():
            counts = _is_of_the_work(error)
            until = timezone.now() + pause(lease.attempts) if counts else None
            release(lease=lease, attempt_counts=counts, until=until)
        else:
            _release_after_outage(lease, stopping, outage_seconds)


def _is_of_the_work(error: Exception) -> bool:
    """Whether it will come again, such as a full disk; not other writers, nor a database that went away."""
    lost = getattr(error.__cause__, "sqlstate", None) is None or isinstance(error.__cause__, GONE)
    return not lost and not isinstance(error.__cause__, NOT_THE_WORKS)


def _rechunk(lease: Lease, heartbeat: Heartbeat) -> None:
    """Cut anew what is due, and what has become due meanwhile because the setting changed once more."""
    while True:
        while items := _next_items(lease):
            _work(lease, items, heartbeat)
            maintenance.compact(collection_id=lease.collection_id)
        _merge_words(lease, heartbeat)
        with transaction.atomic():
            # In one transaction: whoever changes the setting finds this job at work, or ended.
            if not plan_items(lease=lease):
                _finish_or_wait(lease)
                return


def _ingest(lease: Lease, heartbeat: Heartbeat) -> None:
    while items := _next_items(lease):
        _work(lease, items, heartbeat)
        maintenance.compact(collection_id=lease.collection_id)
    _merge_words(lease, heartbeat)
    _finish_or_wait(lease)


def _finish_or_wait(lease: Lease) -> None:
    """End the job, or let it rest until the first of its items is to be tried again."""
    due = next_try(lease=lease)
    if due is None:
        finish(lease=lease)
    else:
        release(lease=lease, until=due)


def _merge_words(lease: Lease, heartbeat: Heartbeat) -> None:
    while maintenance.compact(collection_id=lease.collection_id):
        heartbeat.check()


WORK: Mapping[str, Callable[[Lease, Heartbeat], None]] = MappingProxyType(
    {
        Job.Kind.INGEST: _ingest,
        Job.Kind.RECHUNK: _rechunk,
        Job.Kind.EMPTY: partial(attempt, emptying.run),
        Job.Kind.INDEX: partial(attempt, maintenance.build_index),
        Job.Kind.RECLAIM: partial(attempt, maintenance.reclaim),
    }
)


def _release_after_outage(lease: Lease, stopping: Callable[[], bool], seconds: float) -> None:
    """Wait for the database and give the job back; that the database went away counts against no file.

    Should it stay away for longer, the lease runs out by itself, and the attempt counts.
    """
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not stopping():
        connection.close()
        try:
            _give_back(lease, Item.objects.filter(job_id=lease.job_id))
            release(lease=lease)
        except (OperationalError, InterfaceError):
            time.sleep(1)
        except LeaseLostError:
            return
        else:
            return


def reap(*, interval_seconds: float) -> int:
    """Announce jobs that wait and that nobody works on; the number announced.

    Covers a message the broker lost, a worker that died, and a broker that was down or emptied. A
    message expires with the round, so a long queue is not filled with repetitions.
    """
    waiting = Job.objects.filter(free_jobs()).order_by("created_at").values_list("pk", "kind")
    announced = 0
    for queue in sorted(set(QUEUES.values())):
        kinds = [kind for kind, its_queue in QUEUES.items() if its_queue == queue]
        for job_id, kind in waiting.filter(kind__in=kinds)[:ANNOUNCED_PER_ROUND]:
            dispatch(job_id=str(job_id), kind=kind, expires_seconds=interval_seconds)
            announced += 1
    return announced


def _next_items(lease: Lease) -> list[Item]:
    """The next items to try, together; empty when all have an outcome or wait for another try.

    An item that was being tried when its worker died is tried alone: should it be what kills workers,
    it takes no other with it, and after the last attempt it is set aside.
    """
    while True:
        with transaction.atomic():
            hold(lease=lease)
            open_items = Item.objects.filter(job_id=lease.job_id, state__in=(Item.State.QUEUED, Item.State.RUNNING))
            due = Q(next_try_at__isnull=True) | Q(next_try_at__lte=timezone.now())
            candidates = list(open_items.filter(due).order_by("ordinal")[:ITEMS_TOGETHER])
            if not candidates or candidates[0].attempts < app_settings().ingestion.max_attempts:
                chosen = _together(candidates)
                for item in chosen:
                    item.attempts += 1
                    item.state = Item.State.RUNNING
                    item.next_try_at = None
                Item.objects.bulk_update(chosen, ["attempts", "state", "next_try_at"])
                return chosen
        fail(
            lease=lease,
            item=candidates[0],
            detail=f"Set aside: work on this file was cut off {candidates[0].attempts} times. "
            "Split or convert it, then retry.",
            code="quarantined",
        )


def _together(candidates: list[Item]) -> list[Item]:
    """The longest start of the list that was never tried and stays small; at least one item."""
    chosen: list[Item] = []
    size = 0
    for item in candidates:
        size += item.size_bytes
        if chosen and (item.attempts or size > BYTES_TOGETHER):
            break
        chosen.append(item)
        if item.attempts:
            break
    return chosen


def _work(lease: Lease, items: list[Item], heartbeat: Heartbeat) -> None:
    """Bring each item to its outcome; a stop or an error they share gives back what has none yet."""
    drafts: list[Draft] = []
    try:
        for item in items:
            heartbeat.check()
            draft = _attempt(lease, item, partial(draft_item, lease=lease, item=item, check=heartbeat.check_sometimes))
            if draft is not None:
                drafts.append(draft)
            if sum(len(draft.contexts) for draft in drafts) >= app_settings().embedding.batch_size:
                _embed_and_write(lease, drafts, heartbeat)
                drafts = []
        _embed_and_write(lease, drafts, heartbeat)
    except (CancelledError, StoppedError):
        _give_back(lease, _these(items))
        raise
    except OperationalError as error:
        if isinstance(error.__cause__, NOT_THE_WORKS):
            _give_back(lease, _these(items))
        raise


def _these(items: list[Item]) -> QuerySet[Item]:
    return Item.objects.filter(pk__in=[item.pk for item in items])


def _give_back(lease: Lease, items: QuerySet[Item]) -> None:
    """Queue what has no outcome yet; that it was not finished is not the items' fault and does not count."""
    with transaction.atomic():
        hold(lease=lease)
        running = items.filter(state=Item.State.RUNNING)
        running.update(state=Item.State.QUEUED, attempts=F("attempts") - 1)


def _embed_and_write(lease: Lease, drafts: list[Draft], heartbeat: Heartbeat) -> None:
    """Index the drafts. Several whose embedding fails come again, each alone (`_next_items`)."""
    try:
        vectors = embed_drafts(drafts=drafts, check=heartbeat.check)
    except ENDS:
        raise
    except Exception as error:
        if len(drafts) == 1:
            record(lease=lease, item=drafts[0].item, error=error)
        else:
            logger.exception("embedding %s items of job %s together failed", len(drafts), lease.job_id)
        return
    for draft, own in zip(drafts, vectors, strict=True):
        heartbeat.check()
        _attempt(lease, draft.item, partial(write_draft, lease=lease, draft=draft, vectors=own))


def _attempt(lease: Lease, item: Item, step: Callable[[], Result]) -> Result | None:
    """One step of one item; what goes wrong is the item's outcome and stops no other."""
    try:
        return step()
    except ENDS:
        raise
    except Exception as error:  # noqa: BLE001 - logged and shown by record, whatever it is
        record(lease=lease, item=item, error=error)
        return None
