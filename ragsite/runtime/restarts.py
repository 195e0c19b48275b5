"""When a child that died is started again, and when to give up: arithmetic on the times of its deaths."""

from __future__ import annotations

from collections import deque

WINDOW_SECONDS = 60.0
DEATHS_ALLOWED = 4
FIRST_DELAY_SECONDS = 0.5


class RestartPolicy:
    """Waits 0.5, 1, 2, 4 s after the deaths of the last minute; the fifth of them is the last."""

    def __init__(self) -> None:
        self._deaths: deque[float] = deque()

    def died(self, now: float) -> float | None:
        """Seconds to wait before the next start, or None to give up. `now` is any monotonic clock's."""
        self._deaths.append(now)
        while self._deaths[0] <= now - WINDOW_SECONDS:
            self._deaths.popleft()
        if len(self._deaths) > DEATHS_ALLOWED:
            return None
        return float(FIRST_DELAY_SECONDS * 2 ** (len(self._deaths) - 1))
