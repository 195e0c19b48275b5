"""How much is searched, how fast, and how often in vain: read out of the query log, day by day."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.db import connection

from core_app.sql import statement

#: A day with more searches is not counted to its end.
MOST_COUNTED = 20_000
#: Times and shares are those of so many of a day's newest searches.
SAMPLE = 1_000


@dataclass(frozen=True, kw_only=True)
class Day:
    """The searches of one day, in UTC."""

    day: datetime.date
    #: Up to `MOST_COUNTED`.
    total: int
    #: Of how many of the newest the following is known.
    sample: int
    #: Milliseconds, of which 95 of 100 searches took no more; None without any.
    p95_ms: float | None
    nothing_found: int
    warned: int
    failed: int

    @property
    def is_capped(self) -> bool:
        """Whether there may have been more."""
        return self.total >= MOST_COUNTED


def searches_by_day(*, days: int) -> list[Day]:
    """The last days up to today, oldest first; those without searches among them."""
    asked = {"days": days, "most": MOST_COUNTED, "sample": SAMPLE}
    with connection.cursor() as cursor:
        cursor.execute(statement("search_app", "searches_by_day"), asked)
        return [
            Day(day=day, total=total, sample=sample, p95_ms=p95, nothing_found=nothing, warned=warned, failed=failed)
            for day, total, sample, p95, nothing, warned, failed in cursor.fetchall()
        ]
