"""When the reaper looks: known to the scheduler, which starts before any model is loaded."""

from __future__ import annotations

REAP_JOBS = "ingest.reap_jobs"
REAP_INTERVAL_SECONDS = 10.0
