"""What the console's pages hold: nothing active of the users', nothing from elsewhere, no costly counts."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from collections_app.models import Document
from console_app.highlighting import marked
from core_app.ports import QueryEngine
from inference_app.hashing import HashingEmbedder
from tests.integration.console.conftest import Rows, make_rows, pages

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
HOSTILE_NAME = "\"'><img src=x onerror=alert(3)><script>"


def test_hostile_names_and_texts_are_escaped_everywhere(root: Client) -> None:
    rows = make_rows(name=HOSTILE_NAME, text=HOSTILE)
    shown = 0
    for path in ["", *pages(rows)]:
        page = root.get(f"/admin/{path}").content.decode()
        assert "<img src=x" not in page, path
        assert "<script>" not in page, path
        shown += "&lt;script&gt;" in page
    assert shown > 10  # they were there, as text


def test_no_page_has_a_script_inside_or_loads_anything_from_elsewhere(root: Client, rows: Rows) -> None:
    for path in ["", *pages(rows)]:
        page = root.get(f"/admin/{path}").content.decode()
        for tag in re.findall(r"<script\b[^>]*>", page):
            assert " src=" in tag, (path, tag)
        assert not re.search(r"\son[a-z]+=[\"']", page), path
        assert not re.search(r"(?:src|href|action)=[\"'](?:https?:)?//", page), path


def test_the_home_page_says_what_embeds_queries(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Queries are embedded by hashing." in root.get("/admin/").content.decode()
    engine = QueryEngine(name="torch", reason="onnxruntime cannot be imported", is_fallback=True)
    monkeypatch.setattr(HashingEmbedder, "query_engine", engine)
    note = "Queries are embedded by torch: onnxruntime cannot be imported. Searches find the same, but take longer."
    assert f'<div class="rs-note">{note}</div>' in root.get("/admin/").content.decode()
    assert root.get("/health").json()["query_engine"]["is_fallback"]
    monkeypatch.setattr(HashingEmbedder, "query_engine", QueryEngine(name="torch", is_loading=True))
    assert "The embedding model is being loaded" in root.get("/admin/").content.decode()


def test_the_policy_forbids_inline_scripts(root: Client) -> None:
    policy = root.get("/admin/")["Content-Security-Policy"]
    scripts = next(part for part in policy.split(";") if part.strip().startswith("script-src"))
    assert "'unsafe-inline'" not in scripts
    assert "http" not in scripts


def test_lists_take_the_same_number_of_queries_for_many_rows_as_for_one(root: Client, rows: Rows) -> None:
    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert root.get(path).status_code == 200
        return len(captured)

    paths = (
        "/admin/",
        "/admin/collections/collection/",
        "/admin/collections/document/",
        "/admin/collections/chunk/",
        "/admin/ingest/job/",
        "/admin/search/querylog/",
    )
    before = [queries(path) for path in paths]
    for number in range(5):
        make_rows(name=f"more-{number}", text=f"text {number}")
    assert [queries(path) for path in paths] == before


def test_documents_are_found_by_source_and_by_outcome(root: Client, rows: Rows) -> None:
    Document.objects.create(collection=rows.collection, source="broken.pdf", state="failed", error="It is cut off.")
    listed = "/admin/collections/document/"
    assert b"broken.pdf" in root.get(f"{listed}?q=broken").content
    assert b"broken.pdf" not in root.get(f"{listed}?q=ducks").content
    assert b"broken.pdf" in root.get(f"{listed}?outcome=failed").content
    assert b"broken.pdf" not in root.get(f"{listed}?outcome=stale").content
    failed = Document.objects.get(source="broken.pdf")
    page = root.get(f"{listed}{failed.pk}/change/").content
    assert b"It is cut off." in page


def test_a_chunk_is_shown_with_its_place(root: Client, rows: Rows) -> None:
    page = root.get(f"/admin/collections/chunk/{rows.chunk.pk}/change/").content.decode()
    for part in ("Ducks eat small fish.", "<dd>3</dd>", "Characters</dt><dd>0", rows.chunk.external_id):
        assert part in page


@pytest.mark.parametrize("path", ["collections/collection/999/change/", "collections/chunk/x/change/", "nowhere/"])
def test_what_is_gone_is_a_page_that_says_so(root: Client, path: str) -> None:
    answer = root.get(f"/admin/{path}")
    assert answer.status_code == 404
    assert b"Nothing here" in answer.content


def test_highlighting_marks_ranges_and_escapes_everything() -> None:
    text = "Ducks & <b>geese</b>"
    assert marked(text, [(0, 5), (11, 16)]) == (
        '<mark class="rs-mark">Ducks</mark> &amp; &lt;b&gt;<mark class="rs-mark">geese</mark>&lt;/b&gt;'
    )
    assert marked(text, [(0, 5), (11, 16)], start=3, end=7) == '<mark class="rs-mark">ks</mark> &amp;'
    assert marked(text, [(0, 5)], start=5) == " &amp; &lt;b&gt;geese&lt;/b&gt;"
    assert marked("", []) == ""
