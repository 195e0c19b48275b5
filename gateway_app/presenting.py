"""What a provider gives, in the shapes of the storage API."""

from __future__ import annotations

from typing import Any

from core_app.providers import HeldChunk, HeldCollection, NearChunk


def present_collection(one: HeldCollection) -> dict[str, Any]:
    """A collection; null where the provider does not say."""
    return {
        "id": one.id,
        "name": one.name,
        "metadata": dict(one.metadata),
        "count": one.count,
        "dimension": one.dimension,
        "distance": one.distance,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
    }


def present_chunk(chunk: HeldChunk, *, with_embedding: bool = False) -> dict[str, Any]:
    """A chunk, which the storage API calls a document."""
    shown: dict[str, Any] = {"id": chunk.id, "text": chunk.text, "metadata": dict(chunk.metadata)}
    if with_embedding:
        shown["embedding"] = None if chunk.embedding is None else chunk.embedding.tolist()
    return shown


def present_near(found: NearChunk) -> dict[str, Any]:
    """A chunk that a search found."""
    return {**present_chunk(found.chunk), "score": found.score, "distance": found.distance}
