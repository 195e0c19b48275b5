"""Every statement of a search goes through indexes: what EXPLAIN says of tables that are filled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from collections_app.models import Chunk, Collection
from collections_app.where_sql import condition
from core_app.sql import statement
from core_app.where import Compare, Where
from stores_app.models import Segment
from tests.integration.stores.shelf import new_shelf

pytestmark = pytest.mark.django_db

CHUNKS, PER_DOCUMENT, SEGMENTS, BLOCKS = 10_000, 50, 2_000, 10
BIG = ("collections_chunk", "collections_document", "collections_documenttext", "stores_segment", "stores_postingblock")


@pytest.fixture
def filled() -> Collection:
    """One collection of a thousand chunks and a hundred segments, beside another with all the rest."""
    small, large = new_shelf().collection, new_shelf().collection
    given = {
        "small": small.pk,
        "large": large.pk,
        "chunks": CHUNKS,
        "documents": CHUNKS // PER_DOCUMENT,
        "per": PER_DOCUMENT,
        "segments": SEGMENTS,
        "blocks": BLOCKS,
    }
    with connection.cursor() as cursor:
        for text in (
            "INSERT INTO collections_document (id, collection_id, source, title, content_hash, media_type, size_bytes,"
            " state, metadata, chunk_count, cut_by, origin, error, error_code, created_at, updated_at)"
            " SELECT n, CASE WHEN n <= 20 THEN %(small)s ELSE %(large)s END, n, '', '', '', 0, 'ready', '{}', %(per)s,"
            " '', '', '', '', now(), now() FROM generate_series(1, %(documents)s) AS n",
            "INSERT INTO collections_documenttext (document_id, text, outline, source_digest, given_title)"
            # Texts that cannot be packed: of packed ones a page holds so many that reading all pages is cheaper.
            " SELECT n, string_agg(md5(n || '-' || line), ''), '{}', '', ''"
            " FROM generate_series(1, %(documents)s) AS n, generate_series(1, 60) AS line GROUP BY n",
            "INSERT INTO collections_chunk (collection_id, document_id, ordinal, start_offset, end_offset, external_id,"
            " text, metadata, section_path)"
            " SELECT CASE WHEN n < 20 * %(per)s THEN %(small)s ELSE %(large)s END, 1 + n / %(per)s, n %% %(per)s,"
            " 100 * (n %% %(per)s), 100 * (n %% %(per)s + 1), n, repeat('word ', 20),"
            " jsonb_build_object('rare', n %% 1000 = 0, 'n', n), ARRAY['Part ' || n %% %(per)s / 10]"
            " FROM generate_series(0, %(chunks)s - 1) AS n",
            "INSERT INTO stores_segment (collection_id, size, live, live_length, first_chunk_id, last_chunk_id,"
            " chunk_ids, lengths, dead) SELECT CASE WHEN n <= 100 THEN %(small)s ELSE %(large)s END, 10, 10, 100, 1, 1,"
            " decode(repeat('00', 80), 'hex'), decode(repeat('00', 40), 'hex'), ''"
            " FROM generate_series(1, %(segments)s) AS n",
            "INSERT INTO stores_postingblock (segment_id, first_term, data)"
            " SELECT segment.id, chr(97 + n), decode(repeat('00', 400), 'hex')"
            " FROM stores_segment AS segment, generate_series(0, %(blocks)s - 1) AS n",
            # Whether the catalogues were analysed by themselves depends on what ran before.
            "ANALYZE " + ", ".join((*BIG, "pg_class", "pg_index")),
        ):
            cursor.execute(text, given)
    return small


def plan(room: str, name: str, params: Mapping[str, Any], where: Where | None = None) -> str:
    """Postgres's plan of one of our statements, as it is sent."""
    asked = condition(where)
    given = sql.SQL(statement(room, name))
    text = given if where is None else given.format(where=asked.sql)
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(sql.SQL("EXPLAIN ") + text, {**params, **asked.params})
        return "\n".join(line for (line,) in cursor.fetchall())


def read_whole(planned: str) -> list[str]:
    """The tables that a plan reads from beginning to end."""
    return [table for table in re.findall(r"Seq Scan on (\w+)", planned) if table in BIG]


def test_a_reading_of_all_rows_would_be_seen(filled: Collection) -> None:
    """What the other tests look for does show."""
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN SELECT count(*) FROM collections_chunk WHERE text LIKE '%%word'")
        assert read_whole("\n".join(line for (line,) in cursor.fetchall())) == ["collections_chunk"]


def plan_for_any_values(name: str, params: Mapping[str, str]) -> str:
    """What Postgres may come to run of a statement that is prepared."""
    text: str = statement("stores_app", name)
    for number, key in enumerate(params, start=1):
        text = text.replace(f"%({key})s", f"${number}")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute(f"PREPARE prepared AS {text}")
        cursor.execute(f"EXPLAIN EXECUTE prepared ({', '.join(['%s'] * len(params))})", list(params.values()))
        found = "\n".join(line for (line,) in cursor.fetchall())
        cursor.execute("DEALLOCATE prepared")
    return found


def test_the_segments_in_use(filled: Collection) -> None:
    given = {"collection_ids": f"{{{filled.pk}}}", "language": "english"}
    for found in (plan("stores_app", "segments_in_use", given), plan_for_any_values("segments_in_use", given)):
        assert read_whole(found) == []
        assert "stores_segment_collection_id" in found
        assert "Index Cond: (collection_id = " in found


def test_the_indexes_that_stand(filled: Collection) -> None:
    names = {"names": "stores_hnsw_g1_w", "names_end": "stores_hnsw_g1_x"}
    found = plan_for_any_values("search_settings", {"ef_search": "300", "most_evaluated": "20000", **names})
    assert "Index Cond: ((relname >= $3) AND (relname < $4))" in found


def test_the_postings_of_a_query(filled: Collection) -> None:
    ids = list(Segment.objects.filter(collection=filled).values_list("pk", flat=True))
    asked: dict[str, list[Any]] = {"segment_ids": ids, "with_dead": ids[:2], "terms": ["alpha", "beta", "snake_case"]}
    listed = {key: "{" + ",".join(f"{value}" for value in values) + "}" for key, values in asked.items()}
    for found in (plan("stores_app", "lexical", asked), plan_for_any_values("lexical", listed)):
        assert read_whole(found) == []
        assert re.search(r"Index Scan( Backward)? using stores_postingblock_pkey", found)
        assert "Sort" not in found, "the last block that can have the term is one step of the index"


def test_the_chunks_of_segments(filled: Collection) -> None:
    ids = list(Segment.objects.filter(collection=filled).values_list("pk", flat=True)[:20])
    assert read_whole(plan("stores_app", "segment_ids", {"segment_ids": ids})) == []
    winners = {"segment_ids": ids, "ordinals": [1] * len(ids)}
    assert read_whole(plan("stores_app", "chunk_ids", winners)) == []


@pytest.mark.parametrize("where", [Compare("n", "$gte", 100), Compare(None, "$contains", "word")])
def test_which_of_the_best_pass(filled: Collection, where: Where) -> None:
    """B6.4"""
    ids = list(Chunk.objects.filter(collection=filled).values_list("pk", flat=True)[:256])
    found = plan("stores_app", "passing", {"chunk_ids": ids}, where)
    assert read_whole(found) == []
    assert "collections_chunk_pkey" in found


@pytest.mark.parametrize(
    ("where", "index"),
    [
        (Compare("rare", "$eq", True), "chunk_metadata"),
        (Compare("n", "$lt", 100), r"chunk_collection_\w+"),
        (Compare(None, "$contains", "word"), r"chunk_collection_\w+"),
    ],
)
def test_all_that_pass(filled: Collection, where: Where, index: str) -> None:
    """B6.4"""
    found = plan("stores_app", "all_passing", {"collection_ids": [filled.pk]}, where)
    assert read_whole(found) == []
    assert re.search(index, found)


@pytest.mark.parametrize(
    ("name", "times"), [("window_around", 1), ("section_around", 3), ("whole_document", 1)], ids=lambda value: value
)
def test_what_stands_around_passages(filled: Collection, name: str, times: int) -> None:
    ids = list(Chunk.objects.filter(collection=filled).values_list("pk", flat=True)[:20])
    found = plan("collections_app", name, {"chunk_ids": ids, "size": 2})
    assert read_whole(found) == []
    assert len(re.findall(r"(?:using|on) chunk_document_ordinal", found)) == times


def test_stretches_of_texts(filled: Collection) -> None:
    documents = list(filled.documents.values_list("pk", flat=True)[:20])
    places = {"document_ids": documents, "starts": [0] * len(documents), "ends": [9] * len(documents)}
    found = plan("collections_app", "parent_texts", places)
    assert read_whole(found) == []
