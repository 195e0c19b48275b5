"""When beat has old queries forgotten: known to the scheduler, which starts before any model is loaded."""

from __future__ import annotations

FORGET_QUERIES = "search.forget_queries"
#: A round without news is one short statement.
FORGET_INTERVAL_SECONDS = 60.0
