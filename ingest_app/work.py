"""Working a job off. It may be called twice, and die anywhere, without loss or duplicates."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from access_app.acting import Door, acting
from access_app.audit import submitter_of
from collections_app.services import CollectionGone
from ingest_app import copy_jobs, emptying, fetch_jobs, import_jobs, maintenance, move_jobs, rewording, syncing
from ingest_app.dispatching import QUEUES, dispatch
from ingest_app.item_work import NOT_THE_WORKS, ItemWork, give_back, is_lost
from ingest_app.itemless import attempt
from ingest_app.leases import (
    CancelledError,
    Heartbeat,
    Lease,
    LeaseLostError,
    StoppedError,
    WritingCutOffError,
    claim,
    free_jobs,
    release,
)
from ingest_app.models import Item, Job
from ingest_app.outcomes import cancel, finish_or_wait, pause
from ingest_app.rechunking import plan_items

logger = logging.getLogger(__name__)

#: How many waiting jobs one round of the reaper announces on each queue.
ANNOUNCED_PER_ROUND = 20
#: Who is behind what nobody asked for: upkeep, schedules.
SERVER = "server"
#: How long a worker waits for a database that went away before it leaves the job to its lease.
OUTAGE_SECONDS = 600


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
    with acting(door=Door.TASK, name=partial(_asked_by, job_id)):
        _work_off(lease, stopping, outage_seconds)


def _asked_by(job_id: uuid.UUID) -> str:
    """Who is behind a job; asked for when something is recorded."""
    return submitter_of(Job(pk=job_id)) or SERVER


def _work_off(lease: Lease, stopping: Callable[[], bool], outage_seconds: float) -> None:
    job_id = lease.job_id
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
    except WritingCutOffError as error:
        logger.warning("job %s: the database went away while item %s was written", job_id, error.item.ordinal)
        _release_after_outage(lease, stopping, outage_seconds, cut_off=error.item)
    except (OperationalError, InterfaceError) as error:
        logger.warning("job %s goes back to the queue: %s", job_id, str(error).partition("\n")[0])
        if is_lost(error):
            _release_after_outage(lease, stopping, outage_seconds)
        else:
            # Whatever is no other writer's doing will come again, such as a full disk.
            counts = not isinstance(error.__cause__, NOT_THE_WORKS)
            until = timezone.now() + pause(lease.attempts) if counts else None
            release(lease=lease, attempt_counts=counts, until=until)


def _rechunk(lease: Lease, heartbeat: Heartbeat) -> None:
    """Cut anew what is due, and what has become due meanwhile because the setting changed once more."""
    while True:
        ItemWork(lease, heartbeat).run()
        _merge_words(lease, heartbeat)
        with transaction.atomic():
            # In one transaction: whoever changes the setting finds this job at work, or ended.
            if not plan_items(lease=lease):
                finish_or_wait(lease=lease)
                return


def _ingest(lease: Lease, heartbeat: Heartbeat) -> None:
    ItemWork(lease, heartbeat).run()
    _merge_words(lease, heartbeat)
    finish_or_wait(lease=lease)


def _import(lease: Lease, heartbeat: Heartbeat) -> None:
    job = Job.objects.only("kind", "options").get(pk=lease.job_id)
    (fetch_jobs.run if job.is_fetch else import_jobs.run)(lease, heartbeat)


def _merge_words(lease: Lease, heartbeat: Heartbeat) -> None:
    while maintenance.compact(collection_id=lease.collection_id):
        heartbeat.check()


WORK: Mapping[str, Callable[[Lease, Heartbeat], None]] = MappingProxyType(
    {
        Job.Kind.INGEST: _ingest,
        Job.Kind.SYNC: partial(attempt, syncing.run, counts_itself=True),
        Job.Kind.RECHUNK: _rechunk,
        Job.Kind.REWORD: partial(attempt, rewording.run),
        Job.Kind.EMPTY: partial(attempt, emptying.run),
        Job.Kind.INDEX: partial(attempt, maintenance.build_index),
        Job.Kind.RECLAIM: partial(attempt, maintenance.reclaim),
        Job.Kind.IMPORT: partial(attempt, _import),
        Job.Kind.COPY: partial(attempt, copy_jobs.run),
        Job.Kind.MOVE: partial(attempt, move_jobs.run),
    }
)


def _release_after_outage(
    lease: Lease, stopping: Callable[[], bool], seconds: float, *, cut_off: Item | None = None
) -> None:
    """Wait for the database and give the job back; that the database went away counts against no file.

    But for one that was being written when its connection broke without a word: should that be what brings the
    database down, it is set aside after as many tries as any other. Should the database stay away for longer, the
    lease runs out by itself, and the attempt counts.
    """
    ends = time.monotonic() + seconds
    innocent = Item.objects.filter(job_id=lease.job_id)
    if cut_off is not None:
        innocent = innocent.exclude(pk=cut_off.pk)
    while time.monotonic() < ends and not stopping():
        if not connection.in_atomic_block:
            connection.close()
        try:
            give_back(lease=lease, items=innocent)
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
