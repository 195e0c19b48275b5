"""How long the stages of a search take, and how much time is left."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Stage:
    name: str
    #: After the search began.
    began_ms: float = 0.0
    took_ms: float


@dataclass(kw_only=True)
class Clock:
    """Runs from when it is made."""

    #: Without one there is always time.
    budget_ms: float | None = None
    stages: list[Stage] = field(default_factory=list)
    _started: float = field(default_factory=time.perf_counter)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a part of the search, whatever comes of it."""
        began = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - began
            self.stages.append(
                Stage(name=name, began_ms=_milliseconds(began - self._started), took_ms=_milliseconds(took))
            )

    @property
    def took_ms(self) -> float:
        return _milliseconds(time.perf_counter() - self._started)

    @property
    def seconds_more(self) -> float | None:
        """What a part may take that results would be much worse without, even late; None for any time."""
        return None if self.budget_ms is None else self.budget_ms / 1000

    @property
    def seconds_left(self) -> float:
        """0 where the time is over."""
        if self.budget_ms is None:
            return math.inf
        return max(0.0, self.budget_ms / 1000 - (time.perf_counter() - self._started))


def _milliseconds(seconds: float) -> float:
    return round(1000 * seconds, 2)
