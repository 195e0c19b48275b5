"""Time that is left for the whole of something, however many pieces it comes in."""

from __future__ import annotations

import time
from collections.abc import Callable

from ingest_app.origins.found import Unreadable


class TimeLimit:
    """Ask for `left` before each piece."""

    def __init__(self, *, seconds: float, late: Unreadable, check: Callable[[], None]) -> None:
        """`late` is raised when the time is over; `check` is called each time and may raise something else."""
        self._end = time.monotonic() + seconds
        self._late = late
        self._check = check

    def left(self) -> float:
        """Seconds, more than none. Raises when there are none left, or when the check does."""
        self._check()
        left = self._end - time.monotonic()
        if left <= 0:
            raise self._late
        return left
