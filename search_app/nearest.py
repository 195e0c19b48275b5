"""Searching by vectors that the caller made: the nearest chunks, filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collections_app.filters import narrowed
from collections_app.reading import StoredChunk, stored_chunks
from collections_app.selectors import get_collection
from collections_app.services import space_of
from collections_app.where_sql import filter_errors
from core_app.ports import Space, Vectors
from core_app.providers import HeldChunk
from core_app.similarity import similarity
from core_app.snapshot import snapshot
from core_app.where import Where
from core_app.wiring import store

DEFAULT_TOP_K = 10
MAX_TOP_K = 1000


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """A chunk and how near it is: `distance` in the collection's metric, `score` from 0 to 1."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    score: float
    distance: float


def nearest(
    *,
    collection_name: str,
    queries: Sequence[Vectors],
    top_k: int = DEFAULT_TOP_K,
    where: Where | None = None,
    filter_name: str | None = None,
) -> list[list[Neighbour]]:
    """For each query of shape (dimension,) the nearest chunks among those that the filter lets through.

    Fewer than `top_k` only where fewer exist; all queries see the same state of the collection. Raises
    NotFound, and InvalidInput for a query of another dimension or with numbers that are not finite.
    """
    with filter_errors(), snapshot():
        collection = get_collection(name=collection_name)
        where = narrowed(collections=[collection], where=where, filter_name=filter_name)
        if collection.active_generation is None:
            return [[] for _ in queries]
        space = space_of(collection.active_generation)
        searched = store(collection.store)
        hits = [searched.dense(space=space, query=query, limit=top_k, where=where).hits for query in queries]
        chunks = stored_chunks(chunk_ids=list({hit.chunk_id for found in hits for hit in found if hit.chunk is None}))
    return [[_neighbour(hit.chunk or chunks[hit.chunk_id], hit.distance, space) for hit in found] for found in hits]


def _neighbour(chunk: StoredChunk | HeldChunk, distance: float, space: Space) -> Neighbour:
    return Neighbour(
        id=chunk.id,
        text=chunk.text,
        metadata=chunk.metadata,
        score=similarity(distance, metric=space.distance),
        distance=distance,
    )
