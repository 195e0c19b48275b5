"""When beat has changes sent to other systems: known to the scheduler, which starts before any model is loaded."""

from __future__ import annotations

DELIVER_CHANGES = "stores.deliver_changes"
#: A round without news is two short statements.
DELIVER_INTERVAL_SECONDS = 1.0
