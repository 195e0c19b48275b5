"""Every statement that a search sends, whatever it is asked for, goes through indexes: what EXPLAIN says of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from psycopg import sql

from collections_app.models import Chunk, Collection, Generation
from collections_app.services import change_collection
from core_app.where import And, Compare
from search_app.asking import Expansion
from search_app.forgetting import count_before, forget_due
from search_app.models import QueryLog
from search_app.modes import MODE_NAMES
from search_app.services import search, search_collections
from stores_app import keywords, search_plan, segments, selectivity
from stores_app.transfer import binary_cursor
from tests.integration.search.asked import SMALL, codes, filled, look, sentence

pytestmark = pytest.mark.django_db

FRUITS = ("apple", "banana", "cherry", "damson")
BIG = (
    "collections_collection",
    "collections_alias",
    "collections_generation",
    "collections_chunk",
    "collections_document",
    "collections_documenttext",
    "stores_vector",
    "stores_segment",
    "stores_postingblock",
    "search_querylog",
)
#: What else a server holds: one collection of ten thousand chunks, a thousand empty ones, queries of a month.
CROWD = (
    "INSERT INTO collections_collection (uid, name, metadata, store, distance, language, chunking, search, version,"
    " created_at, updated_at) SELECT gen_random_uuid(), 'crowd ' || n, '{}', 'pgvector', 'cosine', 'english', '{}',"
    " '{}', 1, now(), now() FROM generate_series(1, 1000) AS n",
    "INSERT INTO collections_alias (name, collection_id)"
    " SELECT 'also ' || name, id FROM collections_collection WHERE name LIKE 'crowd%%'",
    "INSERT INTO collections_generation (collection_id, dimension, distance, state, created_at)"
    " SELECT id, 256, 'cosine', 'active', now() FROM collections_collection WHERE name LIKE 'crowd%%'",
    "INSERT INTO collections_document (collection_id, source, title, content_hash, media_type, size_bytes, state,"
    " metadata, chunk_count, cut_by, origin, error, error_code, created_at, updated_at)"
    " SELECT %(crowd)s, n, '', '', '', 0, 'ready', '{}', 2, '', '', '', '', now(), now()"
    " FROM generate_series(1, 5000) AS n",
    "INSERT INTO collections_documenttext (document_id, text, outline, source_digest, given_title)"
    " SELECT id, repeat('word ', 200), '{}', '', '' FROM collections_document WHERE collection_id = %(crowd)s",
    "INSERT INTO collections_chunk (collection_id, document_id, ordinal, start_offset, end_offset, external_id, text,"
    " metadata, section_path) SELECT %(crowd)s, document.id, n, 100 * n, 100 * (n + 1), document.id || ':' || n,"
    " repeat('word ', 20), jsonb_build_object('n', n, 'kind', 'usual'), ARRAY['Part ' || n]"
    " FROM collections_document AS document, generate_series(0, 1) AS n WHERE document.collection_id = %(crowd)s",
    "INSERT INTO stores_vector (generation_id, chunk_id, embedding)"
    " SELECT %(generation)s, id, array_fill(0.1, ARRAY[256])::vector FROM collections_chunk"
    " WHERE collection_id = %(crowd)s",
    "INSERT INTO stores_segment (collection_id, size, live, live_length, first_chunk_id, last_chunk_id, chunk_ids,"
    " lengths, dead) SELECT %(crowd)s, 10, 10, 100, 1, 1, decode(repeat('00', 80), 'hex'),"
    " decode(repeat('00', 40), 'hex'), '' FROM generate_series(1, 2000) AS n",
    "INSERT INTO stores_postingblock (segment_id, first_term, data) SELECT segment.id, chr(97 + n),"
    " decode(repeat('00', 400), 'hex') FROM stores_segment AS segment, generate_series(0, 9) AS n"
    " WHERE segment.collection_id = %(crowd)s",
    "INSERT INTO search_querylog (asked_at, asked_by, request_id, collections, text, text_form, mode, fusion,"
    " query_strategy, top_k, filtered, result_count, results, warnings, took_ms, stages_ms)"
    " SELECT now() - n * interval '5 minutes', 'test', '', '{}', repeat('x', 64), 'hashed', 'fast', 'rrf', '', 5,"
    " false, 0, '[]', '{}', 1, '{}' FROM generate_series(1, 8000) AS n",
    "ANALYZE " + ", ".join(BIG),
)


@pytest.fixture(autouse=True)
def _crowded(db: None) -> None:
    """Two small collections among many others."""
    # Some of each section stand together, so that there is something to show around a passage.
    guide = "# Guide\n\n" + "\n\n".join(f"## {fruit}\n\n" + "\n\n".join(map(sentence, FRUITS)) for fruit in FRUITS)
    texts = {f"d{n}": guide.replace("apple", f"apple{n}") for n in range(6)}
    metadata = {name: {"kind": name} for name in texts}
    filled("c", texts, metadata=metadata, chunking=SMALL)
    filled("parents", texts, metadata=metadata, chunking={**SMALL, "parent_size": 60})
    change_collection(name="c", aliases=["fruits"])
    crowd = Collection.objects.create(name="crowd", store="pgvector")
    generation = Generation.objects.create(collection=crowd, dimension=256, distance="cosine")
    with connection.cursor() as cursor:
        for text in CROWD:
            cursor.execute(text, {"crowd": crowd.pk, "generation": generation.pk})


@contextmanager
def explained() -> Iterator[dict[str, str]]:
    """By its text the plan of each statement on tables that runs inside, where no words are remembered."""
    plans: dict[str, str] = {}
    segments.memory.cache_clear()

    def explain(execute: Any, query: Any, params: Any, many: bool, context: Any) -> Any:
        text = query.as_string() if isinstance(query, sql.Composable) else query
        bare = re.sub(r"^\s*(--.*\n\s*)*", "", text)
        if bare.startswith(("SELECT", "WITH", "DELETE", "UPDATE")) and any(table in bare for table in BIG):
            with binary_cursor() as cursor:
                cursor.execute("EXPLAIN " + text, params)
                plans[bare] = "\n".join(line for (line,) in cursor.fetchall())
        return execute(query, params, many, context)

    with connection.execute_wrapper(explain):
        yield plans


def check(plans: dict[str, str], *tables: str) -> None:
    """None of these statements reads a table from end to end, and these are read."""
    whole = {text: re.findall(r"Seq Scan on (\w+)", plan) for text, plan in plans.items()}
    assert {text: found for text, found in whole.items() if {*found} & {*BIG}} == {}
    assert [table for table in tables if not any(table in plan for plan in plans.values())] == []


SEARCHED = ("collections_collection", "collections_chunk", "stores_segment", "stores_postingblock", "stores_vector")
RARE = And((Compare("kind", "$eq", "d1"), Compare(None, "$contains", "banana")))


def test_a_table_that_is_read_whole_would_be_seen() -> None:
    with explained() as plans:
        assert Chunk.objects.filter(text__endswith="absent").count() == 0
    with pytest.raises(AssertionError):
        check(plans)


def test_a_search_and_its_entry_in_the_query_log() -> None:
    before = QueryLog.objects.count()
    for mode in MODE_NAMES:
        with explained() as plans:
            assert len(look("apple1 banana", mode=mode, top_k=20).hits) == 20
        check(plans, *SEARCHED)
    assert QueryLog.objects.count() == before + len(MODE_NAMES)


def test_whatever_the_collection_is_called_by_and_shows() -> None:
    for name, read in (("fruits", "collections_alias"), ("parents", "collections_documenttext")):
        with explained() as plans:
            assert look("apple1 banana", name=name).hits
        check(plans, *SEARCHED, read)
    with explained() as plans:
        assert look("apple1 banana", name="content_chunks").hits == []
    check(plans, "collections_collection")


def test_what_stands_around_and_everything_else_that_may_be_asked_for() -> None:
    for expand in ("window:2", "section", "document"):
        with explained() as plans:
            found = look(
                "apple1 banana",
                expand=Expansion.parse(expand),
                group_size=2,
                diversity=0.5,
                highlight=True,
                facets=["kind"],
                explain=True,
                min_score=0.0,
            )
        assert found.hits
        assert found.facets["kind"]
        check(plans, *SEARCHED, "collections_documenttext")


@pytest.mark.parametrize("first", ["filter", "distance"])
def test_a_filter_whichever_way_is_taken(monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    monkeypatch.setattr(search_plan, "is_filter_first", lambda **_: first == "filter")
    for name, value in (("_FIRST_LOOK", 0), ("_LEAST_LOOKED", 1), ("_MOST_LOOKED", 0)):
        monkeypatch.setattr(keywords, name, value)
    selectivity._remembered.clear()
    with explained() as plans:
        found = look("apple1 banana cherry", top_k=50, where=RARE, explain=True)
    assert {hit.metadata["kind"] for hit in found.hits} == {"d1"}
    assert found.explanation is not None
    assert found.explanation.ways["words in english"] == "filter first"
    check(plans, *SEARCHED)


def test_several_collections() -> None:
    with explained() as plans:
        found = search_collections(collection_names=["c", "parents", "fruits"], query="banana", where=RARE, top_k=20)
    assert {hit.collection for hit in found.hits} == {"c", "parents"}
    check(plans, *SEARCHED)


def test_why_nothing_was_found() -> None:
    where = And((Compare("kind", "$eq", "d1"), Compare("kind", "$eq", "d2"), Compare(None, "$contains", "x")))
    with explained() as plans:
        found = look("banana", where=where, min_score=0.9, explain=True)
    assert found.explanation is not None
    assert len(found.explanation.survivors) == 5
    check(plans, "collections_chunk")


def test_similarities_of_what_words_alone_found() -> None:
    with explained() as plans:
        found = look("apple1 banana", legs="lexical")
    assert all(hit.metadata["similarity_score"] is not None for hit in found.hits)
    assert codes(found) == []
    check(plans, "stores_vector")


def test_forgetting_old_queries() -> None:
    QueryLog.objects.filter(pk__in=QueryLog.objects.order_by("pk").values("pk")[:50]).update(
        asked_at=timezone.now() - timedelta(days=90)
    )
    search(collection_name="c", query="banana")
    with explained() as plans:
        assert count_before(before=timezone.now() - timedelta(days=30)) == 50
        assert forget_due() == 50
    check(plans, "search_querylog_asked_at")
