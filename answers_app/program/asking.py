"""The chat model of one question: how long it may still take, and what it took so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from core_app.chat_models import ChatAnswer, ChatModel, Exchange
from core_app.errors import Unavailable


@dataclass(kw_only=True)
class Asking:
    """Several threads may ask."""

    model: ChatModel
    #: By `time.monotonic`, of the whole question.
    deadline: float
    answers: list[ChatAnswer] = field(default_factory=list)
    #: In calls, of all threads together.
    model_seconds: float = 0.0
    #: Why the model did not answer, as it was raised: DSPy puts its own exception in the place of others.
    failure: Exception | None = None
    _step_ends: float | None = None
    _guard: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def step(self, seconds: float) -> Iterator[None]:
        """Calls of the model in here end after so many seconds, or with the question."""
        before, self._step_ends = self._step_ends, min(self.deadline, time.monotonic() + seconds)
        self.failure = None
        try:
            yield
        finally:
            self._step_ends = before

    def ask(
        self,
        *,
        system: str,
        user: str,
        earlier: Sequence[Exchange],
        schema: Mapping[str, Any] | None,
        max_tokens: int,
    ) -> ChatAnswer:
        """One call. Raises what the model does, and Unavailable where its time was over before."""
        began = time.monotonic()
        left = (self.deadline if self._step_ends is None else self._step_ends) - began
        try:
            if left <= 0:
                raise Unavailable("The time for this step of the answer is over.", code="llm_unavailable")
            answer = self.model.complete(
                system=system, user=user, earlier=earlier, schema=schema, seconds=left, max_tokens=max_tokens
            )
        except Exception as error:
            self.failure = error
            raise
        finally:
            with self._guard:
                self.model_seconds += time.monotonic() - began
        with self._guard:
            self.answers.append(answer)
        return answer

    @property
    def model_used(self) -> str:
        """Provider and model, as the last answer says."""
        return f"{self.model.connection}:{self.answers[-1].model if self.answers else self.model.model}"

    @property
    def token_usage(self) -> dict[str, int]:
        """Of all calls."""
        return {
            "input_tokens": sum(answer.input_tokens for answer in self.answers),
            "output_tokens": sum(answer.output_tokens for answer in self.answers),
            "calls": len(self.answers),
        }

    @property
    def cost(self) -> float | None:
        """In the currency of the configured prices; None where one answer's is not known."""
        costs = [answer.cost for answer in self.answers]
        known = [cost for cost in costs if cost is not None]
        return round(sum(known), 8) if known and len(known) == len(costs) else None
