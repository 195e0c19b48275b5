"""What a service says of its limits in headers: how long it wants to be left alone.

`Retry-After` (RFC 9110), `retry-after-ms`, and the limits of OpenAI's (`x-ratelimit-*`) and Anthropic's
(`anthropic-ratelimit-*`) services, which say what remains and when it is full again.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

_LONGEST_VALUE = 60
#: Then it is asked again, whatever it said: it may have been nonsense.
_LONGEST_PAUSE_SECONDS = 600.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
#: Larger numbers are a time since 1970, in seconds or milliseconds.
_SECONDS_OF_AN_EPOCH, _MILLISECONDS_OF_AN_EPOCH = 1e9, 1e12
_LIMITS = (
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    *((f"x-ratelimit-remaining-{what}", f"x-ratelimit-reset-{what}") for what in ("requests", "tokens")),
    *(
        (f"anthropic-ratelimit-{what}-remaining", f"anthropic-ratelimit-{what}-reset")
        for what in ("requests", "tokens", "input-tokens", "output-tokens")
    ),
)


def wait_seconds(headers: Mapping[str, str]) -> float:
    """Until a refused request may be sent again; 0 where the service does not say. `headers` in lower case."""
    in_milliseconds = _number(headers.get("retry-after-ms", ""))
    if in_milliseconds is not None:
        return in_milliseconds / 1000
    if "retry-after" in headers:
        return _until(headers["retry-after"]) or 0.0
    return exhausted_seconds(headers)


def exhausted_seconds(headers: Mapping[str, str]) -> float:
    """Until the last of the limits of which nothing remains is full again; 0 where something remains of each."""
    return max(_exhausted(headers), default=0.0)


def _exhausted(headers: Mapping[str, str]) -> Iterator[float]:
    for remaining, reset in _LIMITS:
        if _number(headers.get(remaining, "")) == 0:
            yield _until(headers.get(reset, "")) or 0.0


def _until(value: str) -> float | None:
    """Seconds from now of a number, a duration such as `6m0s`, or a date; None where it is none of them."""
    value = value.strip()
    if len(value) > _LONGEST_VALUE:
        return None
    number = _number(value)
    if number is not None:
        if number >= _SECONDS_OF_AN_EPOCH:
            number = number / (1000 if number >= _MILLISECONDS_OF_AN_EPOCH else 1) - time.time()
        return max(0.0, number)
    if _DURATION.fullmatch(value):
        return sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(value))
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return max(0.0, read(value).timestamp() - time.time())
        except (ValueError, OverflowError, OSError):
            continue
    return None


def _number(value: str) -> float | None:
    if len(value) > _LONGEST_VALUE:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


class Pause:
    """When a service may be asked again, for all threads of this process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._over_at = 0.0

    def learn(self, seconds: float) -> None:
        """It wants to be left alone for so long from now; a longer pause stays. None is longer than ten minutes."""
        with self._guard:
            self._over_at = max(self._over_at, time.monotonic() + min(seconds, _LONGEST_PAUSE_SECONDS))

    @property
    def seconds_left(self) -> float:
        with self._guard:
            return max(0.0, self._over_at - time.monotonic())
