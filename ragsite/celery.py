"""The Celery application. Messages carry ids only; what a job is and how far it came stands in Postgres."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import Token
from typing import Any
from urllib.parse import unquote

from celery import Celery, Task
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun
from django.conf import settings
from structlog.contextvars import bind_contextvars, get_contextvars, reset_contextvars

from access_app.acting import Door, acting
from ingest_app.schedule import (
    CONNECTORS_INTERVAL_SECONDS,
    PLAN_INTERVAL_SECONDS,
    PLAN_UPKEEP,
    REAP_INTERVAL_SECONDS,
    REAP_JOBS,
    RUN_CONNECTORS,
)
from search_app.schedule import FORGET_INTERVAL_SECONDS, FORGET_QUERIES
from stores_app.schedule import DELIVER_CHANGES, DELIVER_INTERVAL_SECONDS

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")


#: Beside Celery's own in the head of a message; those may be any word that Celery does not use.
REQUEST_ID_HEADER = "ragsite_request_id"
#: What held before each running task, to be put back after it.
_contexts: dict[str, Mapping[str, Token[Any]]] = {}
#: What running tasks change was done through these, for the audit log.
_doors: dict[str, AbstractContextManager[Any]] = {}


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
    task_routes={
        **{task: {"queue": "control"} for task in (REAP_JOBS, PLAN_UPKEEP, RUN_CONNECTORS, FORGET_QUERIES)},
        # Other systems may be slow, and nobody waits for them here.
        DELIVER_CHANGES: {"queue": "sync"},
    },
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
        "deliver-changes": {
            "task": DELIVER_CHANGES,
            "schedule": DELIVER_INTERVAL_SECONDS,
            "options": {"expires": DELIVER_INTERVAL_SECONDS},
        },
        "forget-queries": {
            "task": FORGET_QUERIES,
            "schedule": FORGET_INTERVAL_SECONDS,
            "options": {"expires": FORGET_INTERVAL_SECONDS},
        },
    },
    broker_transport_options=transport_options(settings.CELERY_BROKER_URL),
    worker_hijack_root_logger=False,
)
app.autodiscover_tasks()


@setup_logging.connect
def _keep_our_logging(**_: Any) -> None:
    """Django has set logging up already; a listener here keeps Celery from doing it again."""


@before_task_publish.connect
def _send_request_id(headers: dict[str, Any] | None = None, **_: Any) -> None:
    """A message carries the id of the request that caused it."""
    request_id = get_contextvars().get("request_id")
    if request_id and headers is not None:
        headers.setdefault(REQUEST_ID_HEADER, request_id)


@task_prerun.connect
def _begin_context(task_id: str, task: Task[..., Any], **_: Any) -> None:
    """The lines of a task carry its name and id, and that request's id."""
    known = {"task": task.name, "task_id": task_id}
    if request_id := task.request.get(REQUEST_ID_HEADER):
        known["request_id"] = str(request_id)
    _contexts[task_id] = bind_contextvars(**known)
    _doors[task_id] = acting(door=Door.TASK, name=task.name)
    _doors[task_id].__enter__()


@task_postrun.connect
def _end_context(task_id: str, **_: Any) -> None:
    """Whatever is logged between tasks belongs to none."""
    if (door := _doors.pop(task_id, None)) is not None:
        door.__exit__(None, None, None)
    if (before := _contexts.pop(task_id, None)) is not None:
        reset_contextvars(**before)
