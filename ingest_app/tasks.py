"""Celery's door to the jobs. Arguments are ids; whatever else a task needs stands in Postgres."""

from __future__ import annotations

import threading
import uuid
from typing import Any

from celery import shared_task
from celery.signals import worker_shutting_down
from django.db import close_old_connections

from ingest_app import connectors, work
from ingest_app.dispatching import RUN_JOB
from ingest_app.planning import Planner
from ingest_app.schedule import PLAN_UPKEEP, REAP_INTERVAL_SECONDS, REAP_JOBS, RUN_CONNECTORS

_stopping = threading.Event()
_planner = Planner()


@worker_shutting_down.connect
def _stop(**_: Any) -> None:
    """A worker that was asked to end gives its job back after the batch in hand."""
    _stopping.set()


@shared_task(name=RUN_JOB)
def run_job(job_id: str, **_: Any) -> None:
    """Work off one job, if nobody else does."""
    close_old_connections()
    work.run_job(job_id=uuid.UUID(job_id), stopping=_stopping.is_set)


@shared_task(name=REAP_JOBS)
def reap_jobs(**_: Any) -> None:
    """Announce jobs that wait and that nobody works on."""
    close_old_connections()
    work.reap(interval_seconds=REAP_INTERVAL_SECONDS)


@shared_task(name=PLAN_UPKEEP)
def plan_upkeep(**_: Any) -> None:
    """Plan the upkeep of what has changed."""
    close_old_connections()
    _planner.plan()


@shared_task(name=RUN_CONNECTORS)
def run_connectors(**_: Any) -> None:
    """Queue the reading of connectors that are due."""
    close_old_connections()
    connectors.run_due()
