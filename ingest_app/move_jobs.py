"""Moving a collection's search to another system and back, as a job: searches and writes go on meanwhile.

How far it is stands in the database, so a job that is cut off goes on where it was (decision 32).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.db import transaction

from access_app.audit import record
from collections_app.models import Collection
from collections_app.selectors import get_collection, get_held
from collections_app.services import CollectionGone, lock_collection, space_of
from core_app.errors import Conflict, FarSideFailed, FarSideSlow, RagsiteError, Unavailable
from core_app.wiring import mover, store
from ingest_app.dispatching import request
from ingest_app.itemless import succeed, tell
from ingest_app.leases import Heartbeat, Lease, hold
from ingest_app.models import Job

logger = logging.getLogger(__name__)

#: The name of the place where every collection is at first.
HERE = "built-in"
#: A system that does not answer is asked again for so long, after pauses that grow.
PATIENCE_SECONDS = 600.0
_LONGEST_PAUSE_SECONDS = 30.0


def start_move(*, name: str, service: str, name_there: str = "") -> Job:
    """Have a collection searched at a connection from now on, or here with `built-in`; the job that does it.

    `name_there` is the collection's name there, its own by default. Raises NotFound for the collection and the
    connection, InvalidInput for one that cannot search it, Conflict where another job moves it or it is there already.
    """
    with transaction.atomic():
        collection = lock_collection(collection_id=get_held(name=name).pk)
        if Job.objects.filter(kind=Job.Kind.MOVE, collection=collection, finished_at__isnull=True).exists():
            raise Conflict(
                "The collection is being moved already. Cancel that job, or wait for it.", code="job_running"
            )
        there = name_there or collection.name
        options = {"service": service} if service == HERE else {"service": service, "name_there": there}
        if service != HERE:
            mover().begin(collection_id=collection.pk, service=service, name_there=there)
        elif store(collection.store).home == collection.store:
            raise Conflict("The collection is searched here already.", code="already_there")
        job = Job(kind=Job.Kind.MOVE, collection=collection, options=options)
        request(job=job)
        record("job.submitted", job, collection=collection.name, after={"kind": job.kind, **options})
    return job


def moving_job(*, name: str) -> Job | None:
    """The job that moves a collection, while it is on its way. Raises NotFound."""
    collection = get_collection(name=name)
    return Job.objects.filter(kind=Job.Kind.MOVE, collection_id=collection.pk, finished_at__isnull=True).first()


def run(lease: Lease, heartbeat: Heartbeat) -> None:
    """The work of a job of the kind `move`."""
    options = Job.objects.values_list("options", flat=True).get(pk=lease.job_id) or {}
    if options["service"] == HERE:
        _bring_back(lease, heartbeat)
        return
    assert lease.collection_id is not None, "a collection is moved"
    result = _patiently(partial(_bring, lease, heartbeat), check=heartbeat.check)
    with transaction.atomic():
        succeed(job=hold(lease=lease), result=result)


def _bring(lease: Lease, heartbeat: Heartbeat) -> Mapping[str, Any]:
    def told(step: str, done: int, total: int) -> None:
        tell(lease=lease, step=f"{step}: {done:,}" + (f" of {total:,}." if total else "."), done=done, total=total)
        heartbeat.check()

    assert lease.collection_id is not None
    return mover().bring(collection_id=lease.collection_id, told=told)


def _patiently(work: Callable[[], Mapping[str, Any]], *, check: Callable[[], None]) -> Mapping[str, Any]:
    """Try again while the other system does not answer, for some minutes after it last did something."""
    pause, gives_up_at = 1.0, time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return work()
        except (FarSideFailed, FarSideSlow, Unavailable) as error:
            if time.monotonic() > gives_up_at or _is_lasting(error):
                raise
            logger.warning("a move waits for another system: %s", error.code)
        _wait(pause, check)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _is_lasting(error: RagsiteError) -> bool:
    """Whether somebody has to mend it: a key that is refused, a client that is not installed."""
    return error.code in {"far_side_refused", "provider_not_usable"}


def _wait(seconds: float, check: Callable[[], None]) -> None:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        check()
        time.sleep(min(0.5, seconds))


def _bring_back(lease: Lease, heartbeat: Heartbeat) -> None:
    """With an index first where one pays: searches do not wait for it."""
    found = Collection.objects.select_related("active_generation").filter(pk=lease.collection_id).first()
    if found is None:
        raise CollectionGone
    home = store(store(found.store).home)
    if found.active_generation is not None:
        space = space_of(found.active_generation)
        state = home.index_state(space=space)
        if state.wanted:
            total = state.indexed + state.unindexed
            tell(lease=lease, step=f"Building an index over {total:,} vectors.", total=total)
            home.build_index(space=space, check=heartbeat.check)
    with transaction.atomic():
        mover().withdraw(collection_id=found.pk)
        succeed(job=hold(lease=lease), result={"service": HERE})
