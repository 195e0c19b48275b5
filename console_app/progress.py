"""A job's state in words and numbers, as the pages show it while it runs and after."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_app.models import Item, Job
from ingest_app.selectors import JobReport

#: django-unfold's label variants.
TONES: dict[str, str] = {
    Job.State.QUEUED: "default",
    Job.State.RUNNING: "info",
    Job.State.SUCCEEDED: "success",
    Job.State.PARTIAL: "warning",
    Job.State.FAILED: "danger",
    Job.State.CANCELLED: "default",
    Item.State.SKIPPED: "default",
}

#: A page that is polled every second shows so many items at most.
ITEMS_SHOWN = 200


@dataclass(frozen=True, kw_only=True)
class Progress:
    """One job, ready to be shown."""

    job: Job
    #: 0 to 100; 100 for a job that has ended, whatever became of its items.
    percent: int
    ended: int
    total: int
    failed: int
    sentence: str
    tone: str

    @property
    def is_over(self) -> bool:
        return self.job.finished_at is not None


def progress_of(report: JobReport) -> Progress:
    """A report in words."""
    job = report.job
    percent = 100 if job.finished_at else int(100 * report.ended / max(1, report.total))
    return Progress(
        job=job,
        percent=percent,
        ended=report.ended,
        total=report.total,
        failed=report.failed,
        sentence=_sentence(report) if job.has_items else _sentence_without_items(job),
        tone=TONES[job.state],
    )


def _sentence_without_items(job: Job) -> str:
    if job.finished_at is None and job.cancel_requested:
        return "Stopping after the step in hand."
    by_state: dict[str, str] = {
        Job.State.QUEUED: "Waiting for a worker.",
        Job.State.RUNNING: job.step or "Beginning.",
        Job.State.FAILED: job.error,
        Job.State.CANCELLED: "Cancelled: nothing was deleted." if job.kind == Job.Kind.EMPTY else "Cancelled.",
    }
    return by_state.get(job.state) or _outcome(job)


def _outcome(job: Job) -> str:
    result = job.result or {}
    if job.kind == Job.Kind.EMPTY:
        return f"Chunks deleted: {result.get('count_deleted', 0):,}."
    if job.kind == Job.Kind.INDEX:
        return f"Vectors in the index: {result.get('indexed', 0):,}."
    if job.kind == Job.Kind.REWORD:
        return f"The language of the words: {result.get('language', '')}."
    return "The space of deleted rows was given back."


def _sentence_of_sync(report: JobReport) -> str:
    """A sync says what it found beside its files; while it reads, how far that is."""
    job, found = report.job, report.job.result or {}
    if job.state == Job.State.QUEUED and not report.total:
        return "Waiting for a worker."
    if job.finished_at is None or job.state == Job.State.CANCELLED:
        items = _sentence_of_items(report)
        return f"{job.step} {items}" if job.step and job.state == Job.State.RUNNING else items
    if job.error:
        return job.error
    if job.dry_run:
        kinds = {"new": "new", "changed": "changed", "archive": "archives to look into", "unchanged": "unchanged"}
        parts = [f"{found.get(kind, 0):,} {text}" for kind, text in kinds.items()]
        parts += [f"{found['adopted']:,} in the place of others"] if found.get("adopted") else []
        return f"Would find {', '.join(parts)}; {found.get('vanished', 0):,} gone. Nothing was changed."
    parts = [f"{report.done - report.unpacked:,} indexed"]
    parts += [f"{found.get('unchanged', 0) + report.skipped:,} unchanged"]
    parts += [opened_archives(report.unpacked)] if report.unpacked else []
    parts += [f"{report.failed:,} failed"] if report.failed else []
    parts += [f"{found.get('removed', 0):,} removed"] if found.get("removed") else []
    return f"{', '.join(parts)}."


def _sentence(report: JobReport) -> str:
    return _sentence_of_sync(report) if report.job.kind == Job.Kind.SYNC else _sentence_of_items(report)


def _sentence_of_items(report: JobReport) -> str:
    job = report.job
    if job.finished_at is None and job.cancel_requested:
        return "Stopping after the batch in hand."
    if job.state == Job.State.QUEUED and job.next_try_at is not None:
        return (
            f"{report.ended} of {files(report.total)} done; the rest is tried again at {job.next_try_at:%H:%M:%S} UTC."
        )
    if job.state == Job.State.QUEUED:
        return f"{files(report.total)} waiting for a worker."
    if job.state == Job.State.RUNNING:
        return f"{report.ended} of {files(report.total)} done."
    outcome = {
        "indexed": report.done - report.unpacked,
        "unchanged": report.skipped,
        "failed": report.failed,
        "cancelled": report.cancelled,
    }
    parts = [f"{count} {word}" for word, count in outcome.items() if count]
    parts += [opened_archives(report.unpacked)] if report.unpacked else []
    return f"{files(report.total)}: {', '.join(parts)}." if parts else f"{files(report.total)}."


def opened_archives(count: int) -> str:
    """How many archives were taken apart, in words."""
    return f"{count:,} {'archive' if count == 1 else 'archives'} opened"


def would_change(job: Job) -> dict[str, list[str]]:
    """The names that a dry run found, by what would become of them; the first of each kind."""
    names: dict[str, list[str]] = (job.result or {}).get("names", {}) if job.dry_run else {}
    called = {
        "new": "new",
        "changed": "changed",
        "adopted": "takes the place of another",
        "archive": "archives",
        "refused": "refused",
        "vanished": "gone",
    }
    return {text: names[kind] for kind, text in called.items() if names.get(kind)}


def files(count: int) -> str:
    """`1 file`, `2 files`."""
    return f"{count} file" if count == 1 else f"{count:,} files"


def fingerprint(report: JobReport) -> str:
    """The same as long as nothing that is shown of the job has changed."""
    job = report.job
    items = [(item.state, item.attempts, item.chunks, item.error) for item in report.items or ()]
    seen = repr((job.state, job.cancel_requested, job.finished_at, job.step, job.done, job.total, items))
    return hashlib.sha256(seen.encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class ItemGroup:
    """Items of one state, to choose what is listed."""

    state: str
    label: str
    count: int
    chosen: bool


def group_items(items: Sequence[Item], *, chosen: str) -> list[ItemGroup]:
    """All items and then each state that occurs, in the order of the states."""
    groups = [ItemGroup(state="", label="All", count=len(items), chosen=not chosen)]
    for state in Item.State:
        count = sum(item.state == state for item in items)
        if count or state == chosen:
            groups.append(ItemGroup(state=state.value, label=state.label, count=count, chosen=state == chosen))
    return groups


def items_to_show(items: Sequence[Item], *, chosen: str) -> list[Item]:
    """What is worth looking at first: failures, then what runs, then the rest as it was sent; cut to a page."""
    first = {Item.State.FAILED.value: 0, Item.State.RUNNING.value: 1}
    wanted = [item for item in items if not chosen or item.state == chosen]
    return sorted(wanted, key=lambda item: (first.get(item.state, 2), item.ordinal))[:ITEMS_SHOWN]
