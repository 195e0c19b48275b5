"""The lists of chunks and documents: pages that begin at a key, filters, and what is said where nothing fits."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from psycopg import sql as psql

from collections_app import browsing
from collections_app.models import Chunk, Document, DocumentText
from console_app import listing
from core_app.snapshot import snapshot
from tests.integration.console.conftest import Rows, make_rows

pytestmark = pytest.mark.django_db

CHUNKS, DOCUMENTS = "/admin/collections/chunk/", "/admin/collections/document/"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE_SIZE", 3)


def add_chunks(rows: Rows, count: int) -> list[int]:
    """Keys in the order of the document."""
    made = Chunk.objects.bulk_create(
        Chunk(
            collection=rows.collection,
            document=rows.document,
            external_id=f"x:{n}",
            text=f"passage {n}",
            ordinal=n,
            metadata={"n": n},
        )
        for n in range(1, count + 1)
    )
    return [rows.chunk.pk, *(chunk.pk for chunk in made)]


def shown(client: Client, address: str, **query: Any) -> tuple[list[int], str]:
    """The keys of the rows on a page, and all of it."""
    answer = client.get(address, query)
    assert answer.status_code == 200
    page = answer.content.decode()
    kind = address.strip("/").rpartition("/")[2]
    return [int(key) for key in re.findall(rf'class="rs-link rs-excerpt[^>]*/{kind}/(\d+)/change/"', page)], page


def link(page: str, rel: str) -> dict[str, str]:
    """The parameters of the link to another page; empty where there is none."""
    found = re.search(rf'rel="{rel}" href="\?([^"]*)"', page)
    return dict(parse_qsl(html.unescape(found[1]))) if found else {}


def leaf(client: Client, address: str, rel: str, **query: Any) -> list[list[int]]:
    """Page after page by its links, as long as there are any."""
    pages = []
    for _ in range(20):
        keys, page = shown(client, address, **query)
        pages.append(keys)
        query = link(page, rel)
        if not query:
            return pages
    raise AssertionError("the pages do not end")


@pytest.mark.usefixtures("short")
def test_chunks_are_leafed_through_both_ways_without_counting_or_skipping_rows(root: Client, rows: Rows) -> None:
    keys = add_chunks(rows, 7)
    newest = keys[::-1]
    with CaptureQueriesContext(connection) as captured:
        pages = leaf(root, CHUNKS, "next")
    assert pages == [newest[:3], newest[3:6], newest[6:]]
    asked = [query["sql"] for query in captured if "collections_chunk" in query["sql"]]
    assert not [sql for sql in asked if "OFFSET" in sql.upper()]
    assert all("LIMIT" in sql for sql in asked if "count(" in sql.lower()), asked

    back = leaf(root, CHUNKS, "prev", after=newest[5])
    assert back == [newest[6:], newest[3:6], newest[:3]]
    in_document = leaf(root, CHUNKS, "next", document__id__exact=rows.document.pk)
    assert in_document == [keys[:3], keys[3:6], keys[6:]]
    assert leaf(root, CHUNKS, "prev", document__id__exact=rows.document.pk, after=5) == [keys[6:], keys[3:6], keys[:3]]


def test_chunks_are_narrowed_by_what_was_done_to_them_and_by_a_filter(root: Client, rows: Rows) -> None:
    keys = add_chunks(rows, 4)
    other = make_rows(name="other", text="Other text.")
    Chunk.objects.filter(pk=keys[1]).update(disabled_at=timezone.now())
    Chunk.objects.filter(pk=keys[2]).update(edited_at=timezone.now())
    assert shown(root, CHUNKS, collection__id__exact=other.collection.pk)[0] == [other.chunk.pk]
    disabled, page = shown(root, CHUNKS, marked="disabled")
    assert disabled == [keys[1]]
    assert ">disabled<" in re.sub(r"\s", "", page)
    assert shown(root, CHUNKS, marked="edited", collection__id__exact=rows.collection.pk)[0] == [keys[2]]
    found, page = shown(root, CHUNKS, where='{"n": {"$gte": 3}}', collection__id__exact=rows.collection.pk)
    assert found == [keys[4], keys[3]]
    assert "2 chunks" in page
    assert "No chunk fits" in shown(root, CHUNKS, where='{"n": 9}')[1]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"where": "{n: 1}"}, "valid JSON"),
        ({"where": '{"n": {"$near": 1}}'}, "$near"),
        ({"where": '{"n": {"$regex": "(a"}}'}, "pattern"),
        ({"collection__id__exact": "999999"}, "Select a valid choice"),
        ({"marked": "lost"}, "Select a valid choice"),
    ],
)
def test_what_cannot_be_asked_for_is_said(root: Client, rows: Rows, query: dict[str, str], said: str) -> None:
    keys, page = shown(root, CHUNKS, **query)
    assert said in page
    assert keys == []


@pytest.mark.parametrize("place", ["x", "-1", "٣", "9" * 40, ""])
def test_a_place_that_is_none_breaks_nothing(root: Client, rows: Rows, place: str) -> None:
    for address in (CHUNKS, DOCUMENTS):
        shown(root, address, after=place)
        shown(root, address, before=place)
    assert root.get(f"{DOCUMENTS}{rows.document.pk}/change/", {"after": place}).status_code == 200
    assert root.get(f"{DOCUMENTS}{rows.document.pk}/read/", {"at": place}).status_code == 200


def test_more_than_can_be_counted_is_said_to_be_more(root: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "1 chunk<" in shown(root, CHUNKS)[1]
    add_chunks(rows, 2)
    monkeypatch.setattr(browsing, "MOST_COUNTED", 2)
    assert "2+ chunks<" in shown(root, CHUNKS)[1]


def test_an_empty_list_says_what_to_do(root: Client) -> None:
    assert "Upload files" in shown(root, CHUNKS)[1]
    assert "Upload files" in shown(root, DOCUMENTS)[1]


@pytest.mark.usefixtures("short")
def test_a_filter_that_takes_long_is_looked_for_in_a_part_after_another(
    root: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = add_chunks(rows, 9)
    query = {"where": '{"n": {"$in": [1, 2, 8]}}'}
    whole, page = shown(root, CHUNKS, **query)
    assert whole == [keys[8], keys[2], keys[1]]
    assert "3 chunks<" in page

    never_in_time(monkeypatch)
    first, page = shown(root, CHUNKS, **query)
    assert first == [keys[8]]
    assert "4 chunks were looked at" in page
    assert "data-count" not in page
    assert leaf(root, CHUNKS, "next", **query) == [[keys[8]], [keys[2]], [keys[1]]]
    assert leaf(root, CHUNKS, "prev", **query, before=keys[0] - 1) == [[keys[2], keys[1]], [], [keys[8]]]
    # Back from a page that holds nothing, whose key is that of a row before it.
    assert leaf(root, CHUNKS, "prev", **query, after=keys[1])[:2] == [[], [keys[2], keys[1]]]
    within = {**query, "document__id__exact": rows.document.pk}
    assert leaf(root, CHUNKS, "next", **within) == [[keys[1], keys[2]], [], [keys[8]]]


def test_a_statement_that_takes_too_long_is_given_up(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "PATIENCE_SECONDS", 0.05)
    slow = {"rows": psql.SQL("collections_chunk"), "scope": psql.SQL("(SELECT TRUE FROM pg_sleep(5))")}
    slow["where"] = psql.SQL("TRUE")
    with snapshot():
        assert browsing._in_time("browse_count", slow, {"most": 1}) is None
        fast = {**slow, "scope": psql.SQL("TRUE")}
        assert browsing._in_time("browse_count", fast, {"most": 1}) == [(1,)]


def never_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four rows at a time, as where everything takes long."""
    monkeypatch.setattr(browsing, "_in_time", lambda *_: None)
    monkeypatch.setattr(browsing, "LOOKED_AT", 4)


def add_documents(rows: Rows, count: int) -> list[int]:
    made = [Document.objects.create(collection=rows.collection, source=f"d{n}.md", title=f"T{n}") for n in range(count)]
    return [rows.document.pk, *(document.pk for document in made)]


@pytest.mark.usefixtures("short")
def test_documents_are_leafed_through_both_ways(root: Client, rows: Rows) -> None:
    newest = add_documents(rows, 6)[::-1]
    assert leaf(root, DOCUMENTS, "next") == [newest[:3], newest[3:6], newest[6:]]
    assert leaf(root, DOCUMENTS, "prev", after=newest[5]) == [newest[6:], newest[3:6], newest[:3]]
    within = {"collection__id__exact": rows.collection.pk}
    assert leaf(root, DOCUMENTS, "next", **within) == [newest[:3], newest[3:6], newest[6:]]


@pytest.mark.usefixtures("short")
def test_a_search_for_documents_looks_at_so_many_and_goes_on(
    root: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = add_documents(rows, 9)
    Document.objects.filter(pk__in=(keys[1], keys[8])).update(title="The HERON's")
    assert shown(root, DOCUMENTS, q="heron")[0] == [keys[8], keys[1]], "found in time"
    never_in_time(monkeypatch)
    first, page = shown(root, DOCUMENTS, q="heron")
    assert first == [keys[8]]
    assert "4 documents were looked at" in page
    assert leaf(root, DOCUMENTS, "next", q="heron") == [[keys[8]], [], [keys[1]]]
    assert shown(root, DOCUMENTS, q="%")[0] == [], "no wildcard"


def test_hostile_text_is_shown_as_text(root: Client) -> None:
    hostile = '<script>alert(1)</script>\u202e" onx="1'
    rows = make_rows(text=hostile)
    DocumentText.objects.create(document=rows.document, text=f"{hostile} and more", source_digest="d")
    Chunk.objects.update(disabled_at=timezone.now(), edited_at=timezone.now(), original_text=hostile)
    for path in (
        CHUNKS,
        DOCUMENTS,
        f"{CHUNKS}{rows.chunk.pk}/change/",
        f"{CHUNKS}{rows.chunk.pk}/edit/",
        f"{DOCUMENTS}{rows.document.pk}/change/",
        f"{DOCUMENTS}{rows.document.pk}/read/",
    ):
        page = root.get(path).content.decode()
        assert "<script>alert" not in page, path
        assert '" onx="' not in page, path
        assert "&lt;script&gt;" in page, path
