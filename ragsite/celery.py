"""The Celery application. Messages carry ids only; what a job is and how far it came stands in Postgres."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")

app = Celery("ragsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    task_default_queue="default",
    task_routes={"ingest.reap_jobs": {"queue": "control"}},
    beat_schedule={
        "reap-jobs": {"task": "ingest.reap_jobs", "schedule": 10.0, "options": {"expires": 10}},
    },
    # Longer than any task holds a message: an early redelivery would only find the lease taken.
    broker_transport_options={"visibility_timeout": 6 * 3600},
    worker_hijack_root_logger=False,
)
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_: Any) -> None:
    """Django has set logging up already; a listener here keeps Celery from doing it again."""
