"""The ways to search, as data: how deep each leg looks, how the legs are merged, what re-orders them, in what time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rerank_app.second_stage import RerankerName

Fusion = Literal["rrf", "calibrated"]
ModeName = Literal["fast", "balanced", "thorough"]
#: By meaning and words, or by one of them.
Legs = Literal["hybrid", "dense", "lexical"]

RERANKERS: tuple[RerankerName, ...] = ("llm", "cross-encoder")
FUSIONS: tuple[Fusion, ...] = ("rrf", "calibrated")
LEGS: tuple[Legs, ...] = ("hybrid", "dense", "lexical")
DEFAULT_MODE: ModeName = "balanced"


@dataclass(frozen=True, kw_only=True)
class Mode:
    """One of them."""

    #: What is not done by then is left out, where there are results without it.
    budget_ms: int
    #: Chunks that each leg is asked for, or twice as many as are wanted where that is more (B3.4).
    depth: int
    #: Unless the request or the collection says otherwise.
    fusion: Fusion
    #: The first of these that is there re-orders the best so many, or as many of them as there is time for.
    rerankers: tuple[RerankerName, ...] = ()
    rerank_depth: int = 0
    #: Whether it is worth a warning that none is there.
    expects_reranker: bool = False


#: C-REQ-001 names them and their times.
MODES: dict[ModeName, Mode] = {
    "fast": Mode(budget_ms=200, depth=100, fusion="rrf"),
    "balanced": Mode(budget_ms=500, depth=100, fusion="calibrated", rerankers=("cross-encoder",), rerank_depth=20),
    "thorough": Mode(
        budget_ms=2000,
        depth=200,
        fusion="calibrated",
        rerankers=RERANKERS,
        rerank_depth=20,
        expects_reranker=True,
    ),
}
MODE_NAMES: tuple[ModeName, ...] = tuple(MODES)
