"""In a browser: filters are built by mouse and by keyboard, follow their JSON, are kept, and are used by name.

Issue 7, point 4, and its tests: build a two-level filter by mouse; no console error, no request elsewhere.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Locator, Page, expect

from collections_app.filters import get_filter, save_filter
from collections_app.models import Collection
from core_app.where import parse_where, parse_where_text
from core_app.where.operators import MAX_DEPTH
from core_app.where.outline import outline
from tests.integration.collections.test_fields import stored
from tests.unit.core.where_golden import EXTENDED, GOLDEN

pytestmark = pytest.mark.django_db(transaction=True)

HOSTILE = "<img src=x onerror=alert(1)>\u202egnp"
SHOWN = "<img src=x onerror=alert(1)>[U+202E]gnp"
METADATA = (
    {"lang": "en", "year": 2020, "tags": ["tax", "law"], "day": "2024-05-31", "draft": True},
    {"lang": "en", "year": 2024, "tags": ["law"], "day": "2024-06-30", "draft": False},
    {"lang": "de", "year": 2024, "tags": ["tax"], HOSTILE: HOSTILE},
    {"lang": "fr", "year": 2019},
)


@pytest.fixture
def collection(page: Page) -> Collection:
    found = stored("docs", *METADATA)
    page.goto(f"/admin/collections/collection/{found.pk}/filters/")
    expect(page.locator("[data-filter-count]")).to_contain_text("No filter: all chunks of the collection pass.")
    return found


def shown(page: Page) -> Any:
    return json.loads(page.locator("[name=where]").input_value())


def count(page: Page, text: str) -> None:
    expect(page.locator("[data-filter-count]")).to_contain_text(text)


def condition(page: Page, place: int) -> Locator:
    return page.locator(".rs-cond").nth(place)


def test_a_filter_of_two_levels_by_mouse(page: Page, collection: Collection, client: Client) -> None:
    page.get_by_role("button", name="Condition", exact=True).first.click()
    condition(page, 0).locator("[data-field]").select_option(label="year")
    condition(page, 0).locator("[data-operator]").select_option(label="is at least")
    condition(page, 0).locator("[data-value] input").fill("2020")
    count(page, "3 chunks pass.")
    page.get_by_role("button", name="Group", exact=True).first.click()
    condition(page, 1).locator("[data-field]").select_option(label="lang")
    condition(page, 1).locator("[data-operator]").select_option(label="is one of")
    value = condition(page, 1).locator("[data-value] input")
    value.fill("de")
    expect(condition(page, 1).locator("datalist option")).to_have_count(1)
    value.press("Enter")
    condition(page, 1).locator("[data-value] input").fill("fr")
    condition(page, 1).get_by_role("button", name="Add").click()
    page.locator(".rs-group .rs-group [data-add-condition]").click()
    condition(page, 2).locator("[data-field]").select_option(label="tags")
    condition(page, 2).locator("[data-operator]").select_option(label="does not contain")
    condition(page, 2).locator("[data-value] input").fill("tax")
    count(page, "2 chunks pass.")
    expected = {
        "year": {"$gte": 2020},
        "$or": [{"lang": {"$in": ["de", "fr"]}}, {"tags": {"$not_contains": "tax"}}],
    }
    assert shown(page) == expected
    expect(page.locator("[data-filter-meaning]")).to_contain_text('"year" is at least 2020 and ("lang" is one of')
    missing = page.locator(".rs-filter__missing li")
    expect(missing.nth(0)).to_contain_text("chunks without year do not pass here")
    expect(missing.nth(2)).to_contain_text("chunks without tags pass here, too")
    expect(page.locator(".rs-filter__rows tbody tr")).to_have_count(2)
    page.locator(".rs-group .rs-group [data-kind]").select_option("not-or")
    count(page, "1 chunk passes.")
    assert shown(page) == {"year": {"$gte": 2020}, "$not": {"$or": expected["$or"]}}
    page.fill("[name=name]", "Recent & other")
    page.fill("[name=description]", "For the test")
    page.get_by_role("button", name="Save filter").click()
    expect(page.locator(".rs-kept")).to_contain_text("Recent & other")
    assert get_filter(collection_name="docs", name="Recent & other").where == shown(page)
    listed = client.get("/collections/docs/documents", {"filter": "Recent & other"}).json()
    assert [one["id"] for one in listed["documents"]] == ["c0"]


def test_the_same_by_keyboard_alone(page: Page, collection: Collection) -> None:
    """Issue 7, point 8: everything is usable by keyboard."""
    keyboard = page.keyboard
    page.locator("[data-kind]").first.focus()
    page.keyboard.press("Tab")
    focused(page, "data-add-condition")
    keyboard.press("Enter")
    focused(page, "data-field")
    keyboard.type("lang")
    keyboard.press("Tab")
    focused(page, "data-operator")
    keyboard.press("Tab")
    keyboard.press("Tab")
    keyboard.type("en")
    count(page, "2 chunks pass.")
    tab_to(page, "data-add-condition")
    keyboard.press("Enter")
    focused(page, "data-field")
    keyboard.type("draft")
    tab_to(page, "data-indent")
    keyboard.press("Enter")
    focused(page, "data-indent")
    expect(page.locator(".rs-group .rs-group .rs-cond")).to_have_count(1)
    tab_to(page, "data-add-condition")
    keyboard.press("Space")
    focused(page, "data-field")
    keyboard.type("year")
    tab_to(page, "data-type")
    keyboard.press("Tab")
    keyboard.type("2024")
    count(page, "2 chunks pass.")
    assert shown(page) == {"lang": "en", "$or": [{"draft": True}, {"year": 2024}]}
    tab_to(page, "data-remove")
    keyboard.press("Enter")
    focused(page, "data-field")
    assert shown(page) == {"lang": "en", "draft": True}
    tab_to(page, "data-outdent")
    keyboard.press("Enter")
    expect(page.locator(".rs-group .rs-group")).to_have_count(0)
    assert shown(page) == {"lang": "en", "draft": True}
    count(page, "1 chunk passes.")


def focused(page: Page, attribute: str) -> None:
    expect(page.locator(f"[{attribute}]:focus")).to_have_count(1)


def tab_to(page: Page, attribute: str) -> None:
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.locator(f"[{attribute}]:focus").count():
            return
    raise AssertionError(f"{attribute} cannot be reached")


def test_the_tree_follows_the_json_and_a_mistake_leaves_it(page: Page, collection: Collection) -> None:
    text = '{"year": {"$gte": 2020, "$lt": 12345678901234567890}, "$not": {"lang": "de"}}'
    page.fill("[name=where]", text)
    expect(page.locator(".rs-cond")).to_have_count(3)
    count(page, "2 chunks pass.")
    expect(condition(page, 0).locator("[data-operator]")).to_have_value("$gte")
    expect(condition(page, 1).locator("[data-value] input")).to_have_value("12345678901234567890")
    expect(page.locator(".rs-group .rs-group [data-kind]")).to_have_value("not-and")
    assert page.locator("[name=where]").input_value() == text, "what was typed stays as it was typed"
    page.fill("[name=where]", '{"year": {"$near": 1}}')
    expect(page.locator("[data-filter-refused]")).to_contain_text("$.year.$near: is not an operator that is known here")
    expect(page.locator(".rs-cond")).to_have_count(3)
    page.fill("[name=where]", '{"year":')
    expect(page.locator("[data-filter-refused]")).to_contain_text("must be valid JSON")
    expect(page.locator(".rs-cond")).to_have_count(3)
    # A change of the tree writes the JSON anew, large numbers as they were.
    condition(page, 2).locator("[data-remove]").click()
    count(page, "3 chunks pass.")
    assert '"$lt": 12345678901234567890' in page.locator("[name=where]").input_value()


def test_values_have_inputs_of_their_type(page: Page, collection: Collection) -> None:
    page.get_by_role("button", name="Condition", exact=True).first.click()
    row = condition(page, 0)
    row.locator("[data-field]").select_option(label="day")
    row.locator("[data-operator]").select_option("$lt")
    expect(row.locator("[data-value] input")).to_have_attribute("type", "date")
    row.locator("[data-value] input").fill("2024-06-15")
    count(page, "1 chunk passes.")
    assert shown(page) == {"day": {"$lt": "2024-06-15"}}
    row.locator("[data-field]").select_option(label="draft")
    expect(row.locator("[data-value] select")).to_have_value("true")
    assert shown(page) == {"draft": True}
    row.locator("[data-operator]").select_option("$exists")
    row.locator("[data-value] select").select_option("false")
    count(page, "2 chunks pass.")
    row.locator("[data-field]").select_option(label="the text")
    expect(row.locator("[data-operator]")).to_have_value("$contains")
    expect(page.locator("[data-preview]")).to_have_text("What passes is shown once each condition is filled in.")
    row.locator("[data-value] input").fill("Text 3")
    count(page, "1 chunk passes.")
    row.locator("[data-field]").select_option("other")
    row.locator("[data-other]").fill("not seen")
    row.locator("[data-operator]").select_option("$exists")
    row.locator("[data-value] select").select_option("false")
    count(page, "4 chunks pass.")
    assert shown(page) == {"not seen": {"$exists": False}}


def test_hostile_names_and_values_are_text(page: Page, collection: Collection) -> None:
    """Issue 7, tests: stored metadata with HTML, script and bidi tricks shows as text everywhere."""
    page.get_by_role("button", name="Condition", exact=True).first.click()
    row = condition(page, 0)
    row.locator("[data-field]").select_option(label=SHOWN)
    row.locator("[data-operator]").select_option("$in")
    row.locator("[data-value] input").fill("<IMG")
    expect(row.locator("datalist option")).to_have_count(1)
    row.locator("[data-value] input").fill(HOSTILE)
    row.locator("[data-value] input").press("Enter")
    count(page, "1 chunk passes.")
    expect(row.locator(".rs-chip bdi")).to_have_text(SHOWN)
    expect(page.locator(".rs-filter__rows")).to_contain_text(SHOWN)
    assert page.locator("img[src=x]").count() == 0
    page.fill("[name=name]", "'\"><img src=x>")
    page.get_by_role("button", name="Save filter").click()
    expect(page.locator(".rs-kept")).to_contain_text("'\"><img src=x>")
    assert page.locator("img[src=x]").count() == 0


def test_a_kept_filter_is_changed_renamed_and_deleted(page: Page, collection: Collection) -> None:
    save_filter(collection_name="docs", name="English", where={"lang": "en"}, description="Old")
    page.reload()
    page.get_by_role("link", name="English").click()
    expect(page.locator(".rs-cond")).to_have_count(1)
    condition(page, 0).locator("[data-value] input").fill("de")
    page.fill("[name=name]", "German")
    page.get_by_role("button", name="Save filter").click()
    expect(page.locator(".rs-kept")).to_contain_text('"lang" is "de"')
    assert get_filter(collection_name="docs", name="German").where == {"lang": "de"}
    page.locator(".rs-kept__delete summary").click()
    page.get_by_role("button", name="Delete German for good").click()
    expect(page.get_by_text("No filter is kept yet")).to_be_visible()


def test_on_the_page_of_queries_it_writes_into_the_form(page: Page, collection: Collection) -> None:
    save_filter(collection_name="docs", name="English", where={"lang": "en"})
    page.goto("/admin/collections/collection/query/?collection=docs")
    page.locator(".pg-fold > summary").first.click()
    page.get_by_text("Build the filter").first.click()
    page.locator("[data-saved] select").first.select_option(label="English")
    count(page, "2 chunks pass.")
    page.get_by_role("button", name="Condition", exact=True).first.click()
    condition(page, 1).locator("[data-field]").select_option(label="year")
    condition(page, 1).locator("[data-value] input").fill("2024")
    count(page, "1 chunk passes.")
    assert shown(page) == {"lang": "en", "year": 2024}


def test_every_filter_is_the_same_filter_after_the_tree(page: Page, collection: Collection) -> None:
    """The JSON beside the tree, in both directions: what the tree writes means what it was drawn from."""
    filters = [where for where, _ in (*GOLDEN, *EXTENDED)]
    filters += [
        {"a": {"$gt": 1, "$not": {"$gt": 5}}, "$not": {"b": 1}, "__proto__": "x", "constructor": 1},
        {"$and": [{"a": 1}, {"a": {"$eq": 2}}, {"$or": [{"b": 1}, {"$or": [{"c": True}]}]}, {"$or": [{"d": 1}]}]},
        {"$not": {"$not": {"$or": [{"a": 12345678901234567890}, {"b": 1.5e300}]}}},
    ]
    drawn = [outline(parse_where(where)) for where in filters]
    written = page.evaluate(
        """async (trees) => {
            const { toJson } = await import("/static/console/filters-tree.js");
            return trees.map((tree) => toJson(tree, (name) => ["$in", "$nin"].includes(name)));
        }""",
        drawn,
    )
    assert len(written) > 50
    for where, tree, text in zip(filters, drawn, written, strict=True):
        assert outline(parse_where_text(text or "{}")) == tree, where


def test_groups_end_at_the_depth_of_the_language(page: Page, collection: Collection) -> None:
    page.get_by_role("button", name="Condition", exact=True).first.click()
    for _ in range(MAX_DEPTH + 2):
        page.locator("[data-indent]").last.click()
    expect(page.locator("[data-hint]")).to_have_text("Groups cannot be nested any deeper.")
    page.locator("[data-value] input").last.fill("en")
    count(page, "2 chunks pass.")
    assert 5 < page.locator(".rs-group").count() < MAX_DEPTH


def test_nothing_is_wider_than_a_telephone(page: Page, collection: Collection) -> None:
    """Issue 7, point 8: 390 pixels wide."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.fill("[name=where]", json.dumps({"$or": [{"lang": {"$in": ["en", "de"]}}, {"$not": {"year": {"$gt": 2020}}}]}))
    expect(page.locator(".rs-cond")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
