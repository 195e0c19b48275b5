"""The parts of the home page: what is missing, searches per day, newest failures."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
from django.db import connection
from django.db.models import Func, QuerySet, TextField
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from collections_app.models import Chunk, Collection, Document, Generation
from console_app import home_parts
from console_app.coverage import SHOWN
from ingest_app.models import Item, Job
from search_app.activity import MOST_COUNTED, searches_by_day
from search_app.models import QueryLog
from tests.integration.console.conftest import Login, Rows, make_rows
from tests.integration.search.asking import configure

pytestmark = pytest.mark.django_db

PARTS = "/admin/collections/collection/home"
HOSTILE = "<script>alert(1)</script>\u202e'\"><img src=x onerror=alert(2)>"


def cells(page: str) -> list[str]:
    """The numbers of a table, in the order of its cells."""
    return re.findall(r'rs-number[^"]*"[^>]*>(?:<[^>]+>)?([^<]*)', page)


def add_query(
    *, at: datetime.datetime, took_ms: float = 10.0, results: int = 1, warnings: tuple[str, ...] = ()
) -> None:
    QueryLog.objects.create(
        asked_at=at,
        asked_by="test",
        collections=["handbook"],
        text_form="plain",
        mode="balanced",
        fusion="rrf",
        query_strategy="raw",
        top_k=5,
        filtered=False,
        result_count=results,
        warnings=list(warnings),
        took_ms=took_ms,
    )


def test_the_page_asks_for_its_slow_parts_once_it_stands(root: Client, rows: Rows) -> None:
    page = root.get("/admin/").content.decode()
    for part in ("coverage", "searches", "failures", "health"):
        assert f'hx-get="{PARTS}/{part}/" hx-trigger="load"' in page


def test_a_part_is_there_only_for_those_who_may_see_it(login: Login, rows: Rows) -> None:
    page = login("collections.view_collection").get("/admin/").content.decode()
    assert f"{PARTS}/coverage/" in page
    for part in ("searches", "failures", "health"):
        assert f"{PARTS}/{part}/" not in page


def test_what_is_missing_is_counted_and_linked(root: Client, rows: Rows) -> None:
    make = Document.objects.create
    make(collection=rows.collection, source="empty.md", size_bytes=2048)
    make(
        collection=rows.collection, source="cut.pdf", state="failed", error="It is cut off.", error_code="corrupt_file"
    )
    Document.objects.filter(pk=rows.document.pk).update(error="")
    whole = root.get(f"{PARTS}/coverage/").content.decode()
    there = f"/admin/collections/collection/{rows.collection.pk}/coverage/"
    # Bytes, documents without chunks, chunks without vectors (no vector was ever written), failed ones.
    assert cells(whole) == ["2.0\xa0KB", "1", "1", "1"]
    for anchor in ("documents", "chunks", "failed"):
        assert f'href="{there}#{anchor}"' in whole
    page = root.get(there).content.decode()
    for part in ("empty.md", "cut.pdf", "It is cut off.", "Open it in the program", rows.chunk.external_id):
        assert part in page


def test_chunks_of_another_generation_do_not_count_as_vectors(rows: Rows) -> None:
    old, new = (Generation.objects.create(collection=rows.collection, dimension=2, distance="cosine") for _ in range(2))
    with connection.cursor() as cursor:
        insert = "INSERT INTO stores_vector (generation_id, chunk_id, embedding) VALUES (%s, %s, '[1,2]')"
        cursor.execute(insert, [old.pk, rows.chunk.pk])
    collection = rows.collection
    for generation, missing in ((old, 0), (new, 1), (None, 1)):
        collection.active_generation = generation
        (row,) = home_parts.coverage_rows([collection])
        assert row.without_vectors == missing
        assert row.is_whole is False  # the document of the usual rows has failed


def test_counting_that_takes_too_long_says_so(root: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(**_: object) -> dict[int, int]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(5)")
        return {}

    monkeypatch.setattr(home_parts, "COUNT_SECONDS", 0.05)
    monkeypatch.setattr(home_parts, "count_without_vectors", slow)
    assert "not counted" in root.get(f"{PARTS}/coverage/").content.decode()


def test_documents_that_take_too_long_to_count_are_said_to_be_not_counted(
    root: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(**_: object) -> dict[int, int]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(5)")
        return {}

    monkeypatch.setattr(home_parts, "COUNT_SECONDS", 0.05)
    monkeypatch.setattr(home_parts, "coverage_of", slow)
    assert root.get(f"{PARTS}/coverage/").content.decode().count("not counted") == 3


def test_documents_that_take_too_long_to_find_are_told(
    root: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*, collection: Collection) -> QuerySet[Document]:
        return Document.objects.annotate(late=Func(5.0, function="pg_sleep", output_field=TextField()))

    there = f"/admin/collections/collection/{rows.collection.pk}/coverage/"
    assert "Looking for them took too long" not in root.get(there).content.decode()
    monkeypatch.setattr("console_app.coverage.SEARCH_SECONDS", 0.05)
    for name, found in (("without_chunks", 1), ("failed", 2)):
        monkeypatch.setattr(f"console_app.coverage.{name}", slow)
        page = root.get(there).content.decode()
        assert page.count("Looking for them took too long") == found
        assert rows.chunk.external_id in page


def test_chunks_without_vectors_are_paged_by_key(root: Client, rows: Rows) -> None:
    Chunk.objects.bulk_create(
        Chunk(collection=rows.collection, external_id=f"c{number:03}", text="t") for number in range(SHOWN + 5)
    )
    there = f"/admin/collections/collection/{rows.collection.pk}/coverage/"
    first = root.get(there).content.decode()
    found = re.search(r'href="\?after=(\d+)#chunks"', first)
    assert found
    assert "c054" not in first
    rest = root.get(f"{there}?after={found[1]}").content.decode()
    assert "c054" in rest
    assert "c001" not in rest
    assert "?after=" not in rest
    assert root.get(f"{there}?after=x").status_code == 200


def test_the_page_of_what_is_missing_shows_only_what_one_may_see(login: Login, rows: Rows) -> None:
    Document.objects.create(collection=rows.collection, source="secret.md")
    page = (
        login("collections.view_collection")
        .get(f"/admin/collections/collection/{rows.collection.pk}/coverage/")
        .content.decode()
    )
    assert "secret.md" not in page
    assert rows.chunk.external_id not in page
    assert "Ask an administrator" in page


def test_searches_are_counted_by_day(root: Client, db: None) -> None:
    now = timezone.now().replace(hour=12, minute=0)
    for took in (10.0, 20.0, 30.0, 1010.0):
        add_query(at=now, took_ms=took)
    add_query(at=now - datetime.timedelta(days=1), results=0, warnings=("no_embedder",))
    add_query(at=now - datetime.timedelta(days=40))
    days = searches_by_day(days=14)
    assert [day.total for day in days] == [0] * 12 + [1, 4]
    assert days[-1].day == now.date()
    assert days[-1].p95_ms == pytest.approx(863.0)
    assert (days[-2].nothing_found, days[-2].warned) == (1, 1)
    assert days[0].p95_ms is None
    page = root.get(f"{PARTS}/searches/").content.decode()
    assert page.count("<tr>") == 15
    assert "863 ms" in page
    assert "100 %" in page
    assert 'rect width="25"' in page


def test_a_day_is_not_counted_to_its_end(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    assert searches_by_day(days=1)[0].is_capped is False
    assert home_parts.bars([])[:1] == []
    with CaptureQueriesContext(connection) as captured:
        searches_by_day(days=3)
    (query,) = captured
    assert f"LIMIT {MOST_COUNTED}" in query["sql"]


def test_a_log_that_is_off_says_so(root: Client, db: None, settings: Any) -> None:
    assert "Nothing was searched" in root.get(f"{PARTS}/searches/").content.decode()
    configure(settings, "search", query_log="off")
    page = root.get(f"{PARTS}/searches/").content.decode()
    assert "Search:QueryLog is off" in page
    assert "Nothing was searched" not in page


def test_newest_failures_come_with_what_helps(root: Client, rows: Rows) -> None:
    assert "Nothing failed" in root.get(f"{PARTS}/failures/").content.decode()
    Item.objects.filter(pk=rows.item.pk).update(state="failed", error="Needs a password.", code="encrypted")
    Job.objects.create(kind="index", collection=rows.collection, state="failed", error="It broke.", code="server_error")
    page = root.get(f"{PARTS}/failures/").content.decode()
    assert page.index("It broke.") < page.index("Needs a password.")  # the newest job first
    assert "Remove its password and upload it anew" in page
    assert "The log of the workers has the cause" in page
    assert f"/admin/ingest/job/{rows.job.pk}/change/?show=failed" in page


def test_hostile_names_show_as_text_in_every_part(root: Client) -> None:
    rows = make_rows(name=HOSTILE.replace("/", ""), text=HOSTILE)
    Item.objects.filter(pk=rows.item.pk).update(state="failed", code="encrypted")
    for part in ("coverage", "searches", "failures", "health"):
        page = root.get(f"{PARTS}/{part}/").content.decode()
        assert "<script" not in page
        assert "<img" not in page
    assert "<bdi>&lt;script&gt;" in root.get(f"{PARTS}/failures/").content.decode()


def test_parts_take_as_many_queries_for_many_rows_as_for_one(root: Client, rows: Rows) -> None:
    def queries(part: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert root.get(f"{PARTS}/{part}/").status_code == 200
        return len(captured)

    Item.objects.update(state="failed")
    parts = ("coverage", "searches", "failures")
    before = [queries(part) for part in parts]
    for number in range(4):
        make_rows(name=f"more-{number}", text=f"text {number}")
    Item.objects.update(state="failed")
    assert Collection.objects.count() == 5
    assert [queries(part) for part in parts] == before
