"""What commands that wait for a worker need."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ingest_app.models import Job
from ingest_app.work import run_job


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a command waits for its job, the job is worked off."""

    def wait(_seconds: float) -> None:
        for job in Job.objects.filter(finished_at=None):
            run_job(job_id=job.pk, stopping=lambda: False)

    monkeypatch.setattr("ingest_app.watching.time", SimpleNamespace(sleep=wait))
