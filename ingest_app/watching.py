"""A job on the command line: a progress bar until it ends, Ctrl-C cancels it."""

from __future__ import annotations

import time

from tqdm import tqdm

from ingest_app.models import Job
from ingest_app.selectors import JobReport, get_job, report
from ingest_app.steering import cancel_job

POLL_SECONDS = 0.5


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
