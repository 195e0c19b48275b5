"""Reading jobs; every number is counted from the items."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from core_app.errors import NotFound
from ingest_app.models import Item, Job


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """A job with its counts and, where asked for, its items in the order they were sent."""

    job: Job
    total: int
    done: int
    failed: int
    skipped: int
    cancelled: int
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


def list_jobs(*, collections: Iterable[str] | None = None) -> QuerySet[Job]:
    """Jobs, newest first, with their counts annotated; of these collections only where they are named."""
    jobs = Job.objects.select_related("collection")
    if collections is not None:
        jobs = jobs.filter(collection__name__in=list(collections))
    return _counts(jobs).order_by("-created_at", "-id")


def reports(jobs: Iterable[Job]) -> list[JobReport]:
    """Counted jobs as reports without items."""
    return [_report(job, None) for job in jobs]


def _counts(jobs: QuerySet[Job]) -> QuerySet[Job]:
    def of(state: Item.State) -> Count:
        return Count("items", filter=Q(items__state=state))

    return jobs.select_related("collection").annotate(
        total_count=Count("items"),
        done_count=of(Item.State.SUCCEEDED),
        failed_count=of(Item.State.FAILED),
        skipped_count=of(Item.State.SKIPPED),
        cancelled_count=of(Item.State.CANCELLED),
    )


def _report(job: Job, items: Sequence[Item] | None) -> JobReport:
    counts = {name: int(getattr(job, f"{name}_count")) for name in ("total", "done", "failed", "skipped", "cancelled")}
    return JobReport(job=job, items=items, **counts)
