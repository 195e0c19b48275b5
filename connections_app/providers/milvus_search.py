"""The nearest chunks in Milvus: asked for more and more until enough of them pass the filter."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from connections_app.providers.milvus_collections import Found
from connections_app.providers.milvus_filters import narrowed
from connections_app.providers.milvus_schema import Layout
from core_app.errors import InvalidInput
from core_app.ports import Vectors
from core_app.providers import HeldChunk, NearChunk
from core_app.similarity import similarity
from core_app.where import Where, matches

#: Milvus gives no more in one search.
_WINDOW = 16_384
#: Asked for beyond what is wanted: Milvus orders by distances of fewer digits.
_MARGIN = 10
#: At first where a filter has to be finished here.
_FIRST = 200
_HITS = 20_000


def nearest(found: Found, queries: Vectors, limit: int, where: Where | None) -> list[list[NearChunk]]:
    """As `Provider.nearest`; distances are computed here, from the vectors."""
    layout = found.layout
    if layout is None:
        return [[] for _ in queries]
    if queries.shape[1:] != (layout.dimension,):
        raise InvalidInput(
            f"The collection holds embeddings of {layout.dimension} numbers. Send such a query.",
            code="dimension_mismatch",
        )
    if not layout.index_type:
        raise InvalidInput("The collection has no index on its vectors. Make one in Milvus.", code="no_index")
    answers: dict[int, list[NearChunk]] = {}
    wanted = limit + _MARGIN if where is None else max(4 * limit, _FIRST)
    open_queries = list(range(len(queries)))
    while open_queries and wanted <= _WINDOW:
        for place, hits in _searched(found, layout, queries, open_queries, wanted, where):
            passing = [one for one in hits if matches(where, metadata=one.metadata, text=one.text)]
            if len(hits) < wanted or len(passing) >= limit + (_MARGIN if where is None else 0):
                answers[place] = _ordered(layout, queries[place], passing, limit)
        open_queries = [place for place in open_queries if place not in answers]
        wanted = wanted * 8 if where is not None and wanted < _WINDOW else _WINDOW + 1
    for place in open_queries:
        answers[place] = _ordered(layout, queries[place], found.walk(where, with_vector=True), limit)
    return [answers[place] for place in range(len(queries))]


def _searched(
    found: Found, layout: Layout, queries: Vectors, places: Sequence[int], wanted: int, where: Where | None
) -> Iterable[tuple[int, list[HeldChunk]]]:
    """For each of these queries, the nearest as Milvus sees them, each with its vector."""
    together = max(1, _HITS // wanted)
    fields = layout.fields(with_vector=True)
    narrow = narrowed(where, field="metadata") if layout.is_ours else None
    for start in range(0, len(places), together):
        part = places[start : start + together]
        lists = found.calls.search(
            layout.name,
            data=[np.asarray(queries[place], dtype=np.float32).tolist() for place in part],
            anns_field=layout.vector,
            limit=wanted,
            output_fields=fields,
            filter=narrow or "",
            search_params=layout.search_params(wanted),
        )
        for place, hits in zip(part, lists, strict=True):
            yield place, [layout.chunk(_row(layout, hit), with_vector=True) for hit in hits]


def _row(layout: Layout, hit: Any) -> dict[str, Any]:
    """What is asked for lies within `entity`, the key beside it."""
    entity = hit.get("entity")
    key = hit.get("id", hit.get(layout.key))
    return {layout.key: key, **(dict(entity) if entity else {})}


def _ordered(layout: Layout, query: Vectors, chunks: Iterable[HeldChunk], limit: int) -> list[NearChunk]:
    asked = np.asarray(query, dtype=np.float64)
    pairs = ((_away(layout, asked, chunk), chunk) for chunk in chunks)
    return [
        NearChunk(
            chunk=HeldChunk(id=chunk.id, text=chunk.text, metadata=chunk.metadata),
            distance=away,
            score=similarity(away, metric=layout.distance),
        )
        for away, chunk in heapq.nsmallest(limit, pairs, key=lambda pair: (pair[0], pair[1].id))
    ]


def _away(layout: Layout, asked: npt.NDArray[np.float64], chunk: HeldChunk) -> float:
    held = np.asarray(cast("Vectors", chunk.embedding), dtype=np.float64)
    if layout.distance == "l2":
        return float(np.linalg.norm(held - asked))
    inner = float(held @ asked)
    if layout.distance == "ip":
        return -inner
    lengths = float(np.linalg.norm(held) * np.linalg.norm(asked))
    # The angle to a vector of zeros is none; as far as a right angle, as everywhere here.
    return 1.0 - inner / lengths if lengths else 1.0
