"""Trying again what another service could not do just now, within a given time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

logger = logging.getLogger(__name__)

MOST_TRIES = 3
#: Seconds: pauses are drawn from 0 up to this, then up to twice of it.
_FIRST_PAUSE = 0.25
_jitter = wait_random_exponential(multiplier=_FIRST_PAUSE)

Result = TypeVar("Result")


class PassingFailure(Exception):
    """It may go well the next time, and asking twice does no harm."""

    def __init__(self, words: str, *, retry_after: float = 0.0) -> None:
        super().__init__(words)
        #: Seconds that the service wants to be left alone.
        self.retry_after = retry_after


class TooOften(PassingFailure):
    """The service is asked more than it allows."""


def with_retry(call: Callable[[float], Result], *, seconds: float) -> Result:
    """What `call` gives, which is told how many seconds are left. Only a PassingFailure is tried again.

    At most three times, and not where the pause would use up the time; then the last failure is raised.
    """
    deadline = time.monotonic() + seconds
    retrying = Retrying(
        retry=retry_if_exception_type(PassingFailure),
        stop=stop_after_attempt(MOST_TRIES) | stop_before_delay(seconds),
        wait=_pause,
        before_sleep=_say,
        reraise=True,
    )
    return retrying(lambda: call(deadline - time.monotonic()))


def _pause(state: RetryCallState) -> float:
    """Whoever was refused together does not come back together."""
    failure = state.outcome and state.outcome.exception()
    wanted = failure.retry_after if isinstance(failure, PassingFailure) else 0.0
    return wanted + _jitter(state)


def _say(state: RetryCallState) -> None:
    logger.info("trying again", extra={"tries": state.attempt_number, "pause": round(state.upcoming_sleep, 2)})
