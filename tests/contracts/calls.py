"""Short forms of the calls that the contract makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core_app.ports import DistanceName
from core_app.providers import HeldChunk, HeldCollection, NearChunk, Provider
from core_app.where import Where

Collections = Callable[..., HeldCollection]
DIMENSION = 8
#: A key or password that no service takes, and that must not be seen in any error.
WRONG = "wr0ng-s3cret"
GENERATOR = np.random.default_rng(7)


def chunk(key: str, text: str = "", *, embedding: Any = None, **metadata: Any) -> HeldChunk:
    vector = GENERATOR.normal(size=DIMENSION) if embedding is None else embedding
    return HeldChunk(id=key, text=text, metadata=metadata, embedding=np.asarray(vector, dtype=np.float32))


def ids(chunks: Sequence[HeldChunk]) -> list[str]:
    return [one.id for one in chunks]


def listed(provider: Provider, name: str, where: Where | None = None) -> list[HeldChunk]:
    found = provider.list_chunks(name=name, where=where, limit=1000, offset=0, with_embeddings=False)
    assert found.total == len(found.chunks)
    return list(found.chunks)


def nearest(provider: Provider, name: str, query: Any, limit: int, where: Where | None = None) -> Sequence[NearChunk]:
    queries = np.asarray([query], dtype=np.float32)
    (found,) = provider.nearest(name=name, queries=queries, limit=limit, where=where)
    return found


def exact(chunks: Sequence[HeldChunk], query: Any, distance: DistanceName) -> list[tuple[str, float]]:
    """All chunks with their distances, nearest first."""
    asked = np.asarray(query, dtype=np.float64)

    def away(one: HeldChunk) -> float:
        held = np.asarray(one.embedding, dtype=np.float64)
        if distance == "l2":
            return float(np.linalg.norm(held - asked))
        if distance == "ip":
            return float(-(held @ asked))
        return float(1 - (held @ asked) / (np.linalg.norm(held) * np.linalg.norm(asked)))

    return sorted(((one.id, away(one)) for one in chunks), key=lambda pair: pair[1])
