"""Searching a collection: what to look for, by which legs, and the answer as hits."""

from __future__ import annotations

import logging
import time
from typing import Literal

from collections_app.parents import parent_of
from collections_app.selectors import get_collection
from collections_app.services import get_or_create_default, space_of
from core_app.snapshot import snapshot
from core_app.wiring import app_settings
from search_app.fusion import reciprocal_rank_fusion
from search_app.legs import Findings, Legs, look
from search_app.parents import shown_once, texts_around
from search_app.results import Hit, SearchResult, make_hit

logger = logging.getLogger(__name__)

DEFAULT_LIMIT = 5
RAW_QUERY = "first message (raw query)"
CONTEXTUALIZED_TOPIC = "follow-up (contextualized topic)"

Mode = Literal["fast", "balanced", "thorough"]
Fusion = Literal["rrf", "calibrated"]
#: All names that a request may use; the first of each is what this version has.
MODES: tuple[Mode, ...] = ("fast", "balanced", "thorough")
FUSIONS: tuple[Fusion, ...] = ("rrf", "calibrated")


def hybrid_search_enabled() -> bool:
    """Whether searches use words as well as meaning (B2.5)."""
    return app_settings().search.use_hybrid_search


def search(
    *,
    collection_name: str,
    query: str,
    top_k: int = DEFAULT_LIMIT,
    min_score: float | None = None,
    topic: str = "",
    mode: Mode = "fast",
    fusion: Fusion = "rrf",
    legs: Legs | None = None,
) -> SearchResult:
    """The passages of a collection that answer a query, best first.

    A query of white space finds nothing (B8.1), a `top_k` below 1 counts as 5 (B8.4). `min_score` is a
    similarity, applied after merging and before the cut to `top_k` (FR-010, B5.3). Passages of one parent
    are one result, which shows the parent. A `topic` takes the query's place (A3). A `mode` or `fusion` that
    this version lacks is a warning, and the one it has is used. `legs` chooses how to search; None leaves it
    to the settings. One failing leg is a warning and the other's results. Raises NotFound for an unknown
    collection, and Unavailable when meaning alone is asked for and nothing can embed.
    """
    started = time.perf_counter()
    top_k = top_k if top_k >= 1 else DEFAULT_LIMIT
    text, strategy = _query_text(query, topic)
    findings = Findings()
    _warn_of_lacking(mode, fusion, findings)
    hits: list[Hit] = []
    get_or_create_default(name=collection_name)
    if text:
        with snapshot():
            hits = _hits(collection_name, text, top_k, min_score, legs, findings)
    result = SearchResult(
        hits=hits,
        mode=MODES[0],
        query_strategy=strategy,
        reranker="none",
        warnings=findings.warnings,
        took_ms=round((time.perf_counter() - started) * 1000, 2),
    )
    logger.info(
        "search done",
        extra={
            "collection": collection_name,
            "dense_results": len(findings.dense),
            "lexical_results": len(findings.lexical),
            "results": len(hits),
            "took_ms": result.took_ms,
        },
    )
    return result


def _warn_of_lacking(mode: Mode, fusion: Fusion, findings: Findings) -> None:
    if mode != MODES[0]:
        findings.warn("mode_unavailable", f"This version has no mode '{mode}': '{MODES[0]}' was used.")
    if fusion != FUSIONS[0]:
        findings.warn("fusion_unavailable", f"This version has no fusion '{fusion}': '{FUSIONS[0]}' was used.")


def _query_text(query: str, topic: str) -> tuple[str, str]:
    """The text to search for, and the name of the reason (A3.1, A3.2, A3.4)."""
    normalised = " ".join(topic.split())
    strategy = CONTEXTUALIZED_TOPIC if normalised else RAW_QUERY
    logger.info("query strategy: %s", strategy)
    return normalised or query.strip(), strategy


def _hits(
    name: str, text: str, top_k: int, min_score: float | None, legs: Legs | None, findings: Findings
) -> list[Hit]:
    """Both legs, reciprocal rank fusion, the threshold on similarity, the cut (B3, B4, B5)."""
    collection = get_collection(name=name)
    if collection.active_generation is None:
        return []
    wanted = legs or ("hybrid" if hybrid_search_enabled() else "dense")
    look(
        collection=collection,
        space=space_of(collection.active_generation),
        text=text,
        legs=wanted,
        # Twice what is wanted at least, so that merging has something to choose from (B3.4).
        depth=max(app_settings().search.candidates, 2 * top_k),
        findings=findings,
    )
    fused = reciprocal_rank_fusion(findings.rankings)
    merged = sum(len(ranking) for ranking in findings.rankings)
    logger.info("legs merged", extra={"unique_chunks": len(fused), "merged": merged})
    similarities = findings.similarities
    kept = [chunk_id for chunk_id in fused if min_score is None or similarities.get(chunk_id, 0.0) >= min_score]
    chunks = shown_once(ranked=kept, limit=top_k)
    around = texts_around(chunks=chunks)
    return [
        make_hit(
            chunk,
            around=None if (parent := parent_of(chunk)) is None else around.get(parent),
            similarity=similarities.get(chunk.pk),
            rrf_score=fused[chunk.pk],
        )
        for chunk in chunks
    ]
