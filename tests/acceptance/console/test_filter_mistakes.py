"""In a browser: what is wrong with a filter is said at its row, and the tree stays as it was built."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from collections_app.filters import list_filters
from collections_app.models import Collection
from tests.acceptance.console.test_filters import condition, count
from tests.integration.collections.test_fields import stored

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def collection(page: Page) -> Collection:
    found = stored("docs", {"lang": "en", "year": 2020, "tags": ["a"]}, {"lang": "de", "year": 2024, "tags": ["b"]})
    page.goto(f"/admin/collections/collection/{found.pk}/filters/")
    count(page, "No filter: all chunks of the collection pass.")
    return found


def add(page: Page, field: str, operator: str, value: str = "", place: int = 0) -> Locator:
    page.get_by_role("button", name="Condition", exact=True).nth(0).click()
    row = condition(page, place)
    row.locator("[data-field]").select_option(label=field)
    row.locator("[data-operator]").select_option(operator)
    if value:
        row.locator("[data-value] input").fill(value)
    return row


def said_at(page: Page, row: Locator, text: str, part: str = "[data-value] input") -> None:
    """The sentence stands at the row, describes its input, and the focus is there."""
    problem = row.locator("[data-problem]")
    expect(problem).to_have_text(text)
    at = row.locator(part)
    expect(at).to_be_focused()
    expect(at).to_have_attribute("aria-invalid", "true")
    expect(at).to_have_attribute("aria-describedby", problem.get_attribute("id") or "none")


def test_what_is_not_filled_in_is_said_at_its_row_by_keyboard(page: Page, collection: Collection) -> None:
    add(page, "lang", "$eq", "en")
    empty = add(page, "year", "$gte", place=1)
    page.fill("[name=name]", "n")
    expect(page.locator("[data-problem]:visible")).to_have_count(0)
    page.locator("[name=name]").press("Enter")
    said_at(page, empty, "Fill in the value.")
    expect(page.locator("[data-problem]:visible")).to_have_count(1)
    expect(page.locator(".rs-cond")).to_have_count(2)
    assert list_filters(collection_name="docs") == []
    page.keyboard.type("2021")
    expect(page.locator("[data-problem]:visible")).to_have_count(0)
    expect(empty.locator("[aria-invalid]")).to_have_count(0)
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    expect(empty.locator("[data-problem]")).to_have_text("Fill in the value.")
    page.keyboard.type("2020")
    page.get_by_role("button", name="Save filter").click()
    expect(page.locator(".rs-kept")).to_contain_text('"lang" is "en" and "year" is at least 2020')


def test_a_name_and_a_value_that_was_not_added_are_missed(page: Page, collection: Collection) -> None:
    row = add(page, "lang", "$in", "de")
    page.fill("[name=name]", "n")
    save = page.get_by_role("button", name="Save filter")
    save.click()
    said_at(page, row, "Add this value with the button, or empty the field.")
    row.locator("[data-value] input").press("Enter")
    row.locator("[data-field]").select_option("other")
    save.click()
    said_at(page, row, "Fill in the name of the field.", "[data-other]")
    row.locator("[data-other]").fill("lang")
    row.locator("[data-value] input").fill("de")
    row.get_by_role("button", name="Add").click()
    save.click()
    expect(page.locator(".rs-kept")).to_contain_text('"lang" is one of "de"')


@pytest.mark.parametrize(
    ("operator", "value", "said"),
    [("$regex", "(a", "is not a pattern"), ("$lt", "1e999", "Fill in the value.")],
)
def test_what_the_server_refuses_is_said_at_its_row_and_the_tree_stays(
    page: Page, collection: Collection, operator: str, value: str, said: str
) -> None:
    page.get_by_role("button", name="Group", exact=True).first.click()
    inner = condition(page, 0)
    inner.locator("[data-field]").select_option(label="lang")
    inner.locator("[data-operator]").select_option("$in")
    inner.locator("[data-value] input").fill("en")
    inner.locator("[data-value] input").press("Enter")
    page.locator(".rs-group .rs-group [data-add-condition]").click()
    row = condition(page, 1)
    row.locator("[data-field]").select_option("other")
    row.locator("[data-other]").fill("a\u202eb.c")
    row.locator("[data-operator]").select_option(operator)
    if row.locator("[data-type]").is_visible():
        row.locator("[data-type]").select_option("number")
    row.locator("[data-value] input").fill(value)
    page.fill("[name=name]", "n")
    page.get_by_role("button", name="Save filter").click()
    expect(row.locator("[data-problem]")).to_contain_text(said)
    expect(row.locator("[data-value] input")).to_be_focused()
    expect(page.locator("[data-problem]:visible")).to_have_count(1)
    expect(page.locator(".rs-group .rs-group .rs-cond")).to_have_count(2)
    assert list_filters(collection_name="docs") == []


def test_another_mistake_of_the_form_leaves_the_tree(page: Page, collection: Collection) -> None:
    add(page, "lang", "$eq", "en")
    page.fill("[name=name]", "a/b")
    page.get_by_role("button", name="Save filter").click()
    expect(page.locator("[role=alert]").filter(has_text="A filter's name has")).to_be_visible()
    expect(page.locator(".rs-cond")).to_have_count(1)
    expect(condition(page, 0).locator("[data-value] input")).to_have_value("en")


def test_a_form_that_is_too_long_is_not_sent_and_keeps_what_was_written(page: Page, collection: Collection) -> None:
    page.fill("[name=where]", "x" * 2_200_000)
    page.fill("[name=name]", "n")
    page.get_by_role("button", name="Save filter").click()
    expect(page.locator("[data-form-too-long]")).to_contain_text("This is longer than the 2 MB")
    assert len(page.locator("[name=where]").input_value()) == 2_200_000
    page.fill("[name=where]", '{"lang": "en"}')
    page.get_by_role("button", name="Save filter").click()
    expect(page.locator(".rs-kept")).to_contain_text('"lang" is "en"')
