"""The chunks nearest to a query: through the vector index where one stands and pays, else one by one."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from pgvector import Vector
from psycopg import sql

from collections_app.where_sql import condition
from core_app.ports import DenseFound, DenseHit, Space, Vectors
from core_app.where import Where
from core_app.wiring import app_settings
from stores_app import hnsw, search_plan, selectivity
from stores_app.dense import checked
from stores_app.hnsw import LARGEST_HALF, VectorIndex, composed, whole
from stores_app.search_plan import FilterEstimate, IndexScan
from stores_app.transfer import binary_cursor


def nearest(*, space: Space, query: Vectors, limit: int, where: Where | None = None) -> DenseFound:
    """The `limit` nearest chunks that the filter lets through.

    Exact, or by the index with most of the right ones; never fewer than there are. Raises InvalidInput.
    """
    search = _Search(space, query, limit, where)
    found = [] if limit < 1 else search.by_index() or search.one_by_one()
    return DenseFound(hits=[DenseHit(chunk_id=row[0], distance=row[1]) for row in found], way=search.way)


class _Search:
    """One search; its ways give rows that begin with chunk id and distance."""

    def __init__(self, space: Space, query: Vectors, limit: int, where: Where | None) -> None:
        (numbers,) = checked([query], space)
        self._largest = float(np.abs(numbers).max())
        self._space = space
        self._limit = limit
        self._where = where
        self._narrowed = condition(where)
        #: What was done last.
        self.way = "not at all"
        self._params = {
            "query": Vector(numbers),
            "limit": limit,
            "collection_id": space.collection_id,
            **self._narrowed.params,
        }

    def by_index(self) -> list[Any]:
        """Nothing where no index stands, where none pays, or where it had too little to offer."""
        index, scan = self._index, self._scan
        if index is None or scan is None:
            return []
        if scan.most_evaluated != self._unfiltered.most_evaluated:
            self._make_ready(scan)
        self._params["candidates"] = scan.candidates
        self.way = "index" if self._where is None else "index, filtered"
        if self._where is None:
            found = self._rows("nearest_indexed", index.watermark)
        else:
            late = self._composed(
                "late_by_filter" if scan.is_late_by_filter else "nearest_by_distance", index.watermark
            )
            found = self._rows("nearest_indexed_filtered", index.watermark, late=late)
        # Vectors that were deleted, and those that the index gave up on, may be why it gave so few.
        return found if found and found[0][2] >= self._limit else []

    def one_by_one(self) -> list[Any]:
        """All there are, compared with the query."""
        if self._estimate is None:
            self.way = "all compared"
            return self._rows("nearest")
        is_filter_first = search_plan.is_filter_first(
            limit=self._limit, dimension=self._space.dimension, estimate=self._estimate
        )
        self.way = "filter first" if is_filter_first else "all compared, then filtered"
        return self._rows("nearest_by_filter" if is_filter_first else "nearest_by_distance")

    @cached_property
    def _index(self) -> VectorIndex | None:
        """None too for a query without a direction, which is as far from everything, and one without half precision."""
        fits = self._largest > 0 if hnsw.holds_directions(self._space) else self._largest <= LARGEST_HALF
        return self._make_ready(self._unfiltered) if fits else None

    @cached_property
    def _unfiltered(self) -> IndexScan:
        return search_plan.unfiltered(limit=self._limit, ef_search=app_settings().vector_database.ef_search)

    def _make_ready(self, scan: IndexScan) -> VectorIndex | None:
        return hnsw.made_ready(self._space, ef_search=scan.ef_search, most_evaluated=scan.most_evaluated)

    @cached_property
    def _estimate(self) -> FilterEstimate | None:
        if self._where is None:
            return None
        return selectivity.estimate(space=self._space, index=self._index, where=self._where)

    @property
    def _scan(self) -> IndexScan | None:
        if self._index is None:
            return None
        return search_plan.index_scan(
            limit=self._limit,
            ef_search=app_settings().vector_database.ef_search,
            dimension=self._space.dimension,
            indexed=self._index.rows,
            estimate=self._estimate,
        )

    def _rows(self, name: str, watermark: int = 0, **parts: sql.Composable) -> list[Any]:
        with binary_cursor() as cursor:
            cursor.execute(self._statement(name, watermark, **parts), self._params)
            return list(cursor.fetchall())

    def _statement(self, name: str, watermark: int, **parts: sql.Composable) -> str | sql.Composed:
        if self._where is None:
            return whole(name, space=self._space, watermark=watermark)
        return self._composed(name, watermark, **parts)

    def _composed(self, name: str, watermark: int, **parts: sql.Composable) -> sql.Composed:
        return composed(name, space=self._space, watermark=watermark, where=self._narrowed.sql, **parts)
