"""Upkeep of what searches read: vector indexes are built, the space of deleted rows is given back."""

from __future__ import annotations

import uuid
from functools import partial

from django.db import connection, transaction
from django.utils import timezone

from collections_app.models import Collection
from collections_app.services import CollectionGone, lock_collection, space_of
from core_app.sql import statement
from core_app.wiring import app_settings, store
from ingest_app.dispatching import dispatch, request
from ingest_app.itemless import succeed, tell
from ingest_app.leases import Heartbeat, Lease, hold
from ingest_app.models import Job

ROOM = "ingest_app"
#: So many parts of the word index slow down every search.
MANY_PARTS = 100


def request_index(*, collection_id: int) -> bool:
    """Have a collection's vector index built anew; False where such a job is on its way already."""
    return request(job=Job(kind=Job.Kind.INDEX, collection_id=collection_id))


def request_reclaim(*, collection: Collection | None = None) -> uuid.UUID:
    """Have space given back; the job that will, which is the one that is on it already where there is one.

    `collection` is what was emptied, if it was one.
    """
    values = {
        "id": uuid.uuid4(),
        "collection_id": collection.pk if collection is not None else None,
        "now": timezone.now(),
    }
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(statement(ROOM, "request_reclaim"), values)
            job_id: uuid.UUID = cursor.fetchone()[0]
        transaction.on_commit(partial(dispatch, job_id=str(job_id), kind=Job.Kind.RECLAIM))
    return job_id


def compact(*, collection_id: int) -> int:
    """Merge some of the small parts of a collection's word index; 0 when none is left to merge."""
    try:
        with transaction.atomic():
            collection = lock_collection(collection_id=collection_id)
            return store(collection.store).compact(collection_id=collection_id)
    except CollectionGone:
        return 0


def build_index(lease: Lease, heartbeat: Heartbeat) -> None:
    """The work of a job of the kind `index`; nothing to do where it was done meanwhile.

    Parts of the word index that many small adds left behind are merged as well; before it where they are so many
    that searches suffer, since a build may take minutes, and fail.
    """
    found = Collection.objects.select_related("active_generation").filter(pk=lease.collection_id).first()
    if found is None:
        raise CollectionGone
    if store(found.store).fragments(collection_id=found.pk) >= MANY_PARTS:
        _merge_words(lease, heartbeat)
    indexed = unindexed = 0
    if found.active_generation is not None:
        space, held = space_of(found.active_generation), store(found.store)
        state = held.index_state(space=space)
        if state.wanted:
            total = state.indexed + state.unindexed
            tell(lease=lease, step=f"Building an index over {total:,} vectors.", total=total)
            held.build_index(space=space, check=heartbeat.check)
            state = held.index_state(space=space)
        indexed, unindexed = state.indexed, state.unindexed
    _merge_words(lease, heartbeat, done=indexed, total=indexed + unindexed)
    with transaction.atomic():
        succeed(job=hold(lease=lease), result={"indexed": indexed, "unindexed": unindexed})


def _merge_words(lease: Lease, heartbeat: Heartbeat, *, done: int = 0, total: int = 0) -> None:
    assert lease.collection_id is not None, "an index belongs to a collection"
    tell(lease=lease, step="Merging parts of the word index.", done=done, total=total)
    while compact(collection_id=lease.collection_id):
        heartbeat.check()


def reclaim(lease: Lease, heartbeat: Heartbeat) -> None:
    """The work of a job of the kind `reclaim`, as often as it was asked for meanwhile."""

    def check(step: str, done: int, total: int) -> None:
        tell(lease=lease, step=f"Giving back space: {step}.", done=done, total=total)
        heartbeat.check()

    wanted = True
    while wanted:
        Job.objects.filter(pk=lease.job_id, lease_token=lease.token).update(again=False)
        store(app_settings().vector_database.provider).reclaim(check=check)
        with transaction.atomic():
            job = hold(lease=lease)
            wanted = job.again
            if not wanted:
                succeed(job=job, result={})
