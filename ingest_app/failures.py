"""What failed last, whole jobs and single files, each with what helps."""

from __future__ import annotations

from dataclasses import dataclass

from access_app.patterns import named
from access_app.reach import EVERYTHING
from ingest_app.cures import cure_of
from ingest_app.models import Item, Job

#: Failures are looked for in so many of the newest jobs.
JOBS_LOOKED_AT = 100


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One of them."""

    job: Job
    #: The file; empty where the job failed as a whole.
    source: str
    error: str
    code: str

    @property
    def cure(self) -> str:
        """What to do about it."""
        return cure_of(self.code)


def newest_failures(*, limit: int, patterns: frozenset[str] = EVERYTHING) -> list[Failure]:
    """Of the newest jobs of collections whose names fit a pattern, newest first; three bounded statements.

    The files of a job stand in the order they were sent.
    """
    reached = Job.objects.filter(named("collection__name", sorted(patterns)))
    newest = reached.select_related("collection").order_by("-created_at", "-id")[:JOBS_LOOKED_AT]
    jobs = {job.pk: job for job in newest}
    items = Item.objects.filter(job__in=list(jobs), state=Item.State.FAILED).defer("metadata")
    by_job: dict[object, list[Item]] = {}
    for item in items.order_by("-job__created_at", "-job_id", "ordinal")[:limit]:
        by_job.setdefault(item.job_id, []).append(item)
    found: list[Failure] = []
    for key, job in jobs.items():
        if job.state == Job.State.FAILED and job.error:
            found.append(Failure(job=job, source="", error=job.error, code=job.code))
        found += [
            Failure(job=job, source=item.source, error=item.error, code=item.code) for item in by_job.get(key, ())
        ]
    return found[:limit]
