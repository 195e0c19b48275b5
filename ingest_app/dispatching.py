"""Asking for a job, and telling workers that it waits: which queue each kind of job goes to."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from ingest_app.models import Job

logger = logging.getLogger(__name__)

RUN_JOB = "ingest.run_job"

#: Somebody waits for an emptying, so it never stands behind files; a long index build holds up neither, nor do places
#: that are slow to read.
QUEUES: Mapping[str, str] = MappingProxyType(
    {
        Job.Kind.INGEST: "default",
        Job.Kind.SYNC: "sync",
        Job.Kind.RECHUNK: "default",
        Job.Kind.REWORD: "maintenance",
        Job.Kind.EMPTY: "control",
        Job.Kind.INDEX: "maintenance",
        Job.Kind.RECLAIM: "maintenance",
        Job.Kind.IMPORT: "default",
        Job.Kind.COPY: "default",
        # Other systems may be slow.
        Job.Kind.MOVE: "sync",
    }
)


def request(*, job: Job) -> bool:
    """Add a job, and tell a worker once it is committed; False where one like it is on its way already.

    What counts as one like it is a constraint of the table. Raises the database's IntegrityError where what the job is
    for was deleted.
    """
    with transaction.atomic():
        Job.objects.bulk_create([job], ignore_conflicts=True)
        added = Job.objects.filter(pk=job.pk).exists()
        if added:
            transaction.on_commit(partial(dispatch, job_id=str(job.pk), kind=job.kind))
    return added


def dispatch(*, job_id: str, kind: str, expires_seconds: float | None = None) -> None:
    """Tell a worker that a job is waiting. A lost message costs time, nothing else: the reaper repeats it."""
    try:
        current_app.send_task(RUN_JOB, args=[job_id], queue=QUEUES[kind], expires=expires_seconds, retry=False)
    except (OperationalError, OSError):
        logger.warning("the broker cannot be reached; job %s waits for the next round", job_id, exc_info=True)
    else:
        logger.info("job %s sent to a worker", job_id)
