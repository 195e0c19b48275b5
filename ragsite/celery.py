"""The Celery application. Messages carry ids only; what a job is and how far it came stands in Postgres."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings

from ingest_app.schedule import (
    CONNECTORS_INTERVAL_SECONDS,
    PLAN_INTERVAL_SECONDS,
    PLAN_UPKEEP,
    REAP_INTERVAL_SECONDS,
    REAP_JOBS,
    RUN_CONNECTORS,
)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")


def transport_options(broker_url: str) -> dict[str, Any]:
    """What the kind of broker needs to be told besides its address."""
    kind, _, path = broker_url.partition("://")
    if kind == "filesystem":
        folder = unquote(path)
        messages = f"{folder}/messages"
        return {"data_folder_in": messages, "data_folder_out": messages, "control_folder": f"{folder}/control"}
    # Longer than any task holds a message: an early redelivery would only find the lease taken.
    return {"visibility_timeout": 6 * 3600}


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
    task_routes={task: {"queue": "control"} for task in (REAP_JOBS, PLAN_UPKEEP, RUN_CONNECTORS)},
    beat_schedule={
        "reap-jobs": {
            "task": REAP_JOBS,
            "schedule": REAP_INTERVAL_SECONDS,
            "options": {"expires": REAP_INTERVAL_SECONDS},
        },
        "plan-upkeep": {
            "task": PLAN_UPKEEP,
            "schedule": PLAN_INTERVAL_SECONDS,
            "options": {"expires": PLAN_INTERVAL_SECONDS},
        },
        # What is due, and how often, stands in the connectors' rows.
        "run-connectors": {
            "task": RUN_CONNECTORS,
            "schedule": CONNECTORS_INTERVAL_SECONDS,
            "options": {"expires": CONNECTORS_INTERVAL_SECONDS},
        },
    },
    broker_transport_options=transport_options(settings.CELERY_BROKER_URL),
    worker_hijack_root_logger=False,
)
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_: Any) -> None:
    """Django has set logging up already; a listener here keeps Celery from doing it again."""
