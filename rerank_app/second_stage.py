"""The second stage of a search: the first reranker that is there reads the best passages; the next takes its place."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core_app.errors import RagsiteError
from core_app.wiring import app_settings, pair_scorer
from rerank_app import llm

logger = logging.getLogger(__name__)

#: Of the time that there is, where a cross-encoder waits to take the chat model's place.
_SHARE_BEFORE_OTHERS = 0.7

RerankerName = Literal["llm", "cross-encoder"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What kept a reranker from being what was wanted, as a search warns of it."""

    code: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What came of it."""

    #: None where nothing could be read: the order of before holds.
    reranker: RerankerName | None
    #: Of the first so many texts: those that there was time for. A cross-encoder's are what its head gives.
    scores: Sequence[float] = ()
    problems: Sequence[Problem] = ()


def read(*, query: str, texts: Sequence[str], wanted: Sequence[RerankerName], seconds: float | None) -> Reading:
    """Have texts read by the first of the `wanted` rerankers that is configured and works, in so many seconds.

    Never raises: what went wrong is a problem of the reading, and the next reranker takes the place of the one before.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    problems: list[Problem] = []
    for name in filter(is_there, wanted):
        try:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            scores = _SCORES[name](query, texts, left)
        except RagsiteError as error:
            # Whoever raised it has logged its cause.
            logger.warning("the reranker failed: %s: %s", name, error.code)
            problems.append(_FAILED[name])
            continue
        except Exception:
            logger.exception("the reranker failed: %s", name)
            problems.append(_FAILED[name])
            continue
        if len(scores) < len(texts):
            problems.append(_cut(len(scores), len(texts)))
        if len(scores):
            return Reading(reranker=name, scores=scores, problems=problems)
    return Reading(reranker=None, problems=problems)


def is_there(name: RerankerName) -> bool:
    """Whether it is configured."""
    return _IS_THERE[name]()


def _by_cross_encoder(query: str, texts: Sequence[str], seconds: float | None) -> Sequence[float]:
    scorer = pair_scorer()
    assert scorer is not None
    found = scorer.scores(query=query, texts=texts, seconds=seconds, partial=True).logits
    if not np.isfinite(found).all():
        raise ValueError("the cross-encoder gave scores that are no numbers")
    return [float(score) for score in found]


def _by_chat_model(query: str, texts: Sequence[str], seconds: float | None) -> Sequence[float]:
    if seconds is not None and _has_cross_encoder():
        seconds *= _SHARE_BEFORE_OTHERS
    return llm.score(query=query, texts=texts, seconds=seconds).scores


def _has_chat_model() -> bool:
    section = app_settings().llm
    return bool(section.connection) or section.provider != "none"


def _has_cross_encoder() -> bool:
    section = app_settings().rerank
    return bool(section.cross_encoder or section.cross_encoder_path)


def _cut(scored: int, asked: int) -> Problem:
    if not scored:
        return Problem(code="reranking_cut", detail="There was no time for reranking: the order is that of the fusion.")
    return Problem(code="reranking_cut", detail=f"There was time to rerank the best {scored} of {asked} passages.")


_IS_THERE: dict[RerankerName, Callable[[], bool]] = {"cross-encoder": _has_cross_encoder, "llm": _has_chat_model}
_SCORES: dict[RerankerName, Callable[[str, Sequence[str], float | None], Sequence[float]]] = {
    "cross-encoder": _by_cross_encoder,
    "llm": _by_chat_model,
}
_FAILED: dict[RerankerName, Problem] = {
    "cross-encoder": Problem(code="reranking_failed", detail="The cross-encoder failed: it put nothing in order."),
    "llm": Problem(code="llm_reranking_failed", detail="The chat model failed or was slow: it put nothing in order."),
}
