"""The request's id goes from the web server through the message into the lines of the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from celery.app.trace import build_tracer
from celery.contrib.testing.app import TestApp
from structlog.contextvars import bound_contextvars, clear_contextvars, get_contextvars

from ragsite.celery import REQUEST_ID_HEADER

#: A Celery of its own, whose messages stay in this process.
app = TestApp("task-context", set_as_current=False, broker="memory://task-context")
app.conf.task_default_queue = "task-context"
SEEN: list[dict[str, Any]] = []


@app.task(name="task-context.look", ignore_result=True, shared=False)
def look() -> None:
    SEEN.append(dict(get_contextvars()))


@app.task(name="task-context.fail", ignore_result=True, shared=False)
def fail() -> None:
    raise RuntimeError("as it may")


@app.task(name="task-context.hand_on", ignore_result=True, shared=False)
def hand_on() -> None:
    look.delay()


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    SEEN.clear()
    clear_contextvars()
    yield
    clear_contextvars()


def work_off() -> dict[str, Any]:
    """Take one message and run its task as a worker does; returns the message's head."""
    with app.connection_for_read() as connection, connection.SimpleQueue("task-context") as queue:
        message = queue.get(block=False)
        message.ack()
    headers: dict[str, Any] = message.headers
    task = app.tasks[headers["task"]]
    tracer: Callable[..., Any] = build_tracer(task.name, task, app=app)
    tracer(headers["id"], (), {}, request=headers)
    return headers


def test_it_goes_with_the_message() -> None:
    with bound_contextvars(request_id="r-17"):
        look.delay()
    headers = work_off()
    assert [{"request_id": "r-17", "task": look.name, "task_id": headers["id"]}] == SEEN


def test_a_task_that_nobody_asked_for_has_none() -> None:
    look.delay()
    headers = work_off()
    assert REQUEST_ID_HEADER not in headers
    assert [{"task": look.name, "task_id": headers["id"]}] == SEEN


@pytest.mark.parametrize("name", [look.name, fail.name])
def test_it_ends_with_the_task(name: str) -> None:
    with bound_contextvars(request_id="r-17"):
        app.tasks[name].delay()
    with bound_contextvars(request_id="another"):
        work_off()
        assert get_contextvars() == {"request_id": "another"}
    assert get_contextvars() == {}


def test_a_task_that_sends_another_hands_it_on() -> None:
    with bound_contextvars(request_id="r-17"):
        hand_on.delay()
    work_off()
    work_off()
    assert SEEN[0]["request_id"] == "r-17"
