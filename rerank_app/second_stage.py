"""The second stage of a search: the first reranker that is there reads the best passages; the next takes its place."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core_app.wiring import app_settings, pair_scorer

logger = logging.getLogger(__name__)

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
    problems: list[Problem] = []
    for name in filter(is_there, wanted):
        try:
            scores = _SCORES[name](query, texts, seconds)
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
    found = scorer.scores(query=query, texts=texts, seconds=seconds).logits
    if not np.isfinite(found).all():
        raise ValueError("the cross-encoder gave scores that are no numbers")
    return [float(score) for score in found]


def _has_cross_encoder() -> bool:
    section = app_settings().rerank
    return bool(section.cross_encoder or section.cross_encoder_path)


def _cut(scored: int, asked: int) -> Problem:
    if not scored:
        return Problem(code="reranking_cut", detail="There was no time for reranking: the order is that of the fusion.")
    return Problem(code="reranking_cut", detail=f"There was time to rerank the best {scored} of {asked} passages.")


_IS_THERE: dict[RerankerName, Callable[[], bool]] = {"cross-encoder": _has_cross_encoder, "llm": lambda: False}
_SCORES: dict[RerankerName, Callable[[str, Sequence[str], float | None], Sequence[float]]] = {
    "cross-encoder": _by_cross_encoder
}
_FAILED: dict[RerankerName, Problem] = {
    "cross-encoder": Problem(code="reranking_failed", detail="The cross-encoder failed: it put nothing in order."),
    "llm": Problem(code="llm_reranking_failed", detail="The chat model put nothing in order."),
}
