"""The pages of filters, and what the builder asks of the server (issue 7, point 4)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from collections_app import previewing
from collections_app.filters import get_filter, list_filters, save_filter
from collections_app.models import Chunk, Collection, NamedFilter
from core_app.where.operators import MAX_DEPTH, OPERATORS
from tests.integration.collections.test_fields import stored
from tests.integration.console.conftest import Login

pytestmark = pytest.mark.django_db

BASE = "/admin/collections/collection/filters"
HOSTILE = "\"'><img src=x onerror=alert(1)><script>"
VIEW = ("collections.view_collection", "collections.view_chunk")


@pytest.fixture
def docs(db: None) -> Collection:
    return stored("docs", {"lang": "en", "year": 2020}, {"lang": "de", HOSTILE: HOSTILE}, {})


def preview(client: Client, where: str, **more: str) -> Any:
    answer = client.post(f"{BASE}/preview/", {"collection": "docs", "where": where, **more})
    assert answer.status_code == 200
    return answer.json()


def test_the_builder_is_told_fields_operators_and_bounds(root: Client, docs: Collection) -> None:
    save_filter(collection_name="docs", name="en", where={"lang": "en"})
    found = root.get(f"{BASE}/fields/", {"collection": "docs"}).json()
    assert [field["name"] for field in found["fields"]] == ["lang", HOSTILE, "year"]
    assert found["fields"][0]["missing"] == 1
    assert found["text_operators"] == [row.name for row in OPERATORS.values() if row.on_text]
    assert [row["name"] for row in found["operators"]] == [*OPERATORS]
    assert (found["max_depth"], found["note"]) == (MAX_DEPTH, "")
    assert found["filters"] == [{"name": "en", "text": '{\n  "lang": "en"\n}'}]
    values = root.get(f"{BASE}/values/", {"collection": "docs", "field": "year", "typed": "20"}).json()
    assert values == {"values": ["2020"]}


def test_a_preview_is_a_tree_and_escaped_html(root: Client, docs: Collection) -> None:
    found = preview(root, json.dumps({HOSTILE: {"$ne": "x"}, "lang": "de"}))
    assert found["refused"] is None
    assert [part["operator"] for part in found["tree"]["parts"]] == ["$ne", "$eq"]
    assert "1 chunk passes." in found["html"]
    assert "<img" not in found["html"]
    assert "<script" not in found["html"]
    assert "&lt;img src=x" in found["html"]
    assert "pass here, too" in found["html"]
    assert "do not pass here" in found["html"]


@pytest.mark.parametrize("where", ["", "  ", "{}"])
def test_no_filter_is_said_in_so_many_words(root: Client, docs: Collection, where: str) -> None:
    found = preview(root, where)
    assert "No filter: all chunks of the collection pass." in found["html"]
    assert found["tree"]["parts"] == []


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("{", "must be valid JSON"),
        ("[]", "must be a JSON object"),
        ('{"a": {"$no": 1}}', "$.a.$no: is not an operator"),
    ],
)
def test_a_mistake_is_the_servers_sentence(root: Client, docs: Collection, where: str, sentence: str) -> None:
    found = preview(root, where)
    assert sentence in found["refused"]
    assert found["tree"] is None


def test_a_text_that_is_too_long_is_not_read(root: Client, docs: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console_app.filtering.MAX_TEXT", 10)
    assert preview(root, '{"lang": "en"}')["refused"] == "This filter is too long."


def test_what_could_not_be_counted_is_marked(root: Client, docs: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point 4: an estimate, clearly marked ("about"); capped at 10,000+."""
    given = {"meaning": "m"}
    answers = [
        previewing.FilterPreview(count=1234, is_estimate=True, sampled=1000, **given),  # type: ignore[arg-type]
        previewing.FilterPreview(count=0, is_estimate=True, sampled=1000, **given),  # type: ignore[arg-type]
        previewing.FilterPreview(count=None, is_estimate=True, **given),  # type: ignore[arg-type]
        previewing.FilterPreview(count=10_000, is_capped=True, **given),  # type: ignore[arg-type]
    ]
    monkeypatch.setattr("console_app.filtering.preview_filter", lambda **_: answers.pop(0))
    assert "About 1,234 chunks pass, judged by 1,000 of them." in preview(root, "{}")["html"]
    assert "none passes: about 0" in preview(root, "{}")["html"]
    assert "It takes too long to count what passes." in preview(root, "{}")["html"]
    assert "10,000+ chunks pass." in preview(root, "{}")["html"]


def test_a_filter_is_saved_renamed_and_deleted(root: Client, docs: Collection) -> None:
    page = f"/admin/collections/collection/{docs.pk}/filters/"
    assert b"No filter is kept yet" in root.get(page).content
    sent = {"name": HOSTILE, "where": '{"lang": "en"}', "description": HOSTILE, "before": ""}
    saved = root.post(page, sent, follow=True)
    assert b"<img src=x" not in saved.content
    assert get_filter(collection_name="docs", name=HOSTILE).description == HOSTILE
    again = root.post(page, {**sent, "where": '{"lang": "de"}'})
    assert b"There is a filter of this name already." in again.content
    assert get_filter(collection_name="docs", name=HOSTILE).where == {"lang": "en"}
    root.post(page, {**sent, "before": HOSTILE, "name": "n", "where": '{"lang": "de"}'})
    assert [(row.name, row.where) for row in list_filters(collection_name="docs")] == [("n", {"lang": "de"})]
    root.post(page, {"forget": "n"})
    assert list_filters(collection_name="docs") == []
    assert b"not found" in root.post(page, {"forget": "n"}, follow=True).content


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"name": "n", "where": ""}, "Add at least one condition."),
        ({"name": "n", "where": "{}"}, "must not be empty"),
        ({"name": "n", "where": "{"}, "must be valid JSON"),
        ({"name": "a/b", "where": '{"a": 1}'}, "A filter&#x27;s name has"),
        ({"name": "", "where": '{"a": 1}'}, "This field is required."),
    ],
)
def test_what_is_refused_is_told_and_changes_nothing(
    root: Client, docs: Collection, sent: dict[str, str], sentence: str
) -> None:
    save_filter(collection_name="docs", name="old", where={"lang": "en"})
    answer = root.post(f"/admin/collections/collection/{docs.pk}/filters/", {**sent, "before": "old"})
    assert sentence in answer.content.decode()
    assert [(row.name, row.where) for row in list_filters(collection_name="docs")] == [("old", {"lang": "en"})]


def test_who_may_do_what(login: Login, docs: Collection) -> None:
    """Point 4 with point 7: seeing filters shows chunks; changing them takes the right to change the collection."""
    page = f"/admin/collections/collection/{docs.pk}/filters/"
    sent = {"name": "n", "where": '{"lang": "en"}', "before": ""}
    viewer = login(*VIEW)
    assert viewer.get(page).status_code == 200
    assert b"Save filter" not in viewer.get(page).content
    assert viewer.post(page, sent).status_code == 403
    assert preview(viewer, "{}")["refused"] is None
    for permission in VIEW:
        half = login(permission)
        assert half.get(page).status_code == 403
        assert half.get(f"{BASE}/fields/", {"collection": "docs"}).status_code == 403
        assert half.get(f"{BASE}/values/", {"collection": "docs", "field": "lang"}).status_code == 403
        assert half.post(f"{BASE}/preview/", {"collection": "docs"}).status_code == 403
    assert login(*VIEW, "collections.change_collection").post(page, sent).status_code == 302
    assert Client(headers={"host": "127.0.0.1"}).get(f"{BASE}/fields/").status_code == 302


def test_a_collection_that_is_not_there_is_404(root: Client, db: None) -> None:
    assert root.get(f"{BASE}/fields/", {"collection": "nowhere"}).status_code == 404
    assert root.post(f"{BASE}/preview/", {"collection": ""}).status_code == 404
    assert root.get("/admin/collections/collection/99999/filters/").status_code == 404


def test_pages_take_as_many_queries_for_many_filters_as_for_one(root: Client, docs: Collection) -> None:
    """Issue 7, numbers: 40 queries at most, and never a count of the chunks."""
    page = f"/admin/collections/collection/{docs.pk}/filters/"

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            assert root.get(page).status_code == 200
        return [found["sql"] for found in captured]

    save_filter(collection_name="docs", name="one", where={"lang": "en"})
    before = queries()
    for number in range(20):
        save_filter(collection_name="docs", name=f"f{number}", where={"lang": "en"})
    after = queries()
    assert len(before) == len(after) <= 40
    assert not any(Chunk._meta.db_table in sql for sql in after)


def test_a_filter_that_cannot_be_read_any_more_is_listed(root: Client, docs: Collection) -> None:
    row, _ = save_filter(collection_name="docs", name="old", where={"lang": "en"})
    NamedFilter.objects.filter(pk=row.pk).update(where={"lang": {"$near": HOSTILE}})
    page = root.get(f"/admin/collections/collection/{docs.pk}/filters/", {"name": "old"})
    assert "This version cannot read the filter" in page.content.decode()
    assert "$near" in page.content.decode().partition('name="where"')[2], "it can be mended"
    assert root.get(f"{BASE}/fields/", {"collection": "docs"}).status_code == 200


def test_a_filter_has_a_history(root: Client, login: Login, docs: Collection) -> None:
    row, _ = save_filter(collection_name="docs", name="en", where={"lang": "en"})
    save_filter(collection_name="docs", name="en", where={"lang": "de"})
    page = f"/admin/collections/collection/{docs.pk}/filters/"
    address = f"{page}{row.pk}/history/"
    assert address in root.get(page).content.decode()
    assert root.get(address).content.decode().count("Filter saved") == 2
    assert root.get(f"{page}999999/history/").status_code == 404
    assert login(*VIEW).get(address).status_code == 403
    assert "/history/" not in login(*VIEW).get(page).content.decode()
    assert login(*VIEW, "access.view_auditentry", collections=["other"]).get(address).status_code == 404
