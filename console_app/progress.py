"""A job's state in words and numbers, as the pages show it while it runs and after."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from console_app.templatetags.console import thousands
from ingest_app.models import Item, Job
from ingest_app.move_jobs import HERE
from ingest_app.selectors import ItemTotals, JobReport

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
        return _("Stopping after the step in hand.")
    by_state: dict[str, str] = {
        Job.State.QUEUED: _("Waiting for a worker."),
        Job.State.RUNNING: job.step or _("Beginning."),
        Job.State.FAILED: job.error,
        Job.State.CANCELLED: _cancelled_whole(job),
    }
    return by_state.get(job.state) or _outcome(job)


def _cancelled_whole(job: Job) -> str:
    if job.kind == Job.Kind.EMPTY:
        return _("Cancelled: nothing was deleted.")
    if job.kind == Job.Kind.COPY:
        return _("Cancelled: nothing is left of the copy.")
    if job.kind == Job.Kind.MOVE:
        return _("Cancelled: the collection is searched where it was.")
    if job.kind == Job.Kind.IMPORT:
        stored = (job.result or {}).get("stored", 0)
        return _("Cancelled. Chunks that were stored by then, and stay: %(count)s.") % {"count": thousands(stored)}
    return _("Cancelled.")


def _first_refusal(result: Mapping[str, Any]) -> str:
    """Of chunks that an import could not hold: which, and why, in the words of whoever refused it."""
    refusals = result.get("refusals") or []
    return f" \u2068{refusals[0]['id']}: {refusals[0]['reason']}\u2069" if refusals else ""


def _outcome(job: Job) -> str:
    result = job.result or {}
    if job.kind == Job.Kind.COPY:
        # Isolated, whatever way its letters run.
        name = f"\u2068{(job.options or {}).get('name', '')}\u2069"
        values = {"count": thousands(result.get("chunks", 0)), "name": name}
        return _("The copy is called '%(name)s'. Its chunks: %(count)s.") % values
    if job.is_fetch:
        counts = ("stored", "unchanged", "refused")
        return _(
            "Chunks stored: %(stored)s; there already: %(unchanged)s; not stored, because they cannot be held here: "
            "%(refused)s. What is here was compared with what is there."
        ) % {word: thousands(result.get(word, 0)) for word in counts} + _first_refusal(result)
    if job.kind == Job.Kind.IMPORT:
        words = ("stored", "unchanged", "removed", "documents")
        return _(
            "Chunks stored: %(stored)s; there already: %(unchanged)s; removed: %(removed)s. Documents in the file: "
            "%(documents)s."
        ) % {word: thousands(result.get(word, 0)) for word in words}
    if job.kind == Job.Kind.MOVE:
        service = result.get("service", "")
        if service == HERE:
            return _("The collection is searched by this server.")
        values = {"count": thousands(result.get("chunks", 0)), "service": f"\u2068{service}\u2069"}
        return _("The collection is searched at '%(service)s'. Chunks compared: %(count)s.") % values
    if job.kind == Job.Kind.EMPTY:
        return _("Chunks deleted: %(count)s.") % {"count": thousands(result.get("count_deleted", 0))}
    if job.kind == Job.Kind.INDEX:
        return _("Vectors in the index: %(count)s.") % {"count": thousands(result.get("indexed", 0))}
    if job.kind == Job.Kind.REWORD:
        return _("The language of the words: %(language)s.") % {"language": result.get("language", "")}
    return _("The space of deleted rows was given back.")


def _sentence_of_sync(report: JobReport) -> str:
    """A sync says what it found beside its files; while it reads, how far that is."""
    job, found = report.job, report.job.result or {}
    if job.state == Job.State.QUEUED and not report.total:
        return _("Waiting for a worker.")
    if job.finished_at is None or job.state == Job.State.CANCELLED:
        items = _sentence_of_items(report)
        return f"{job.step} {items}" if job.step and job.state == Job.State.RUNNING else items
    if job.error:
        return job.error
    if job.dry_run:
        return _would_find(found)
    parts = [_indexed(report.done - report.unpacked)]
    parts += [_unchanged(found.get("unchanged", 0) + report.skipped)]
    parts += [opened_archives(report.unpacked)] if report.unpacked else []
    parts += [_failed(report.failed)] if report.failed else []
    removed = found.get("removed", 0)
    parts += [_counted(ngettext("%(count)s removed", "%(count)s removed", removed), removed)] if removed else []
    return _("%(outcome)s.") % {"outcome": _listed(parts)}


def _would_find(found: Mapping[str, int]) -> str:
    """What a dry run found, each kind with its number."""
    count = {kind: found.get(kind, 0) for kind in ("new", "changed", "archive", "unchanged", "adopted", "vanished")}
    parts = [
        _counted(ngettext("%(count)s new", "%(count)s new", count["new"]), count["new"]),
        _counted(ngettext("%(count)s changed", "%(count)s changed", count["changed"]), count["changed"]),
        _counted(
            ngettext("%(count)s archive to look into", "%(count)s archives to look into", count["archive"]),
            count["archive"],
        ),
        _unchanged(count["unchanged"]),
    ]
    if count["adopted"]:
        words = ngettext("%(count)s in the place of another", "%(count)s in the place of others", count["adopted"])
        parts.append(_counted(words, count["adopted"]))
    gone = _counted(ngettext("%(count)s gone", "%(count)s gone", count["vanished"]), count["vanished"])
    return _("Would find %(found)s; %(gone)s. Nothing was changed.") % {"found": _listed(parts), "gone": gone}


def _sentence(report: JobReport) -> str:
    return _sentence_of_sync(report) if report.job.kind == Job.Kind.SYNC else _sentence_of_items(report)


def _sentence_of_items(report: JobReport) -> str:
    job = report.job
    if job.finished_at is None and job.cancel_requested:
        return _("Stopping after the batch in hand.")
    if job.state in {Job.State.QUEUED, Job.State.RUNNING}:
        return _sentence_of_waiting(report)
    parts = [
        (_indexed, report.done - report.unpacked),
        (_unchanged, report.skipped),
        (_failed, report.failed),
        (_cancelled, report.cancelled),
        (opened_archives, report.unpacked),
    ]
    outcome = [words(count) for words, count in parts if count]
    if not outcome:
        return _("%(files)s.") % {"files": files(report.total)}
    return _("%(files)s: %(outcome)s.") % {"files": files(report.total), "outcome": _listed(outcome)}


def _sentence_of_waiting(report: JobReport) -> str:
    """A job that has not ended."""
    job, total = report.job, report.total
    values = {"ended": thousands(report.ended), "total": thousands(total)}
    if job.state == Job.State.RUNNING:
        return ngettext("%(ended)s of %(total)s file done.", "%(ended)s of %(total)s files done.", total) % values
    if job.next_try_at is None:
        words = ngettext("%(total)s file waiting for a worker.", "%(total)s files waiting for a worker.", total)
        return words % values
    at = timezone.localtime(job.next_try_at)
    words = ngettext(
        "%(ended)s of %(total)s file done; the rest is tried again at %(time)s %(zone)s.",
        "%(ended)s of %(total)s files done; the rest is tried again at %(time)s %(zone)s.",
        total,
    )
    return words % {**values, "time": f"{at:%H:%M:%S}", "zone": at.tzname()}


def _listed(parts: Sequence[str]) -> str:
    return pgettext("between the parts of a list", ", ").join(parts)


def _counted(words: str, count: int) -> str:
    return words % {"count": thousands(count)}


def _indexed(count: int) -> str:
    return _counted(ngettext("%(count)s indexed", "%(count)s indexed", count), count)


def _unchanged(count: int) -> str:
    return _counted(ngettext("%(count)s unchanged", "%(count)s unchanged", count), count)


def _failed(count: int) -> str:
    return _counted(ngettext("%(count)s failed", "%(count)s failed", count), count)


def _cancelled(count: int) -> str:
    return _counted(ngettext("%(count)s cancelled", "%(count)s cancelled", count), count)


def opened_archives(count: int) -> str:
    """How many archives were taken apart, in words."""
    return _counted(ngettext("%(count)s archive opened", "%(count)s archives opened", count), count)


def would_change(job: Job) -> dict[str, list[str]]:
    """The names that a dry run found, by what would become of them; the first of each kind."""
    names: dict[str, list[str]] = (job.result or {}).get("names", {}) if job.dry_run else {}
    called = {
        "new": _("new"),
        "changed": _("changed"),
        "adopted": _("takes the place of another"),
        "archive": _("archives"),
        "refused": _("refused"),
        "vanished": _("gone"),
    }
    return {text: names[kind] for kind, text in called.items() if names.get(kind)}


def files(count: int) -> str:
    """`1 file`, `2 files`."""
    return _counted(ngettext("%(count)s file", "%(count)s files", count), count)


def fingerprint(report: JobReport, items: ItemTotals) -> str:
    """The same as long as nothing that is shown of the job has changed."""
    job = report.job
    seen = repr((job.state, job.cancel_requested, job.finished_at, job.step, job.done, job.total, items.version))
    return hashlib.sha256(seen.encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class ItemGroup:
    """Items of one state, to choose what is listed."""

    state: str
    label: str
    count: int
    chosen: bool


def group_items(items: ItemTotals, *, chosen: str) -> list[ItemGroup]:
    """All items and then each state that occurs, in the order of the states."""
    groups = [ItemGroup(state="", label=_("All"), count=items.total, chosen=not chosen)]
    for state in Item.State:
        count = items.by_state.get(state.value, 0)
        if count or state == chosen:
            groups.append(ItemGroup(state=state.value, label=str(state.label), count=count, chosen=state == chosen))
    return groups
