"""Moving a collection's search to another system and back, as a job: searches and writes go on meanwhile.

How far it is stands in the database, so a job that is cut off goes on where it was (decision 32).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
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
        if moving_job(name=collection.name) is not None:
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
    with transaction.atomic(), suppress(_AlreadyThereError):
        _begin(lease.collection_id, options)
    result = _Patience(lease, heartbeat).bring(lease.collection_id)
    with transaction.atomic():
        succeed(job=hold(lease=lease), result=result)


class _AlreadyThereError(Exception):
    """The job was cut off after the switch."""


def _begin(collection_id: int, options: Mapping[str, Any]) -> None:
    """Once more where the job is tried again and it was given up meanwhile."""
    try:
        mover().begin(collection_id=collection_id, service=options["service"], name_there=options["name_there"])
    except Conflict as error:
        if error.code == "already_there":
            raise _AlreadyThereError from None
        raise


class _Patience:
    """Tries again while the other system does not answer, for some minutes after it last did something."""

    def __init__(self, lease: Lease, heartbeat: Heartbeat) -> None:
        self._lease = lease
        self._heartbeat = heartbeat
        self._pause: float
        self._gives_up_at: float
        self._went_on()

    def bring(self, collection_id: int) -> Mapping[str, Any]:
        while True:
            try:
                return mover().bring(collection_id=collection_id, told=self._told)
            except (FarSideFailed, FarSideSlow, Unavailable) as error:
                if time.monotonic() > self._gives_up_at or _is_lasting(error):
                    raise
                logger.warning("a move waits for another system: %s", error.code)
            _wait(self._pause, self._heartbeat.check)
            self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)

    def _told(self, step: str, done: int, total: int) -> None:
        if done:
            self._went_on()
        tell(lease=self._lease, step=f"{step}: {done:,} of {total:,}.", done=min(done, total), total=total)
        self._heartbeat.check()

    def _went_on(self) -> None:
        self._pause = 1.0
        self._gives_up_at = time.monotonic() + PATIENCE_SECONDS


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
