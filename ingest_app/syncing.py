"""A collection brought in step with a connector's place: the work of a job of the kind `sync`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Max

from collections_app.services import CollectionGone
from core_app.errors import Conflict
from ingest_app import maintenance
from ingest_app.comparing import DUPLICATE, Compared, Comparison, Difference, Outcome, remove_vanished
from ingest_app.item_work import ItemWork
from ingest_app.itemless import check_attempts, tell
from ingest_app.leases import Heartbeat, Lease, hold
from ingest_app.models import Connector, Item, Job
from ingest_app.outcomes import finish_or_wait
from ingest_app.places import check_allowed, opened, place_of
from ingest_app.submitting import Source, add_item, find_problems

#: Read before they are indexed together: so many files, so many bytes, or what came in so many seconds.
FILES_TOGETHER = 200
BYTES_TOGETHER = 64 * 1024 * 1024
SECONDS_TOGETHER = 5.0
#: Names of each kind that a dry run keeps.
NAMES_KEPT = 50


@dataclass(kw_only=True)
class _Progress:
    """How many files there are of each kind, and some of their names."""

    counts: Counter[str] = field(default_factory=Counter)
    names: dict[str, list[str]] = field(default_factory=dict)

    def add(self, difference: str, name: str) -> None:
        self.counts[difference] += 1
        kept = self.names.setdefault(difference, [])
        if len(kept) < NAMES_KEPT:
            kept.append(name)

    def sentence(self) -> str:
        return f"{self.counts.total():,} files read, {self.counts[Difference.UNCHANGED]:,} unchanged."


def run(lease: Lease, heartbeat: Heartbeat) -> None:
    """Read the place, index what is new or changed, remove what is gone if that is wanted.

    A worker that takes over from one that died reads the place again, and leaves out what has an outcome.
    """
    job = Job.objects.select_related("connector", "collection").filter(pk=lease.job_id).first()
    if job is None or job.collection is None:
        raise CollectionGone
    connector = job.connector
    if connector is None:
        raise Conflict("The connector was deleted, so there is nothing to read.", code="connector_gone")
    # What a worker that died had begun comes first: should a file have killed it, the file is set aside, not the sync.
    if not _work(lease, heartbeat):
        check_attempts(lease)
    if job.result is None:
        result = _read(lease, heartbeat, job, connector)
        with transaction.atomic():
            hold(lease=lease)
            Job.objects.filter(pk=job.pk).update(result=result)
    while maintenance.compact(collection_id=lease.collection_id):
        heartbeat.check()
    finish_or_wait(lease=lease)


def _work(lease: Lease, heartbeat: Heartbeat) -> bool:
    """Work on the items there are; whether one got its outcome. From then on the attempts are counted anew."""
    unfinished = Item.objects.filter(job_id=lease.job_id, state__in=(Item.State.QUEUED, Item.State.RUNNING))
    before = unfinished.count()
    ItemWork(lease, heartbeat).run()
    if unfinished.count() == before:
        return False
    Job.objects.filter(pk=lease.job_id, lease_token=lease.token).update(attempts=1)
    return True


def _read(lease: Lease, heartbeat: Heartbeat, job: Job, connector: Connector) -> dict[str, Any]:
    """What came of reading, beside the items that were made of it meanwhile."""
    place = place_of(connector).settled()
    check_allowed(place)
    comparison = Comparison(collection=job.collection, origin=connector.origin, metadata=connector.metadata)
    progress = _Progress()
    items = Item.objects.filter(job=job)
    done = set(items.values_list("source", flat=True))
    told = set(items.filter(code=DUPLICATE).values_list("source", flat=True))
    tell(lease=lease, step=f"Opening the {Connector.Kind(connector.kind).label.lower()}.")
    with opened(place, check=heartbeat.check_sometimes) as source:
        for batch in _batches(lease, comparison.files(source.files, but=done, told=told), progress):
            heartbeat.check()
            if not job.dry_run and batch:
                _add_items(lease, batch, connector)
                _work(lease, heartbeat)
        revision = source.revision
    outcomes = [
        Outcome(source=name, failed=state not in (Item.State.SUCCEEDED, Item.State.SKIPPED))
        for name, state in items.values_list("source", "state")
    ]
    for name in (vanished := comparison.vanished(outcomes)):
        progress.add("vanished", name)
    result: dict[str, Any] = {"unchanged": progress.counts[Difference.UNCHANGED], "vanished": len(vanished)}
    if revision:
        result["revision"] = revision
    if job.dry_run:
        counted = {str(kind): progress.counts[kind] for kind in Difference}
        return {**result, **counted, "names": {str(kind): names for kind, names in progress.names.items()}}
    return {**result, "removed": _remove(lease, heartbeat, connector, vanished)}


def _remove(lease: Lease, heartbeat: Heartbeat, connector: Connector, vanished: Sequence[str]) -> int:
    def goes_on(removed: int) -> bool:
        heartbeat.check()
        tell(lease=lease, step=f"Removing documents that are gone: {removed:,} of {len(vanished):,}.")
        # Asked for again: who switches it off meanwhile does not want the rest to go.
        return Connector.objects.filter(pk=connector.pk, remove_vanished=True).exists()

    return remove_vanished(
        collection=connector.collection, sources=vanished, origin=connector.origin, lease=lease, goes_on=goes_on
    )


def _batches(lease: Lease, files: Iterator[Compared], progress: _Progress) -> Iterator[list[Compared]]:
    """What is to be indexed or reported, in portions that can be held in memory. An empty one is a chance to stop."""
    batch: list[Compared] = []
    size = 0
    begun = time.monotonic()
    for file in files:
        progress.add(file.difference, file.name)
        if file.difference != Difference.UNCHANGED:
            batch.append(file)
            size += len(file.content)
        if len(batch) >= FILES_TOGETHER or size >= BYTES_TOGETHER or time.monotonic() - begun >= SECONDS_TOGETHER:
            tell(lease=lease, step=progress.sentence())
            yield batch
            batch, size, begun = [], 0, time.monotonic()
    tell(lease=lease, step=progress.sentence())
    yield batch


def _add_items(lease: Lease, batch: list[Compared], connector: Connector) -> None:
    sources = [
        Source(name=file.name, content=file.content, metadata=connector.metadata, origin=connector.origin)
        for file in batch
    ]
    with transaction.atomic():
        job = hold(lease=lease)
        last = Item.objects.filter(job=job).aggregate(last=Max("ordinal"))["last"]
        ordinal = 0 if last is None else last + 1
        for file, source, found in zip(batch, sources, find_problems(sources), strict=True):
            add_item(job=job, ordinal=ordinal, source=source, problem=file.problem or found)
            ordinal += 1
