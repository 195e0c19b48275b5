"""Scores of passages beside a query, by the configured chat model (C-REQ-004)."""

from __future__ import annotations

import contextvars
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from core_app.chat_models import ChatAnswer, ChatModel
from core_app.errors import ModelFailed, RagsiteError, Unavailable
from core_app.wiring import app_settings, chat_model
from rerank_app.prompting import PASSAGE_CHARACTERS, SCHEMA, WrongAnswer, question, rules, scores_in

logger = logging.getLogger(__name__)

#: Most of one call. Together some 3,000 tokens: a model that is run with a window of 4,096 reads all of it.
CALL_PASSAGES = 10
CALL_CHARACTERS = 8000
#: Most tokens of an answer: for each passage, and some for models that think before they write.
_PASSAGE_TOKENS = 40
_MORE_TOKENS = 600


@dataclass(frozen=True, kw_only=True)
class LlmScores:
    """How well texts answer a query, as a chat model sees it."""

    #: 0 to 10, of all texts in their order.
    scores: Sequence[float]
    model: str
    #: Answers that this took.
    calls: int
    #: Of questions and answers, as the service counts them.
    tokens: int
    #: In the currency of the configured prices; None where those, or the tokens, are not known.
    cost: float | None


@dataclass(frozen=True, kw_only=True)
class _Use:
    """The model, and what it answered so far; several threads add to it."""

    model: ChatModel
    query: str
    deadline: float
    answers: list[ChatAnswer] = field(default_factory=list)

    @property
    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    @property
    def answered_by(self) -> str:
        return self.answers[-1].model if self.answers else self.model.model

    @property
    def tokens(self) -> int:
        return sum(answer.input_tokens + answer.output_tokens for answer in self.answers)

    @property
    def cost(self) -> float | None:
        costs = [answer.cost for answer in self.answers]
        known = [cost for cost in costs if cost is not None]
        return round(sum(known), 8) if known and len(known) == len(costs) else None


def score(*, query: str, texts: Sequence[str], seconds: float | None = None) -> LlmScores:
    """Score all texts within the given time, or that of Llm:TimeoutSeconds.

    Raises Unavailable where no chat model is configured, can be reached or answers in time, and ModelFailed where what
    it answers is of no use. Nothing is scored then.
    """
    model = chat_model()
    if model is None:
        raise Unavailable(
            "No chat model is configured. Set Llm:Provider.", code="llm_not_configured", retry_after_seconds=60
        )
    began = time.monotonic()
    seconds = app_settings().llm.timeout_seconds if seconds is None else seconds
    use = _Use(model=model, query=query, deadline=began + seconds)
    try:
        scores = _scores(use, texts)
    except RagsiteError as error:
        _log(use, began, texts=len(texts), outcome=error.code)
        raise
    _log(use, began, texts=len(texts), outcome="scored")
    return LlmScores(scores=scores, model=use.answered_by, calls=len(use.answers), tokens=use.tokens, cost=use.cost)


def _log(use: _Use, began: float, *, texts: int, outcome: str) -> None:
    logged = {
        "model": use.answered_by,
        "outcome": outcome,
        "texts": texts,
        "calls": len(use.answers),
        "tokens": use.tokens,
        "cost": use.cost,
        "took_ms": round(1000 * (time.monotonic() - began), 1),
    }
    logger.log(logging.INFO if outcome == "scored" else logging.WARNING, "reranked by a chat model", extra=logged)


def _scores(use: _Use, texts: Sequence[str]) -> list[float]:
    """Several calls at a time; the first that fails ends it, and the others are not waited for."""
    calls = _calls(texts)
    if len(calls) < 2:
        return [score for call in calls for score in _asked(use, call)]
    pool = ThreadPoolExecutor(max_workers=min(len(calls), use.model.concurrency), thread_name_prefix="llm")
    try:
        futures = [pool.submit(contextvars.copy_context().run, _asked, use, call) for call in calls]
        for future in as_completed(futures):
            future.result()
        return [score for future in futures for score in future.result()]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _calls(texts: Sequence[str]) -> list[list[str]]:
    """Texts of one call each, in order: as few calls as can be, and as even as can be simply."""
    calls: list[list[str]] = []
    characters = 0
    for text in texts:
        length = min(len(text), PASSAGE_CHARACTERS)
        if not calls or len(calls[-1]) >= CALL_PASSAGES or characters + length > CALL_CHARACTERS:
            calls.append([])
            characters = 0
        calls[-1].append(text)
        characters += length
    return calls


def _asked(use: _Use, texts: Sequence[str]) -> list[float]:
    """The scores of one call's texts; a wrong answer is asked for once more."""
    try:
        return _answered(use, texts, rules())
    except WrongAnswer as wrong:
        complaint = str(wrong)
    try:
        return _answered(use, texts, rules(complaint=complaint))
    except WrongAnswer:
        raise ModelFailed(
            "The chat model did not answer in the form that it was asked for, twice. Name another model in Llm:Model.",
            code="llm_bad_answer",
        ) from None


def _answered(use: _Use, texts: Sequence[str], system: str) -> list[float]:
    answer = use.model.complete(
        system=system,
        user=question(query=use.query, texts=texts),
        schema=SCHEMA,
        seconds=use.seconds_left,
        max_tokens=_MORE_TOKENS + _PASSAGE_TOKENS * len(texts),
    )
    use.answers.append(answer)
    try:
        return scores_in(answer.text, passages=len(texts))
    except WrongAnswer as wrong:
        logged = {"model": answer.model, "passages": len(texts), "characters": len(answer.text), "reason": str(wrong)}
        logger.warning("the chat model's answer does not count", extra=logged)
        raise
