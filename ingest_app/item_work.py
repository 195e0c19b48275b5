"""The items of a job brought to their outcomes: some are read or written while the model works on others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from django.db import InterfaceError, OperationalError, transaction
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

from core_app.ports import Vectors
from core_app.wiring import app_settings
from ingest_app import maintenance
from ingest_app.embedding import Embedding
from ingest_app.indexing import Draft, draft_item, write_draft
from ingest_app.leases import ENDS, CancelledError, Heartbeat, Lease, StoppedError, WritingCutOffError, hold
from ingest_app.models import Item
from ingest_app.outcomes import fail, record

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

#: How many items are begun together, and how many bytes at most.
ITEMS_TOGETHER = 32
BYTES_TOGETHER = 16 * 1024 * 1024
#: Failures of a statement that have to do with other writers, never with the work in hand.
NOT_THE_WORKS = (LockNotAvailable, DeadlockDetected, SerializationFailure)
#: Postgres ends or has just begun, and says so.
GONE = (AdminShutdown, CrashShutdown, CannotConnectNow)


def is_lost(error: Exception) -> bool:
    """Whether the database went away, rather than refused a statement."""
    return _is_silent(error) or isinstance(error.__cause__, GONE)


def _is_silent(error: Exception) -> bool:
    return getattr(error.__cause__, "sqlstate", None) is None


class ItemWork:
    """Works on the items of one job that is held. Documents are written in the order of the items.

    An item that was begun before, by a worker that died or among others whose embedding failed, is tried alone:
    should it be what kills workers, it takes no other with it, and after the last attempt it is set aside.
    """

    def __init__(self, lease: Lease, heartbeat: Heartbeat) -> None:
        self._lease = lease
        self._heartbeat = heartbeat
        #: Begun here and without an outcome, by key.
        self._begun: dict[int, Item] = {}
        #: Read, and waiting for the model.
        self._read: list[Draft] = []
        self._embedding: Embedding | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")

    def run(self) -> None:
        """Go on until no item is left that may be tried now.

        A stop, or an error that has to do with other writers, gives back what was begun.
        """
        with self._thread:
            try:
                while self._round():
                    maintenance.compact(collection_id=self._lease.collection_id)
            except (CancelledError, StoppedError):
                self._give_back()
                raise
            except OperationalError as error:
                if isinstance(error.__cause__, NOT_THE_WORKS):
                    self._give_back()
                raise
            finally:
                if self._embedding is not None:
                    self._embedding.give_up()

    def _round(self) -> bool:
        """Begin the next items, or bring to their outcome those that were begun; False when there are neither."""
        items = _next_items(self._lease, begun=self._begun)
        if not items:
            if not self._begun:
                return False
            self._finish_begun()
            return True
        self._begun |= {item.pk: item for item in items}
        for item in items:
            self._heartbeat.check()
            self._draft(item)
            if self._read and sum(len(draft.contexts) for draft in self._read) >= self._read[0].source.batch_size:
                self._turn()
        if items[0].attempts > 1:
            self._finish_begun()
        return True

    def _draft(self, item: Item) -> None:
        check = self._heartbeat.check_sometimes
        draft = self._attempt(item, partial(draft_item, lease=self._lease, item=item, check=check))
        if draft is None:
            del self._begun[item.pk]
        else:
            self._read.append(draft)

    def _finish_begun(self) -> None:
        while self._read or self._embedding:
            self._turn()

    def _turn(self) -> None:
        """Take from the model what it has done, give it what was read, and write the former meanwhile."""
        done = self._embedding
        vectors = self._vectors(done) if done is not None else None
        read, self._read = self._read, []
        self._embedding = Embedding(read, thread=self._thread) if read else None
        if done is None:
            return
        for draft, own in zip(done.drafts, vectors or (), strict=vectors is not None):
            self._heartbeat.check()
            self._write(draft, own)
        for draft in done.drafts:
            del self._begun[draft.item.pk]

    def _write(self, draft: Draft, vectors: Vectors) -> None:
        try:
            self._attempt(draft.item, partial(write_draft, lease=self._lease, draft=draft, vectors=vectors))
        except (OperationalError, InterfaceError) as error:
            if _is_silent(error):
                raise WritingCutOffError(draft.item) from error
            raise

    def _vectors(self, done: Embedding) -> list[Vectors] | None:
        """What the model made of the drafts. None where it failed: several come again then, each alone."""
        try:
            return done.result(check=self._heartbeat.check)
        except ENDS:
            raise
        except Exception as error:
            if len(done.drafts) == 1:
                record(lease=self._lease, item=done.drafts[0].item, error=error)
            else:
                together = len(done.drafts)
                logger.exception("embedding %s items of job %s together failed", together, self._lease.job_id)
            return None

    def _attempt(self, item: Item, step: Callable[[], Result]) -> Result | None:
        """One step of one item; what goes wrong is the item's outcome and stops no other."""
        try:
            return step()
        except ENDS:
            raise
        except Exception as error:  # noqa: BLE001 - logged and shown by record, whatever it is
            record(lease=self._lease, item=item, error=error)
            return None

    def _give_back(self) -> None:
        give_back(lease=self._lease, items=Item.objects.filter(pk__in=list(self._begun)))


def give_back(*, lease: Lease, items: QuerySet[Item]) -> None:
    """Queue what has no outcome yet; that it was not finished is not the items' fault and does not count."""
    with transaction.atomic():
        hold(lease=lease)
        running = items.filter(state=Item.State.RUNNING)
        running.update(state=Item.State.QUEUED, attempts=F("attempts") - 1)


def _next_items(lease: Lease, *, begun: Collection[int]) -> list[Item]:
    """The next items to begin, together; empty when all others have an outcome or wait for another try.

    Empty, too, while some are begun and the next is one to be tried alone.
    """
    while True:
        with transaction.atomic():
            hold(lease=lease)
            unfinished = Item.objects.filter(job_id=lease.job_id, state__in=(Item.State.QUEUED, Item.State.RUNNING))
            due = Q(next_try_at__isnull=True) | Q(next_try_at__lte=timezone.now())
            waiting = unfinished.filter(due).exclude(pk__in=list(begun))
            candidates = list(waiting.order_by("ordinal")[:ITEMS_TOGETHER])
            if candidates and candidates[0].attempts and begun:
                return []
            if not candidates or candidates[0].attempts < app_settings().ingestion.max_attempts:
                chosen = _together(candidates)
                for item in chosen:
                    item.attempts += 1
                    item.state = Item.State.RUNNING
                    item.next_try_at = item.finished_at = None
                    item.started_at = timezone.now()
                Item.objects.bulk_update(chosen, ["attempts", "state", "next_try_at", "started_at", "finished_at"])
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
