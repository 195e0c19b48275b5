"""Jobs on the command line: a progress bar until they end, Ctrl-C cancels, and a table of what failed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tqdm import tqdm

from core_app.names import printable
from core_app.wiring import app_settings
from ingest_app.comparing import Outcome
from ingest_app.models import UNPACKED, Item, Job
from ingest_app.selectors import JobReport, get_job, report
from ingest_app.steering import cancel_job
from ingest_app.submitting import Source, submit

_GOOD = (Item.State.SUCCEEDED, Item.State.SKIPPED)
POLL_SECONDS = 0.5
#: A name in the table of failures; the end of a path says more than its beginning.
NAME_WIDTH = 48
#: Bytes of files sent as one job, so that neither this process nor the database holds all of a folder at once.
JOB_BYTES = 64 * 1024 * 1024


@dataclass(kw_only=True)
class Tally:
    """What came of one job or several."""

    indexed: int = 0
    chunks: int = 0
    unchanged: int = 0
    cancelled: int = 0
    #: Source, code and sentence of each failure.
    failures: list[tuple[str, str, str]] = field(default_factory=list)
    #: What became of each file, the files of archives among them.
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def complaint(self) -> str:
        """Why the command ends with an error; empty where all was done."""
        if self.cancelled:
            return "Cancelled before all was done."
        return "Not all could be indexed." if self.failures else ""

    def add(self, found: JobReport) -> None:
        """Count a job's items; an archive that was taken apart is none of its files."""
        for item in found.items or ():
            self.outcomes.append(Outcome(source=item.source, failed=item.state not in _GOOD))
            if item.state == Item.State.SUCCEEDED and item.code != UNPACKED:
                self.indexed += 1
                self.chunks += item.chunks
            elif item.state == Item.State.FAILED:
                self.failures.append((item.source, item.code, item.error))
        self.unchanged += found.skipped
        self.cancelled += found.cancelled

    def sentence(self) -> str:
        """The counts in words."""
        parts = [f"{self.indexed:,} indexed ({self.chunks:,} chunks)", f"{self.unchanged:,} unchanged"]
        parts.append(f"{len(self.failures):,} failed")
        if self.cancelled:
            parts.append(f"{self.cancelled:,} cancelled")
        return ", ".join(parts)

    def table(self) -> Iterator[str]:
        """A line for each failure: which file, the code, what to do."""
        if not self.failures:
            return
        code_width = max(len(code) for _, code, _ in self.failures)
        for source, code, sentence in self.failures:
            name = printable(source)
            name = name if len(name) <= NAME_WIDTH else "…" + name[1 - NAME_WIDTH :]
            yield f"{name:<{NAME_WIDTH}}  {code:<{code_width}}  {printable(sentence)}"


def index_all(*, collection: str, sources: Iterable[Source], label: str) -> Tally:
    """Send sources as jobs of bearable size, one after the other, and watch each to its end.

    A cancelled job is the last one. Raises what `submit` raises.
    """
    tally = Tally()
    for batch in _batches(sources):
        found = watch(job=submit(collection_name=collection, sources=batch, refuse_unsupported=False), label=label)
        tally.add(found)
        if found.job.state == Job.State.CANCELLED:
            break
    return tally


def watch(*, job: Job, label: str, unit: str = "file") -> JobReport:
    """Show the job's progress until it has ended; an interrupt asks it to stop and waits for that."""
    found = report(job=job, with_items=False)
    with tqdm(total=found.total, desc=label, unit=unit, leave=True) as bar:
        while True:
            found = report(job=get_job(job_id=job.pk), with_items=False)
            bar.total = found.total
            bar.update(found.ended - bar.n)
            if found.job.finished_at is not None:
                break
            try:
                time.sleep(POLL_SECONDS)
            except KeyboardInterrupt:
                bar.write("Cancelling; what is in hand is finished first.")
                cancel_job(job=found.job)
    return report(job=found.job)


def _batches(sources: Iterable[Source]) -> Iterator[list[Source]]:
    """Jobs small enough to be held in memory: by number of files and by bytes."""
    section = app_settings().ingestion
    most_bytes = min(JOB_BYTES, section.max_request_bytes)
    batch: list[Source] = []
    size = 0
    for source in sources:
        if batch and (len(batch) >= section.max_files or size + len(source.content) > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(source)
        size += len(source.content)
    if batch:
        yield batch
