"""How the broker, the workers and the scheduler do, and how long jobs wait. The broker is asked for a bounded time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from celery import current_app
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from core_app.health import Check, State
from core_app.sql import statement
from ingest_app.dispatching import QUEUES
from ingest_app.models import Job
from ingest_app.schedule import PLAN_INTERVAL_SECONDS, PLAN_UPKEEP

logger = logging.getLogger(__name__)

Found = TypeVar("Found")

#: How long a worker has to answer. One that is at work answers when its batch has ended.
ANSWER_SECONDS = 1.0
#: Nobody waits longer for the broker, whatever its client does.
MOST_SECONDS = 6.0
#: A job that waits longer is worth a look.
LONG_WAIT_SECONDS = 300.0

DOCS = "operations.md#what-runs"
RESTART = gettext_noop("Start the server again: its supervisor starts each process that it lacks.")


@dataclass(frozen=True, kw_only=True)
class Queue:
    """Jobs that could be worked on now."""

    waiting: int
    #: Of the oldest of those; 0 where there is none.
    waiting_seconds: float
    running: int


def queue() -> Queue:
    """Counted in the table of jobs. Raises what Django raises when the database does not work."""
    with connection.cursor() as cursor:
        cursor.execute(statement("ingest_app", "queue_age"))
        waiting, seconds, running = cursor.fetchone() or (0, None, 0)
    return Queue(waiting=waiting, waiting_seconds=max(0.0, seconds or 0.0), running=running)


def check_queue() -> Check:
    """How long jobs wait."""
    part = "queue"
    try:
        found = queue()
    except (DatabaseError, InterfaceError):
        return Check(part=part, state=State.UNKNOWN, says=_("The database cannot be reached."), docs=DOCS)
    counts = {"running": _number(found.running), "waiting": _number(found.waiting)}
    if found.waiting:
        says = _("Jobs at work: %(running)s; waiting: %(waiting)s, the oldest for %(time)s.") % {
            **counts,
            "time": _minutes(found.waiting_seconds),
        }
    else:
        says = _("Jobs at work: %(running)s; waiting: %(waiting)s.") % counts
    if found.waiting_seconds <= LONG_WAIT_SECONDS:
        return Check(part=part, state=State.GOOD, says=says, docs=DOCS)
    cure = _("One job of a kind runs at a time.")
    if not found.running:
        cure = _("No worker takes them. %(cure)s") % {"cure": _(RESTART)}
    return Check(part=part, state=State.DEGRADED if found.running else State.BAD, says=says, cure=cure, docs=DOCS)


def check_broker_and_workers() -> list[Check]:
    """The broker, the workers and the scheduler. Takes about a second, and never more than a few."""
    if not _bounded(_reach_broker):
        cure = _("See ConnectionStrings:Broker. Jobs are kept in the database and go on once it is back.")
        unknown = _("The broker cannot be reached, so they cannot be asked.")
        return [
            Check(part="broker", state=State.BAD, says=_("It cannot be reached."), cure=cure, docs=DOCS),
            Check(part="workers", state=State.UNKNOWN, says=unknown, docs=DOCS),
            Check(part="beat", state=State.UNKNOWN, says=unknown, docs=DOCS),
        ]
    broker = Check(part="broker", state=State.GOOD, says=_("It takes messages."), docs=DOCS)
    # Both at once: each waits for the whole time in which a worker may answer.
    since, counted = time.monotonic(), _Asked(_planned)
    queues = _bounded(_queues_served) or {}
    return [broker, _workers(queues), _beat(queues.get("control", ()), counted.answer() or {}, since)]


def _workers(queues: Mapping[str, Sequence[str]]) -> Check:
    part = "workers"
    busy = _queues_at_work() - set(queues)
    missing = sorted(set(QUEUES.values()) - set(queues) - busy)
    if not missing:
        names = {"queues": ", ".join(sorted(set(QUEUES.values()))), "busy": ", ".join(sorted(busy))}
        if busy:
            says = _("All queues are served: %(queues)s. At work, so that they answer later: %(busy)s.") % names
        else:
            says = _("All queues are served: %(queues)s.") % names
        return Check(part=part, state=State.GOOD, says=says, docs=DOCS)
    says = _("No worker answers for: %(queues)s.") % {"queues": ", ".join(missing)}
    command = f"celery -A ragsite worker --pool solo -Q {','.join(missing)}"
    return Check(part=part, state=State.BAD, says=says, cure=_(RESTART), command=command, docs=DOCS)


def _beat(workers: Sequence[str], before: Mapping[str, int], since: float) -> Check:
    """What beat sends reaches the workers of the queue `control` twice a second: the counts of `since` must move."""
    part = "beat"
    known = [worker for worker in workers if worker in before]
    if not known:
        says = _("The worker of the queue control, which would know, does not answer.")
        return Check(part=part, state=State.UNKNOWN, says=says, docs=DOCS)
    time.sleep(max(0.0, 2 * PLAN_INTERVAL_SECONDS - (time.monotonic() - since)))
    # Those that have answered once: nobody is waited for longer than until they do.
    after = _bounded(partial(_planned, known)) or {}
    if any(after.get(worker, before[worker]) != before[worker] for worker in known):
        return Check(part=part, state=State.GOOD, says=_("What it sends arrives."), docs=DOCS)
    return Check(
        part=part,
        state=State.BAD,
        says=_("Nothing arrives of what it should send: connectors are not read on time, and lost jobs not taken up."),
        cure=_(RESTART),
        command="celery -A ragsite beat",
        docs=DOCS,
    )


def _reach_broker() -> bool:
    with current_app.connection_for_read(connect_timeout=2) as broker:
        broker.ensure_connection(max_retries=1, timeout=2)
    return True


def _queues_served() -> dict[str, list[str]]:
    """The queues that somebody serves, by name, with the workers that answered."""
    answers: Mapping[str, list[Mapping[str, Any]]] | None = _inspect().active_queues()
    found: dict[str, list[str]] = {}
    for worker, all_served in (answers or {}).items():
        for served in all_served:
            found.setdefault(str(served["name"]), []).append(worker)
    return found


def _queues_at_work() -> set[str]:
    """Those whose workers hold a job: while a worker works it answers nobody."""
    try:
        held = Job.objects.filter(finished_at__isnull=True, lease_expires_at__gte=timezone.now())
        return {QUEUES[kind] for kind in held.values_list("kind", flat=True)}
    except (DatabaseError, InterfaceError):
        return set()


def _planned(workers: Sequence[str] = ()) -> dict[str, int]:
    """How often each worker has planned upkeep since it began, which beat asks it to do; all, unless some are named."""
    answers: Mapping[str, Mapping[str, Any]] | None = _inspect(workers).stats()
    return {name: int(answer.get("total", {}).get(PLAN_UPKEEP, 0)) for name, answer in (answers or {}).items()}


def _inspect(workers: Sequence[str] = ()) -> Any:
    """Asks all workers, for the whole time that one may take; or these alone, until each has answered."""
    asked = list(workers) or None
    return current_app.control.inspect(destination=asked, timeout=ANSWER_SECONDS, limit=len(workers) or None)


class _Asked(Generic[Found]):
    """Something that is asked beside the caller."""

    def __init__(self, work: Callable[[], Found]) -> None:
        self._work = work
        self._found: list[Found] = []
        self._thread = threading.Thread(target=self._run, name="broker-check", daemon=True)
        self._thread.start()

    def answer(self) -> Found | None:
        """What it gives, or None where it fails or takes too long: a client may wait for a broker for ever."""
        self._thread.join(MOST_SECONDS)
        return self._found[0] if self._found else None

    def _run(self) -> None:
        try:
            self._found.append(self._work())
        except Exception:
            logger.warning("the broker could not be asked", exc_info=True)


def _bounded(work: Callable[[], Found]) -> Found | None:
    return _Asked(work).answer()


def _minutes(seconds: float) -> str:
    if seconds < 120:
        count = round(seconds)
        return ngettext("%(count)s second", "%(count)s seconds", count) % {"count": count}
    count = round(seconds / 60)
    return ngettext("%(count)s minute", "%(count)s minutes", count) % {"count": _number(count)}


def _number(count: int) -> str:
    return number_format(count, force_grouping=True)
