"""Vectors as embeddings are, in clusters; and what a search among them must find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from django.db import connection
from psycopg import sql

from collections_app.models import Chunk
from core_app.ports import DenseHit, DistanceName, IndexedChunk, Vectors
from core_app.where import Where
from core_app.where.evaluation import matches
from stores_app.transfer import binary_cursor
from tests.integration.stores.shelf import Shelf, new_shelf

DIMENSION = 16

_names = count(1)


@dataclass
class Clusters:
    """A collection of clustered vectors with metadata, beside the same in numpy."""

    distance: DistanceName = "cosine"
    dimension: int = DIMENSION
    shelf: Shelf = field(init=False)
    vectors: dict[int, Vectors] = field(default_factory=dict)
    metadata: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.shelf = new_shelf(self.distance, dimension=self.dimension)
        self.random = np.random.default_rng(7)
        self._centres = self.random.normal(size=(20, self.dimension))

    def draw(self, number: int) -> Vectors:
        near = self._centres[self.random.integers(len(self._centres), size=number)]
        return (near + self.random.normal(scale=0.4, size=near.shape)).astype(np.float32)

    def add(self, vectors: Vectors, metadata: Sequence[Mapping[str, Any]] | None = None) -> list[int]:
        """The new chunks' ids, in the order of the vectors."""
        described = list(metadata or [{}] * len(vectors))
        rows = Chunk.objects.bulk_create(
            Chunk(collection=self.shelf.collection, external_id=f"{next(_names)}", text="", metadata=about)
            for about in described
        )
        ids = [row.pk for row in rows]
        self.shelf.index(
            [IndexedChunk(chunk_id=pk, text="", embedding=vector) for pk, vector in zip(ids, vectors, strict=True)]
        )
        self.vectors |= dict(zip(ids, vectors, strict=True))
        self.metadata |= dict(zip(ids, described, strict=True))
        return ids

    def remove(self, chunk_ids: Sequence[int]) -> None:
        with self.shelf.locked():
            self.shelf.store.remove(collection_id=self.shelf.collection.pk, chunk_ids=chunk_ids)
            Chunk.objects.filter(pk__in=chunk_ids).delete()
        for chunk_id in chunk_ids:
            del self.vectors[chunk_id], self.metadata[chunk_id]

    def build(self) -> None:
        self.shelf.store.build_index(space=self.shelf.space, check=lambda: None)

    def search(self, query: Vectors, *, limit: int = 10, where: Where | None = None) -> list[DenseHit]:
        with self.shelf.locked():
            return list(self.shelf.store.dense(space=self.shelf.space, query=query, limit=limit, where=where).hits)

    def expected(self, query: Vectors, *, limit: int = 10, where: Where | None = None) -> list[tuple[int, float]]:
        """Chunk ids and distances by brute force."""
        ids = [pk for pk in self.vectors if matches(where, metadata=self.metadata[pk], text="")]
        if not ids:
            return []
        found = _distances(np.array([self.vectors[pk] for pk in ids], np.float64), query, self.distance)
        return sorted(zip(ids, found.tolist(), strict=True), key=lambda hit: (hit[1], hit[0]))[:limit]

    def recall(self, queries: Vectors, *, limit: int = 10, where: Where | None = None) -> float:
        """The share of the right chunks over all queries; each answer is checked for what must always hold."""
        shares = []
        for query in queries:
            hits, right = self.search(query, limit=limit, where=where), self.expected(query, limit=limit, where=where)
            assert len(hits) == len(right)
            assert [(hit.distance, hit.chunk_id) for hit in hits] == sorted(
                (hit.distance, hit.chunk_id) for hit in hits
            )
            assert len({hit.chunk_id for hit in hits}) == len(hits)
            everything = dict(self.expected(query, limit=len(self.vectors), where=where))
            for hit in hits:
                assert abs(hit.distance - everything[hit.chunk_id]) < 1e-4
            shares.append(len({hit.chunk_id for hit in hits} & {chunk_id for chunk_id, _ in right}) / len(right))
        return float(np.mean(shares))


def _distances(vectors: Vectors, query: Vectors, distance: DistanceName) -> Vectors:
    if distance == "l2":
        return np.asarray(np.linalg.norm(vectors - query, axis=1))
    products = vectors @ query.astype(np.float64)
    if distance == "ip":
        return np.asarray(-products)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query.astype(np.float64))
    return np.asarray(1 - np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0))


@contextmanager
def explained() -> Iterator[list[str]]:
    """The plan of each composed statement that runs inside."""
    plans: list[str] = []

    def explain(execute: Any, query: Any, params: Any, many: bool, context: Any) -> Any:
        text = query.as_string() if isinstance(query, sql.Composable) else query
        if "FROM stores_vector" in text and "EXPLAIN" not in text:
            with binary_cursor() as cursor:
                cursor.execute("EXPLAIN " + text, params)
                plans.append("\n".join(line for (line,) in cursor.fetchall()))
        return execute(query, params, many, context)

    with connection.execute_wrapper(explain):
        yield plans
