"""How long a service wants to be left alone, as its headers say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from core_app.rate_limits import Pause, exhausted_seconds, wait_seconds

LATER = datetime.now(UTC) + timedelta(hours=2)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"retry-after": "3"}, 3),
        ({"retry-after-ms": "250", "retry-after": "3"}, 0.25),
        ({"retry-after": "soon"}, 0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1h2m3s"}, 3723),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "1h"}, 0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "6"}, 6),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1" * 5000}, 0),
        ({"x-ratelimit-remaining-requests": "0"}, 0),
    ],
)
def test_seconds(headers: dict[str, str], seconds: float) -> None:
    assert wait_seconds(headers) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": format_datetime(LATER, usegmt=True)},
        {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": LATER.isoformat()},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(LATER.timestamp() * 1000))},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(LATER.timestamp()))},
    ],
)
def test_times(headers: dict[str, str]) -> None:
    assert 3600 < wait_seconds(headers) <= 7200


def test_the_last_limit_counts() -> None:
    both = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2s"}
    both |= {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9s"}
    assert exhausted_seconds(both) == 9


def test_a_longer_pause_stays() -> None:
    pause = Pause()
    assert pause.seconds_left == 0
    pause.learn(100)
    pause.learn(1)
    assert 1 < pause.seconds_left <= 100
    pause.learn(1e50)
    assert pause.seconds_left <= 600
