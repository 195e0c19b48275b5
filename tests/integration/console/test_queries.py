"""The console's list of queries."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.sites import site
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from console_app.queries_admin import HASH_SHOWN
from search_app.models import QueryLog
from tests.integration.console.conftest import Login, Rows, make_rows

pytestmark = pytest.mark.django_db

LIST = "/admin/search/querylog/"


def log(text: str, **changes: Any) -> QueryLog:
    """A query that one would find in the list."""
    values: dict[str, Any] = {
        "asked_by": "shop",
        "collections": ["tea"],
        "text": text,
        "text_form": "plain",
        "mode": "balanced",
        "fusion": "rrf",
        "query_strategy": "first message (raw query)",
        "top_k": 5,
        "filtered": False,
        "result_count": 3,
        "took_ms": 1234.4,
    }
    return QueryLog.objects.create(**values | changes)


def test_the_newest_come_first(root: Client) -> None:
    for text in ("oolong", "matcha", "sencha"):
        log(text)
    page = root.get(LIST).content.decode()
    assert page.index("sencha") < page.index("matcha") < page.index("oolong")
    for part in ("shop", "tea", "balanced", "1,234 ms", "3 queries"):
        assert part in page


def test_they_are_filtered(root: Client) -> None:
    make_rows(name="tea")
    QueryLog.objects.all().delete()
    log("oolong", collections=["coffee"])
    log("matcha", result_count=0, status="failed", error="embedder_unavailable")
    log("sencha", warnings=["embedding_failed"], status="degraded", collections=["coffee", "tea"])
    shown = {
        "collection=tea": {"matcha", "sencha"},
        "collection=coffee": {"oolong", "sencha"},  # there is no such collection any more
        "found=nothing": {"matcha"},
        "found=something": {"oolong", "sencha"},
        "warned=yes": {"sencha"},
        "warned=no": {"oolong", "matcha"},
        "status=ok": {"oolong"},
        "status=degraded": {"sencha"},
        "status=failed": {"matcha"},
        "status=wrong": {"matcha", "sencha"},
        "status=nonsense": set(),
        "collection=tea&found=nothing&warned=no": {"matcha"},
        "collection=nowhere": set(),
    }
    for query, expected in shown.items():
        page = root.get(f"{LIST}?{query}")
        assert page.status_code == 200, query
        assert {word for word in ("oolong", "matcha", "sencha") if word in page.content.decode()} == expected, query


def test_text_is_shown_as_it_was_kept(root: Client) -> None:
    digest = "0123456789abcdef" * 4
    hashed = log(digest, text_form="hashed")
    log("mail [email]", text_form="masked")
    page = root.get(LIST).content.decode()
    assert f"{digest[:HASH_SHOWN]}…" in page
    assert digest not in page
    assert "mail [email]" in page
    assert digest in root.get(f"{LIST}{hashed.pk}/change/").content.decode()


def test_one_shows_its_results_and_times(root: Client, rows: Rows) -> None:
    page = root.get(f"{LIST}{rows.query.pk}/change/").content.decode()
    for part in (
        "Ducks eat small fish.",
        "Ducks eat small fish.:0",
        "handbook",
        "12.3 ms",
        "3.20 ms",
        "no_embedder",
        "r1",
    ):
        assert part in page
    nothing = log("oolong", result_count=0)
    assert "Nothing was found." in root.get(f"{LIST}{nothing.pk}/change/").content.decode()
    failed = log("oolong", result_count=0, status="failed", error="embedder_unavailable", mode="", fusion="")
    page = root.get(f"{LIST}{failed.pk}/change/").content.decode()
    assert "Failed: <code>embedder_unavailable</code>" in page
    assert "The search failed." in page
    assert "Nothing was found." not in page
    assert "embedder_unavailable" in root.get(LIST).content.decode()
    assert root.get(f"{LIST}999999/change/").status_code == 404


def test_nothing_can_be_written(root: Client, rows: Rows) -> None:
    assert root.get(f"{LIST}add/").status_code == 403
    for path in ("add/", f"{rows.query.pk}/change/", f"{rows.query.pk}/delete/"):
        root.post(f"{LIST}{path}", {"text": "other", "post": "yes"})
    assert QueryLog.objects.get() == rows.query
    assert QueryLog.objects.get().text == "Ducks eat small fish."
    assert not site.get_model_admin(QueryLog).actions


def test_the_sidebar_offers_it_to_those_who_may_see_it(login: Login) -> None:
    assert f'href="{LIST}"' in login("search.view_querylog").get("/admin/").content.decode()
    everything_else = login("collections.view_collection", "collections.view_chunk", "ingest.view_job")
    assert f'href="{LIST}"' not in everything_else.get("/admin/").content.decode()


def test_an_empty_list_says_why(root: Client) -> None:
    assert "Search:QueryLog" in root.get(LIST).content.decode()


def test_a_page_costs_little_however_many_there_are(root: Client) -> None:
    """The list is read through an index, a page at a time, and never counted to its end."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO search_querylog (
                asked_at, asked_by, request_id, collections, text, text_form, mode, fusion, query_strategy, top_k,
                filtered, result_count, results, warnings, took_ms, stages_ms, status)
            SELECT now() - make_interval(secs => n), 'shop', '',
                   ARRAY[CASE WHEN n % 200 = 0 THEN 'rare' ELSE 'tea' END],
                   '', 'plain', 'fast', 'rrf', '', 5, false, n % 200, '[]',
                   CASE WHEN n % 200 = 0 THEN ARRAY['no_embedder'] ELSE '{}' END, 1, '{}',
                   CASE WHEN n % 200 = 100 THEN 'failed' WHEN n % 200 = 0 THEN 'degraded' ELSE 'ok' END
            FROM generate_series(1, 20000) AS n
            """
        )
        cursor.execute("ANALYZE search_querylog")
    wanted = {"": "asked_at", "found=nothing": "nothing", "warned=yes": "warned", "collection=rare": "collections"}
    wanted |= {"status=wrong": "not_ok", "status=failed": "not_ok"}
    for query, index in wanted.items():
        with CaptureQueriesContext(connection) as captured:
            assert root.get(f"{LIST}?{query}").status_code == 200
        asked = [found["sql"] for found in captured if 'FROM "search_querylog"' in found["sql"]]
        assert all("LIMIT" in sql for sql in asked), query
        (rows,) = [sql for sql in asked if "COUNT(" not in sql]
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {rows}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert f"search_querylog_{index}" in plan, query
        assert "Seq Scan" not in plan, query
