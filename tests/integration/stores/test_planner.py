"""What Postgres' own planner does as shipped, with no hint of a test: slow in Python, so in one place."""

from __future__ import annotations

import pytest
from django.db import connection

from collections_app.models import Chunk
from core_app.ports import IndexedChunk
from core_app.where import Compare
from stores_app import dense, hnsw
from tests.integration.stores.clusters import Clusters, explained

pytestmark = pytest.mark.usefixtures("own_indexes")

#: With 384 numbers each, just enough for an index by the default settings.
ROWS = 11_000


def loaded(rows: int = ROWS) -> Clusters:
    clusters = Clusters(dimension=384)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO collections_chunk (collection_id, external_id, text, metadata, section_path)"
            " SELECT %s, n, '', jsonb_build_object('even', n %% 2 = 0, 'rare', n %% 1000 = 0), '{}'"
            " FROM generate_series(1, %s) AS n",
            [clusters.shelf.collection.pk, rows],
        )
    chunks = Chunk.objects.filter(collection=clusters.shelf.collection).order_by("pk")
    vectors = clusters.draw(rows)
    for (pk, metadata), vector in zip(chunks.values_list("pk", "metadata"), vectors, strict=True):
        clusters.vectors[pk] = vector
        clusters.metadata[pk] = metadata
    given = [IndexedChunk(chunk_id=pk, text="", embedding=vector) for pk, vector in clusters.vectors.items()]
    dense.add(dense.packed(space=clusters.shelf.space, chunks=given))
    return clusters


def test_a_large_collection_is_wanted_in_an_index_and_then_searched_by_it() -> None:
    loaded(1000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE stores_vector, collections_chunk")
    clusters = loaded()
    space = clusters.shelf.space
    queries = clusters.draw(5)
    with explained() as plans:
        assert clusters.recall(queries[:2]) == 1.0
        for key in ("even", "rare"):
            assert clusters.recall(queries[:2], where=Compare(key, "$eq", True)) == 1.0
    # The planner expects one row of a collection that came after it last looked.
    assert not [plan for plan in plans if "Join Filter" in plan], "all vectors were read for each chunk"
    assert clusters.shelf.store.index_state(space=space).wanted
    clusters.build()
    index = hnsw.standing(space)
    assert index is not None
    for where in (None, Compare("even", "$eq", True)):
        with explained() as plans:
            assert clusters.recall(queries, where=where) >= 0.95
        assert f"Index Scan using {index.name}" in plans[-1]
    with explained() as plans:
        assert clusters.recall(queries, where=Compare("rare", "$eq", True)) == 1.0
    assert "chunk_metadata" in plans[-1], "few are found by the index on metadata first"


def test_a_small_collection_beside_large_ones_is_searched_by_its_index() -> None:
    """The planner expects a few hundred of its vectors, and would rather sort them."""
    clusters = loaded()
    clusters.build()
    index = hnsw.standing(clusters.shelf.space)
    assert index is not None
    # As if the table had thirty times as many of another collection.
    others = ",".join(str(index.watermark * step) for step in range(32))
    with connection.cursor() as cursor:
        for column, statistics, values in (
            ("generation_id", "most_common_vals", f"{{{index.generation_id},{index.generation_id + 1}}}"),
            ("chunk_id", "histogram_bounds", f"{{{others}}}"),
        ):
            frequencies = ", 'most_common_freqs', '{0.03,0.97}'::real[]" if column == "generation_id" else ""
            cursor.execute(
                "SELECT pg_restore_attribute_stats('schemaname', 'public', 'relname', 'stores_vector', 'attname', %s,"
                f" 'inherited', false, 'null_frac', 0::real, 'avg_width', 8, '{statistics}', %s{frequencies})",
                [column, values],
            )
            assert cursor.fetchone()[0]
    queries = clusters.draw(2)
    with explained() as plans:
        assert clusters.recall(queries) >= 0.9
    assert f"Index Scan using {index.name}" in plans[-1]
