"""When beat has what is due looked for: known to the scheduler, which starts before any model is loaded."""

from __future__ import annotations

REAP_JOBS = "ingest.reap_jobs"
REAP_INTERVAL_SECONDS = 10.0
PLAN_UPKEEP = "ingest.plan_upkeep"
#: A round without news is two short statements.
PLAN_INTERVAL_SECONDS = 0.5
RUN_CONNECTORS = "ingest.run_connectors"
CONNECTORS_INTERVAL_SECONDS = 10.0
