"""Reading jobs; the numbers of a job with items are counted from them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Case, Count, Max, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Length

from core_app.errors import NotFound
from ingest_app.models import UNPACKED, Item, Job


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """A job with its counts and, where asked for, its items in the order they were sent.

    For a job without items the counts are of what it works on, such as chunks.
    """

    job: Job
    total: int
    done: int
    failed: int
    skipped: int
    cancelled: int
    #: Of those done, archives whose files are items themselves.
    unpacked: int = 0
    items: Sequence[Item] | None = None

    @property
    def ended(self) -> int:
        """Items with an outcome, whichever it is."""
        return self.done + self.failed + self.skipped + self.cancelled


def get_job(*, job_id: uuid.UUID) -> Job:
    """The job with its collection. Raises NotFound."""
    job = Job.objects.select_related("collection").filter(pk=job_id).first()
    if job is None:
        raise NotFound(f"Job '{job_id}' not found", code="job_not_found")
    return job


def report(*, job: Job, with_items: bool = True) -> JobReport:
    """A job's counts, and its items unless told otherwise."""
    counted = _counts(Job.objects.filter(pk=job.pk)).get()
    items = list(Item.objects.filter(job=job).order_by("ordinal")) if with_items else None
    return _report(counted, items)


def items_first(*, job: Job, limit: int, state: str = "") -> list[Item]:
    """What is worth looking at first: failures, then what runs, then the rest as it was sent; of one state if told."""
    first = Case(
        When(state=Item.State.FAILED, then=Value(0)), When(state=Item.State.RUNNING, then=Value(1)), default=Value(2)
    )
    items = Item.objects.filter(job=job, **({"state": state} if state else {}))
    return list(items.defer("metadata").order_by(first, "ordinal")[:limit])


def items_for_log(*, job: Job, limit: int) -> list[Item]:
    """Those that failed, then those that were tried more than once, then the rest as it was sent."""
    failed = Case(When(state=Item.State.FAILED, then=Value(0)), default=Value(1))
    again = Case(When(attempts__gt=1, then=Value(0)), default=Value(1))
    return list(Item.objects.filter(job=job).defer("metadata").order_by(failed, again, "ordinal")[:limit])


@dataclass(frozen=True, kw_only=True)
class ItemTotals:
    """How a job's items stand, without reading each of them here."""

    #: Items by state; a state that none is in is missing.
    by_state: Mapping[str, int]
    #: The same as long as no item has changed.
    version: str

    @property
    def total(self) -> int:
        return sum(self.by_state.values())


def item_totals(*, job: Job) -> ItemTotals:
    """Counted by the database in one statement."""
    found = Item.objects.filter(job=job).order_by().values("state")
    latest = {f"latest_{name}": Max(name) for name in ("started_at", "finished_at", "next_try_at")}
    summed = found.annotate(
        number=Count("pk"), tries=Sum("attempts"), stored=Sum("chunks"), said=Sum(Length("error")), **latest
    )
    rows = sorted(summed, key=lambda row: str(row["state"]))
    return ItemTotals(by_state={row["state"]: row["number"] for row in rows}, version=repr(rows))


def list_jobs(*, collections: Iterable[str] | None = None, kind: str | None = None) -> QuerySet[Job]:
    """Jobs, newest first; of these collections, of this kind only where they are named."""
    jobs = Job.objects.order_by("-created_at", "-id")
    if collections is not None:
        jobs = jobs.filter(collection__name__in=list(collections))
    return jobs if kind is None else jobs.filter(kind=kind)


def reports(jobs: QuerySet[Job]) -> list[JobReport]:
    """These jobs, newest first, with their counts and without items.

    Chosen first and counted afterwards: the items of a page are counted, not those of all jobs.
    """
    chosen = Job.objects.filter(pk__in=list(jobs.values_list("pk", flat=True)))
    return [_report(job, None) for job in _counts(chosen).order_by("-created_at", "-id")]


def _counts(jobs: QuerySet[Job]) -> QuerySet[Job]:
    def of(state: Item.State) -> Count:
        return Count("items", filter=Q(items__state=state))

    return jobs.select_related("collection").annotate(
        total_count=Count("items"),
        done_count=of(Item.State.SUCCEEDED),
        failed_count=of(Item.State.FAILED),
        skipped_count=of(Item.State.SKIPPED),
        cancelled_count=of(Item.State.CANCELLED),
        unpacked_count=Count("items", filter=Q(items__code=UNPACKED)),
    )


def _report(job: Job, items: Sequence[Item] | None) -> JobReport:
    if not job.has_items:
        return JobReport(job=job, items=items, total=job.total, done=job.done, failed=0, skipped=0, cancelled=0)
    names = ("total", "done", "failed", "skipped", "cancelled", "unpacked")
    counts = {name: int(getattr(job, f"{name}_count")) for name in names}
    return JobReport(job=job, items=items, **counts)
