"""What is tried again, how often, and never beyond the time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core_app import retrying
from core_app.retrying import MOST_TRIES, PassingFailure, with_retry


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses, which take no time."""
    pauses: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", pauses.append)
    return pauses


def failing(times: int, error: Exception) -> Callable[[float], int]:
    """Fails so many times, then says how often it was called."""
    calls = 0

    def call(seconds: float) -> int:
        nonlocal calls
        calls += 1
        if calls <= times:
            raise error
        return calls

    return call


@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_passing_failure_is_tried_again(slept: list[float], times: int) -> None:
    assert with_retry(failing(times, PassingFailure("busy")), seconds=60) == times + 1
    assert len(slept) == times


def test_the_third_failure_is_the_last(slept: list[float]) -> None:
    with pytest.raises(PassingFailure, match="busy"):
        with_retry(failing(MOST_TRIES, PassingFailure("busy")), seconds=60)
    assert len(slept) == MOST_TRIES - 1


def test_anything_else_is_not_tried_again(slept: list[float]) -> None:
    with pytest.raises(ValueError, match="wrong"):
        with_retry(failing(1, ValueError("wrong")), seconds=60)
    assert slept == []


def test_a_service_is_left_alone_for_as_long_as_it_wants(slept: list[float]) -> None:
    with_retry(failing(1, PassingFailure("busy", retry_after=7)), seconds=60)
    assert 7 <= slept[0] < 8


def test_no_pause_reaches_beyond_the_time(slept: list[float]) -> None:
    with pytest.raises(PassingFailure):
        with_retry(failing(1, PassingFailure("busy", retry_after=61)), seconds=60)
    assert slept == []


def test_each_try_is_told_what_is_left(slept: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([100.0, 101.0, 104.0])
    monkeypatch.setattr(retrying, "time", type("Clock", (), {"monotonic": lambda: next(now)}))
    left: list[float] = []

    def call(seconds: float) -> None:
        left.append(seconds)
        if len(left) == 1:
            raise PassingFailure("busy")

    with_retry(call, seconds=60)
    assert left == [59.0, 56.0]
