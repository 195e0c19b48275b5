"""What happened to a job and when, as its rows tell."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils import timezone
from django.utils.translation import gettext as _

from ingest_app.models import UNPACKED, Item, Job

#: A job of more files tells of those that failed or were tried more than once, and then of the first others.
MOST_EVENTS = 200

_ENDED: dict[str, str] = {
    Item.State.SUCCEEDED: "indexed",
    Item.State.SKIPPED: "unchanged",
    Item.State.FAILED: "failed",
    Item.State.CANCELLED: "cancelled",
}


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line of a job's log."""

    #: None where it is known to have happened, but not when.
    at: datetime.datetime | None
    says: str
    #: The file it is about; empty where it is about the job.
    source: str = ""
    is_failure: bool = False


def history(*, job: Job, items: Sequence[Item]) -> list[Event]:
    """In the order of time; what has no time stands after what surely came before it."""
    return [*_beginning(job), *_of_items(items), *_end(job)]


def _beginning(job: Job) -> Iterator[Event]:
    yield Event(at=job.created_at, says=_("Created."))
    if job.attempts > 1:
        yield Event(
            at=None, says=_("Begun %(count)s times: the earlier attempts were cut off.") % {"count": job.attempts}
        )
    if job.started_at is not None:
        yield Event(at=job.started_at, says=_("A worker began."))


def _end(job: Job) -> Iterator[Event]:
    if job.finished_at is None:
        if job.cancel_requested:
            yield Event(at=None, says=_("Somebody asked it to stop."))
        if job.next_try_at is not None and job.next_try_at > timezone.now():
            yield Event(at=job.next_try_at, says=_("Will be tried again."))
        elif job.state == Job.State.RUNNING and job.heartbeat_at is not None:
            yield Event(at=job.heartbeat_at, says=_("Last sign of life of its worker."))
        return
    says = _("Ended: %(state)s.") % {"state": job.get_state_display().lower()}
    if job.error:
        says = f"{says} {job.error}"
    yield Event(at=job.finished_at, says=says, is_failure=job.state == Job.State.FAILED)


def _of_items(items: Sequence[Item]) -> list[Event]:
    chosen = sorted(items, key=lambda item: (item.state != Item.State.FAILED, item.attempts <= 1, item.ordinal))
    ended = [item for item in chosen[:MOST_EVENTS] if item.state in _ENDED or item.started_at or item.next_try_at]
    events = [event for item in ended for event in _of_item(item)]
    late = datetime.datetime.max.replace(tzinfo=datetime.UTC)
    return sorted(events, key=lambda event: event.at or late)


def _of_item(item: Item) -> Iterator[Event]:
    if item.started_at is not None:
        tries = f", attempt {item.attempts}" if item.attempts > 1 else ""
        yield Event(at=item.started_at, says=f"Begun{tries}.", source=item.source)
    if item.state not in _ENDED and item.next_try_at is None:
        return
    if item.state not in _ENDED:
        yield Event(at=item.next_try_at, says=_("Will be tried again."), source=item.source, is_failure=True)
        return
    word = "taken apart" if item.code == UNPACKED else _ENDED[item.state]
    tries = f", at attempt {item.attempts}" if item.attempts > 1 else ""
    failed = item.state == Item.State.FAILED
    says = f"{word.capitalize()}{tries}."
    says = f"{says} {item.error}" if failed else says
    yield Event(at=item.finished_at, says=says, source=item.source, is_failure=failed)
