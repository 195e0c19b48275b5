"""One search: the query's vector and its words, merged, filtered and read back as passages."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from django.db import transaction

from collections_app.models import Collection
from collections_app.selectors import chunks_by_id, get_collection
from collections_app.services import get_or_create_default, space_of
from core_app.errors import Unavailable
from core_app.ports import Bm25, DenseHit, LexicalHit, Space, Vectors
from core_app.snapshot import snapshot
from core_app.wiring import app_settings, embedder, store
from inference_app.services import embed_query
from search_app.fusion import reciprocal_rank_fusion, similarity
from search_app.results import Hit, SearchResult, SearchWarning, make_hit

logger = logging.getLogger(__name__)

DEFAULT_LIMIT = 5
RAW_QUERY = "first message (raw query)"
CONTEXTUALIZED_TOPIC = "follow-up (contextualized topic)"

#: Embeds while the database works on the words; such a thread never opens a connection of its own.
_embedding = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1), thread_name_prefix="embed")

Found = TypeVar("Found")


@dataclass(kw_only=True)
class _Legs:
    """What both ways of searching found, and what went wrong meanwhile."""

    dense: Sequence[DenseHit] = ()
    lexical: Sequence[LexicalHit] = ()
    warnings: list[SearchWarning] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    succeeded: int = 0

    def warn(self, code: str, detail: str) -> None:
        self.warnings.append(SearchWarning(code=code, detail=detail))


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
) -> SearchResult:
    """The passages of a collection that answer a query, best first.

    A query of white space finds nothing (B8.1), a `top_k` below 1 counts as 5 (B8.4). `min_score` is a
    similarity, applied after merging and before the cut to `top_k` (FR-010, B5.3). A `topic` takes the
    query's place (A3). One failing leg is a warning and the other's results; NotFound for an unknown
    collection, Unavailable when meaning alone is asked for and nothing can embed.
    """
    started = time.perf_counter()
    top_k = top_k if top_k >= 1 else DEFAULT_LIMIT
    text, strategy = _query_text(query, topic)
    legs = _Legs()
    hits: list[Hit] = []
    get_or_create_default(name=collection_name)
    if text:
        with snapshot():
            hits = _search(get_collection(name=collection_name), text, top_k, min_score, legs)
    result = SearchResult(
        hits=hits,
        mode="fast",
        query_strategy=strategy,
        reranker="none",
        warnings=legs.warnings,
        took_ms=round((time.perf_counter() - started) * 1000, 2),
    )
    logger.info(
        "search done",
        extra={
            "collection": collection_name,
            "dense_results": len(legs.dense),
            "lexical_results": len(legs.lexical),
            "results": len(hits),
            "took_ms": result.took_ms,
        },
    )
    return result


def _query_text(query: str, topic: str) -> tuple[str, str]:
    """The text to search for, and the name of the reason (A3.1, A3.2, A3.4)."""
    normalised = " ".join(topic.split())
    strategy = CONTEXTUALIZED_TOPIC if normalised else RAW_QUERY
    logger.info("query strategy: %s", strategy)
    return normalised or query.strip(), strategy


def _search(collection: Collection, text: str, top_k: int, min_score: float | None, legs: _Legs) -> list[Hit]:
    generation = collection.active_generation
    if generation is None:
        return []
    space = space_of(generation)
    depth = max(app_settings().search.candidates, 2 * top_k)
    hybrid = hybrid_search_enabled()
    future = _start_embedding(collection, text)
    if future is None:
        legs.warn("no_embedder", "The collection's vectors come from another model: words alone were searched.")
    if hybrid or future is None:
        _lexical_leg(collection, text, depth, legs)
    vector = _vector(future, legs, hybrid=hybrid) if future else None
    if vector is not None:
        _dense_leg(collection, space, vector, depth, legs)
    if legs.failures and not legs.succeeded:
        raise legs.failures[0]
    return _merge(collection, space, vector, top_k, min_score, legs)


def _start_embedding(collection: Collection, text: str) -> Future[Vectors] | None:
    """The query's vector in the making; None where the server has no model for this collection."""
    generation = collection.active_generation
    source = embedder()
    if generation is None or (generation.embedding_connection, generation.embedding_model) != (
        source.connection,
        source.model,
    ):
        return None
    return _embedding.submit(embed_query, text=text)


def _vector(future: Future[Vectors], legs: _Legs, *, hybrid: bool) -> Vectors | None:
    """The finished vector; without one, words alone are searched where they are searched at all (B8.5)."""
    try:
        return future.result()
    except Exception as error:
        logger.exception("the query could not be embedded")
        if not hybrid:
            raise Unavailable(
                "The query could not be embedded. Try again; the server's log has the cause.",
                code="embedder_unavailable",
            ) from error
        legs.warn("embedding_failed", "The query could not be embedded: words alone were searched.")
        return None


def _lexical_leg(collection: Collection, text: str, depth: int, legs: _Legs) -> None:
    section = app_settings().search
    bm25 = Bm25(
        language=collection.language,
        k1=section.k1 if collection.k1 is None else collection.k1,
        b=section.b if collection.b is None else collection.b,
    )
    hits = _attempt(
        legs,
        "lexical_search_failed",
        "The search by words failed: results are by meaning alone.",
        lambda: store(collection.store).lexical(collection_id=collection.pk, bm25=bm25, query=text, limit=depth),
    )
    legs.lexical = hits or ()


def _dense_leg(collection: Collection, space: Space, vector: Vectors, depth: int, legs: _Legs) -> None:
    hits = _attempt(
        legs,
        "dense_search_failed",
        "The search by meaning failed: results are by words alone.",
        lambda: store(collection.store).dense(space=space, query=vector, limit=depth),
    )
    legs.dense = hits or ()


def _attempt(legs: _Legs, code: str, detail: str, call: Callable[[], Found]) -> Found | None:
    """One leg in a savepoint of its own: when it fails, the other still has a transaction (B3.5)."""
    try:
        with transaction.atomic():
            found = call()
    except Exception as error:
        logger.exception("one leg of a search failed: %s", code)
        legs.warn(code, detail)
        legs.failures.append(error)
        return None
    legs.succeeded += 1
    return found


def _merge(
    collection: Collection,
    space: Space,
    vector: Vectors | None,
    top_k: int,
    min_score: float | None,
    legs: _Legs,
) -> list[Hit]:
    """Reciprocal rank fusion, then the threshold on similarity, then the cut (B4, B5)."""
    rankings = [[hit.chunk_id for hit in legs.dense], [hit.chunk_id for hit in legs.lexical]]
    fused = reciprocal_rank_fusion(rankings)
    logger.info("legs merged", extra={"unique_chunks": len(fused), "merged": sum(map(len, rankings))})
    similarities = _similarities(collection, space, vector, list(fused), legs)
    if min_score is None:
        kept = list(fused)
    else:
        kept = [chunk_id for chunk_id in fused if similarities.get(chunk_id, 0.0) >= min_score]
    chunks = chunks_by_id(chunk_ids=kept[:top_k])
    return [
        make_hit(chunks[chunk_id], similarity=similarities.get(chunk_id), rrf_score=fused[chunk_id])
        for chunk_id in kept[:top_k]
        if chunk_id in chunks
    ]


def _similarities(
    collection: Collection, space: Space, vector: Vectors | None, chunk_ids: Sequence[int], legs: _Legs
) -> dict[int, float]:
    """Similarities of all candidates; what words alone found is compared with the query here."""
    distances = {hit.chunk_id: hit.distance for hit in legs.dense}
    missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in distances]
    if missing and vector is not None:
        found = _attempt(
            legs,
            "similarity_failed",
            "Some similarities could not be computed: they count as 0.",
            lambda: store(collection.store).distances(space=space, query=vector, chunk_ids=missing),
        )
        distances |= found or {}
    return {chunk_id: similarity(value, metric=space.distance) for chunk_id, value in distances.items()}
