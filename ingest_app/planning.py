"""Seeing by itself what upkeep is due: indexes over vectors that came to rest, space after large deletions."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.db import DatabaseError, IntegrityError, connection
from django.db.models import Q
from django.utils import timezone

from collections_app.models import Collection
from collections_app.services import space_of
from core_app.sql import statement
from core_app.wiring import store
from ingest_app.maintenance import MANY_PARTS, ROOM, request_index, request_reclaim
from ingest_app.models import Job

logger = logging.getLogger(__name__)

#: Upkeep waits until nothing was written for so long: between two requests of an upload it would take time from it.
#: Who pauses longer, to embed the next ones, has it done meanwhile; how often is bounded by what makes an index due.
QUIET = timedelta(seconds=0.5)
#: So many vectors beside the index slow down every search, as do `MANY_PARTS`; then it waits no longer.
LARGE_TAIL = 50_000
#: What failed or was cancelled is not planned again for so long, unless somebody retries it.
PAUSE = timedelta(hours=1)
#: Dead rows of chunks are reclaimed when there are so many, and so large a part of all.
DEAD_ROWS = 10_000
DEAD_PART = 0.1
#: A long transaction elsewhere may keep dead rows from being reclaimed; asking again at once is of no use.
RECLAIM_PAUSE = timedelta(minutes=10)
#: Collections whose store is asked in one round.
ASKED_PER_ROUND = 200


@dataclass(frozen=True, kw_only=True)
class _Seen:
    version: int
    indexed: bool


class Planner:
    """Makes jobs of what is due. Remembers, while the process lives, what needs no second look."""

    def __init__(self) -> None:
        #: By collection, what its store said last, and of which version.
        self._seen: dict[int, _Seen] = {}

    def plan(self) -> None:
        """One round. A failure is logged, and the next round tries again."""
        try:
            gone = self._plan_indexes()
            if gone or _much_is_dead():
                _plan_reclaim()
        except DatabaseError:
            logger.exception("upkeep could not be planned")

    def _plan_indexes(self) -> bool:
        """Whether a collection went that had an index."""
        versions = dict(Collection.objects.filter(active_generation__isnull=False).values_list("pk", "version"))
        gone = [self._seen.pop(pk) for pk in list(self._seen) if pk not in versions]
        changed = [pk for pk, version in versions.items() if pk not in self._seen or self._seen[pk].version != version]
        found = Collection.objects.select_related("active_generation").filter(pk__in=changed[:ASKED_PER_ROUND])
        for collection in found:
            self._look_at(collection)
        return any(seen.indexed for seen in gone)

    def _look_at(self, collection: Collection) -> None:
        generation = collection.active_generation
        if generation is None or _is_under_way(collection):
            return
        held = store(collection.store)
        state = held.index_state(space=space_of(generation))
        parts = held.fragments(collection_id=collection.pk)
        if not state.wanted and not parts:
            self._seen[collection.pk] = _Seen(version=collection.version, indexed=state.indexed > 0)
        elif _rests(collection) or state.unindexed >= LARGE_TAIL or parts >= MANY_PARTS:
            try:
                request_index(collection_id=collection.pk)
            except IntegrityError:
                logger.info("collection %s was deleted before its index was planned", collection.pk)


def _rests(collection: Collection) -> bool:
    return collection.updated_at < timezone.now() - QUIET


def _is_under_way(collection: Collection) -> bool:
    """Whether an index job has not ended, or ended badly a short while ago."""
    badly = Q(state__in=(Job.State.FAILED, Job.State.CANCELLED), finished_at__gt=timezone.now() - PAUSE)
    jobs = Job.objects.filter(collection=collection, kind=Job.Kind.INDEX)
    return jobs.filter(Q(finished_at__isnull=True) | badly).exists()


def _much_is_dead() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "dead_chunks"))
        dead, live = cursor.fetchone()
    return bool(dead >= DEAD_ROWS and dead >= DEAD_PART * live)


def _plan_reclaim() -> None:
    lately = timezone.now() - RECLAIM_PAUSE
    jobs = Job.objects.filter(kind=Job.Kind.RECLAIM).filter(Q(finished_at__isnull=True) | Q(created_at__gt=lately))
    if not jobs.exists():
        request_reclaim()
