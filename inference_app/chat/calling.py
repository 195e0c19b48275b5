"""What all chat models share: one call at a time within its seconds, tried again, counted, and its failure explained.

The libraries bound each read, so a service that trickles would hold a request for ever. Calls therefore run in a loop
of asyncio on a thread of its own, where they can be given up at any moment, and their connection with them.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from core_app.chat_models import ChatAnswer, Exchange
from core_app.config import Llm
from core_app.errors import ModelFailed, RagsiteError, Unavailable
from core_app.retrying import PassingFailure, TooOften, with_retry
from inference_app.chat.failures import Refusal, Senseless, causes

logger = logging.getLogger(__name__)

_LONGEST_NAME = 200
_CLOSING_SECONDS = 5.0
#: Seconds that a caller is told to wait at most.
_LONGEST_WAIT = 3_600

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked."""

    system: str
    user: str
    earlier: Sequence[Exchange]
    schema: Mapping[str, Any] | None
    max_tokens: int

    @property
    def messages(self) -> list[dict[str, str]]:
        """All but the rules, in order."""
        before = [
            {"role": role, "content": text}
            for one in self.earlier
            for role, text in (("user", one.user), ("assistant", one.assistant))
        ]
        return [*before, {"role": "user", "content": self.user}]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back."""

    text: str
    model: str
    input_tokens: int
    output_tokens: int


class CallingChat(ABC):
    """A chat model behind HTTP. Its clients belong to the loop's thread."""

    def __init__(self, section: Llm) -> None:
        self._section = section
        self._slots = threading.BoundedSemaphore(section.concurrency)
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def connection(self) -> str:
        return self._section.provider

    @property
    def model(self) -> str:
        return self._section.model

    @property
    def concurrency(self) -> int:
        return self._section.concurrency

    def complete(
        self,
        *,
        system: str,
        user: str,
        earlier: Sequence[Exchange] = (),
        schema: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        max_tokens: int = 1024,
    ) -> ChatAnswer:
        seconds = self._section.timeout_seconds if seconds is None else seconds
        deadline = time.monotonic() + seconds
        question = Question(system=system, user=user, earlier=earlier, schema=schema, max_tokens=max_tokens)
        try:
            with self._turn(seconds):
                reply = with_retry(
                    lambda left: self._run(self._tried(question, left), left), seconds=deadline - time.monotonic()
                )
        except (PassingFailure, Refusal, Senseless, TimeoutError, CancelledError) as error:
            logged = {"connection": self.connection, "model": self.model, "cause": causes(error, secret=self._key())}
            logger.warning("the chat model did not answer", extra=logged)
            # Without its cause, whose words may have the key or the address: somebody may log the whole chain.
            raise _said(error) from None
        return self._answer(reply)

    def close(self) -> None:
        """End its connections and its thread; for those that do not live as long as the process.

        Raises nothing: where the loop is busy, its thread ends by itself as soon as it can.
        """
        if self._loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._finished(self._loop), self._loop)
        self._thread.join(_CLOSING_SECONDS)
        if self._thread.is_alive():
            logger.warning("the chat model's connections are not closed yet", extra={"connection": self.connection})
        self._loop = None

    @abstractmethod
    async def _reply(self, question: Question, seconds: float) -> Reply:
        """One try. Raises PassingFailure for what may go well the next time, Refusal and Senseless for the rest."""

    @abstractmethod
    async def _close(self) -> None:
        """End the client."""

    async def _finished(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            async with asyncio.timeout(_CLOSING_SECONDS):
                await self._ended()
        except Exception as error:  # noqa: BLE001 - whatever it is, this is the end
            logged = {"connection": self.connection, "cause": causes(error, secret=self._key())}
            logger.warning("the chat model's connections were not closed", extra=logged)
        finally:
            loop.stop()

    async def _ended(self) -> None:
        """Whoever waits for an answer is told that there is none."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._close()

    async def _tried(self, question: Question, seconds: float) -> Reply:
        try:
            return await self._reply(question, seconds)
        except (PassingFailure, Refusal, Senseless):
            raise
        except Exception as error:
            raise Senseless("its answer, or the request for it, is not what the library expects") from error

    def _key(self) -> str:
        return self._section.api_key.get_secret_value().strip() if self._section.api_key else ""

    @contextmanager
    def _turn(self, seconds: float) -> Iterator[None]:
        if not self._slots.acquire(timeout=max(0.0, seconds)):
            raise TimeoutError(f"{self.concurrency} calls are under way, as many as Llm:Concurrency allows")
        try:
            yield
        finally:
            self._slots.release()

    def _run(self, work: Coroutine[Any, Any, Result], seconds: float) -> Result:
        future = asyncio.run_coroutine_threadsafe(work, self._running_loop())
        try:
            return future.result(max(0.0, seconds))
        finally:
            future.cancel()  # ends the work, and its connection, where it goes on

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_forever, args=(self._loop,), name="chat", daemon=True)
                self._thread.start()
            return self._loop

    def _answer(self, reply: Reply) -> ChatAnswer:
        model = reply.model[:_LONGEST_NAME] or self.model
        return ChatAnswer(
            text=reply.text,
            model=model,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost=self._cost(reply),
        )

    def _cost(self, reply: Reply) -> float | None:
        of_input, of_output = self._section.input_price, self._section.output_price
        if of_input is None or of_output is None or not reply.input_tokens:
            return None
        return (reply.input_tokens * of_input + reply.output_tokens * of_output) / 1_000_000


def _forever(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _said(error: Exception) -> RagsiteError:
    """Nothing that the service or a library said: that may have addresses and keys."""
    if isinstance(error, Refusal):
        return ModelFailed(
            "The chat model's service refused the request. Check Llm:ApiKey, Llm:Model and Llm:BaseUrl; "
            "the server's log has its answer.",
            code="llm_refused",
        )
    if isinstance(error, TooOften):
        return Unavailable(
            "The chat model's service is asked more than it allows. Try again later, or raise its limit.",
            code="llm_rate_limited",
            retry_after_seconds=max(1, min(math.ceil(error.retry_after), _LONGEST_WAIT)),
        )
    if isinstance(error, PassingFailure | TimeoutError | CancelledError):
        return Unavailable(
            "The chat model could not be reached, or did not answer in time. Try again later; "
            "the server's log has the cause.",
            code="llm_unavailable",
        )
    return ModelFailed(
        "What came from the chat model's service cannot be read. Check Llm:BaseUrl; the server's log has the cause.",
        code="llm_bad_answer",
    )
