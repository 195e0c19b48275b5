"""The dense leg beside its own statement on a bare connection, prepared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
from django.db import connection
from pgvector import Vector
from pgvector.psycopg import register_vector

from benchmarks.latency.figures import Way, exact_nearest, recall, table, turn_about
from benchmarks.latency.loading import Loaded
from benchmarks.latency.texts import Library
from benchmarks.latency.vectors import Vectors
from benchmarks.latency.words import DEPTH
from core_app.snapshot import snapshot
from core_app.sql import statement
from core_app.wiring import app_settings, embedder
from stores_app import hnsw, search_plan
from stores_app.transfer import ROOM

_WARM = 10
#: Results of a small page, and what a search asks a leg for.
_LIMITS = (10, DEPTH)


def measure(loaded: Loaded, library: Library, *, queries: int) -> str:
    """Times and recall@10 by the number of results."""
    texts = library.queries(queries + _WARM, words=12, seed=13)
    asked = np.array([embedder().embed_query(text) for text in texts])
    measured, warm = list(asked[_WARM:]), list(asked[:_WARM])
    exact = exact_nearest(asked[_WARM:], loaded.vectors, loaded.ids, limit=10)
    rows = []
    with _bare() as own:
        for limit in _LIMITS:
            ways = {"Ragsite": ours(loaded, limit=limit), "SQL": _statement(own, loaded, limit=limit)}
            found = turn_about(ways, measured, warm=warm)
            mine, bare = found["Ragsite"], found["SQL"]
            recalls = [
                np.mean([recall([row[0] for row in rows_of(answer)][:10], right) for answer, right in pairs])
                for rows_of, pairs in (
                    (lambda found: [(hit.chunk_id,) for hit in found.hits], zip(mine.answers, exact, strict=True)),
                    (list, zip(bare.answers, exact, strict=True)),
                )
            ]
            rows.append(
                [
                    str(limit),
                    *(f"{time:.1f}" for time in (mine.p50, mine.p95, bare.p50, bare.p95)),
                    f"{mine.p50 / bare.p50:.2f}",
                    *(f"{share:.3f}" for share in recalls),
                ]
            )
            assert mine.answers[0].way == "index", mine.answers[0].way
    head = [
        "results",
        "Ragsite p50, ms",
        "p95",
        "SQL p50, ms",
        "p95",
        "ratio of p50",
        "recall@10",
        "recall@10 of the SQL",
    ]
    return "\n\n".join(["### Meaning", f"{len(loaded):,} chunks, {queries} queries.", table(head, rows)])


def ours(loaded: Loaded, *, limit: int = DEPTH) -> Way[Vectors]:
    """The leg as a search calls it, within a snapshot that is open already."""
    return Way(
        call=lambda query: loaded.store.dense(space=loaded.space, query=query, limit=limit),
        within=snapshot,
    )


def of_text(loaded: Loaded, vectors: Mapping[str, Vectors]) -> Way[str]:
    """The same for texts that were embedded before."""
    leg = ours(loaded)
    return Way(call=lambda text: leg.call(vectors[text]), within=leg.within)


@contextmanager
def _bare() -> Iterator[psycopg.Connection[Any]]:
    # Without Django's cursors, which put parameters into the text, and its types.
    params = {**connection.get_connection_params(), "cursor_factory": psycopg.Cursor, "context": None}
    with psycopg.connect(**params, autocommit=True) as own:
        register_vector(own)
        yield own


def _statement(own: psycopg.Connection[Any], loaded: Loaded, *, limit: int) -> Way[Vectors]:
    """`nearest_indexed.sql`, prepared, with parameters and results in binary and the settings made beforehand."""
    index = hnsw.standing(loaded.space)
    assert index is not None
    scan = search_plan.index_scan(
        limit=limit,
        ef_search=app_settings().vector_database.ef_search,
        dimension=loaded.space.dimension,
        indexed=index.rows,
    )
    assert scan is not None
    query = hnsw.composed("nearest_indexed", space=loaded.space, watermark=index.watermark).as_string(own)
    settings = statement(ROOM, "search_settings").replace(", true)", ", false)")
    given = {"ef_search": str(scan.ef_search), "most_evaluated": str(scan.most_evaluated), "pattern": ""}
    cursor = own.cursor(binary=True)

    def call(vector: Vectors) -> list[Any]:
        params = {"query": Vector(vector), "candidates": scan.candidates, "limit": limit}
        return cursor.execute(query, params, prepare=True, binary=True).fetchall()

    own.execute(settings, given)
    # Its values are known when it is planned: a plan for any is right for this statement, and made once.
    own.execute("SET plan_cache_mode = force_generic_plan")
    return Way(call=call)
