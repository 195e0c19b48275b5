"""Scores of texts beside a query, by the loaded cross-encoder."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core_app.errors import ModelFailed, Unavailable
from core_app.ports import PairScorer, PairScores
from core_app.wiring import app_settings, pair_scorer

logger = logging.getLogger(__name__)

#: Paths, addresses of services and of memory: what the words of an exception may have that nobody else should.
_PRIVATE = re.compile(
    r"""'[^']*[\\/][^']*'|"[^"]*[\\/][^"]*"  # quoted: such a path may have spaces
    |[a-z][a-z0-9+.-]*://\S+
    |(?:\b[A-Za-z]:)?[\\/][^\s'",;:)]+
    |(?<![\w:])\[?(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![\w:])(?:%\w+)?(?:\](?::\d+)?)?
    |\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b
    |\b[\w-]+(?:\.[\w-]+)*:\d{2,5}\b
    |\b0x[0-9a-fA-F]+\b""",
    re.VERBOSE,
)
_LONGEST_REASON = 300


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """One of the texts that were asked about."""

    #: Its place among them, from 0.
    index: int
    #: As the model's own activation has it: of whatever size, or 0 to 1.
    score: float
    #: The logistic function of what the model's head gives: 0 to 1, whatever the model.
    probability: float
    #: What the model's head gives.
    logit: float


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The best first."""

    model: str
    ranked: Sequence[Ranked]
    #: That the model read.
    tokens: int


def rank(*, query: str, texts: Sequence[str], top_n: int | None = None) -> Ranking:
    """Score all texts and give the `top_n` best, or all. Those with the same score keep their order.

    A text that is there twice is read once: in another batch it would get a slightly different score.
    Raises Unavailable where no cross-encoder is loaded or it takes too long, and ModelFailed.
    """
    scorer = loaded_cross_encoder()
    if not texts:
        return Ranking(model=scorer.model, ranked=(), tokens=0)
    began = time.monotonic()
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    scores = _scores(scorer, query, list(places))
    values, probabilities, logits = scores.values.tolist(), logistic(scores.logits).tolist(), scores.logits.tolist()
    ranked = [
        Ranked(index=index, score=values[place], probability=probabilities[place], logit=logits[place])
        for index, place in enumerate(places[text] for text in texts)
    ]
    # An activation may make 1.0 of everything that fits.
    ranked.sort(key=lambda one: (-one.score, -one.logit, one.index))
    took_ms = round(1000 * (time.monotonic() - began), 1)
    logger.info("reranked", extra={"model": scorer.model, "texts": len(texts), "took_ms": took_ms})
    return Ranking(model=scorer.model, ranked=ranked[:top_n], tokens=scores.tokens)


def loaded_cross_encoder() -> PairScorer:
    """Raises Unavailable where none is."""
    scorer = pair_scorer()
    if scorer is None:
        raise Unavailable(
            "Cross-encoder not loaded. Start server with --cross-encoder flag.",
            code="cross_encoder_not_loaded",
            retry_after_seconds=60,
        )
    return scorer


def _scores(scorer: PairScorer, query: str, texts: Sequence[str]) -> PairScores:
    try:
        scores = scorer.scores(query=query, texts=texts, seconds=app_settings().rerank.timeout_seconds)
    except Exception as error:
        logger.exception("the cross-encoder failed")
        raise ModelFailed(f"Cross-encoder scoring failed: {_reason(error)}", code="scoring_failed") from error
    if len(scores.logits) < len(texts):
        logger.warning("scoring took too long, or others take all of the time", extra={"texts": len(texts)})
        raise Unavailable(
            "Scoring so many texts takes longer than Rerank:TimeoutSeconds. Send fewer at a time, or try again later.",
            code="rerank_timeout",
        )
    if not (np.isfinite(scores.logits).all() and np.isfinite(scores.values).all()):
        logger.error("the cross-encoder gave scores that are no numbers")
        raise ModelFailed("Cross-encoder scoring failed: it gave scores that are no numbers.", code="scoring_failed")
    return scores


def logistic(logits: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), without an overflow; shape as given."""
    return np.exp(-np.logaddexp(0.0, -logits.astype(np.float64)))


def _reason(error: Exception) -> str:
    """The exception's class and first line, without what should not leave (A13.8, NFR-001)."""
    first = next(iter(str(error).strip().splitlines()), "")
    # Cut first, and again: what is made to be slow to read must not be long.
    words = _PRIVATE.sub("...", first[: 4 * _LONGEST_REASON])[:_LONGEST_REASON].rstrip(" .")
    return f"{type(error).__name__}: {words}." if words else f"{type(error).__name__}."
