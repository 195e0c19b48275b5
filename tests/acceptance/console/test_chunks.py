"""Chunks in a browser: one is edited and found by its new words, one is disabled and not found any more."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from collections_app.models import Chunk
from collections_app.services import create_collection
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job

HANDBOOK = """# Handbook

## Leave

Everybody has thirty days of holiday a year. Ask your team lead two weeks ahead of it. Nobody is refused without a
reason in writing, and whoever is refused may ask the head of the department.

## Expenses

Send receipts to the bookkeeper before the fifth of the month. Without a receipt nothing is paid back, whatever it was.
"""


def never() -> bool:
    return False


@pytest.fixture
def handbook(transactional_db: None) -> None:
    create_collection(name="staff", chunking={"size": 30, "overlap": 0})
    source = Source(name="handbook.md", content=HANDBOOK.encode(), is_text=True, metadata={"team": "people"})
    run_job(job_id=submit(collection_name="staff", sources=[source]).pk, stopping=never)


def ask(page: Page, query: str) -> None:
    page.goto("/admin/collections/collection/query/?collection=staff")
    page.fill("[name=query]", query)
    page.press("[name=query]", "Enter")


def test_a_chunk_is_edited_and_the_edit_is_found(page: Page, handbook: None) -> None:
    ask(page, "receipts bookkeeper")
    first = page.locator(".rs-passage").first
    expect(first).to_contain_text("Send receipts")
    chunk = Chunk.objects.get(text__contains="receipts")
    page.goto(f"/admin/collections/chunk/{chunk.pk}/change/")
    page.click("text=Edit")

    page.fill("[name=metadata]", '{"team": ')
    expect(page.locator("[data-json-problem]")).to_have_text("Line 1, column 10: this is no JSON.")
    page.fill("[name=metadata]", '{"team": "money", "checked": true}')
    expect(page.locator("[data-json-problem]")).to_be_hidden()
    page.fill("[name=text]", "Photograph invoices and upload them <b>at once</b>. Code word: zebrafish.")
    page.click("text=Review the change")
    expect(page.locator("#changes")).to_contain_text("zebrafish")
    expect(page.locator("#changes tbody tr")).to_have_count(2)
    page.click("button:has-text('Save')")
    expect(page.locator("#main")).to_contain_text("The passage was saved")

    ask(page, "zebrafish invoices")
    first = page.locator(".rs-passage").first
    expect(first).to_contain_text("Photograph invoices and upload them <b>at once</b>.")
    ask(page, "bookkeeper")
    expect(page.locator("#main")).not_to_contain_text("Send receipts")


def test_a_chunk_is_disabled_and_not_found_any_more(page: Page, handbook: None) -> None:
    chunk = Chunk.objects.get(text__contains="receipts")
    page.goto(f"/admin/collections/chunk/{chunk.pk}/change/")
    page.click("button:has-text('Disable')")
    expect(page.locator("#main")).to_contain_text("No search finds this passage any more.")
    ask(page, "receipts bookkeeper")
    expect(page.locator(".rs-passage").first).to_be_visible()
    expect(page.locator("#main")).not_to_contain_text("Send receipts")

    page.goto(f"/admin/collections/document/{chunk.document_id}/read/")
    expect(page.locator(".rs-piece--disabled").last).to_contain_text("Send receipts")
    page.click(".rs-border--disabled")
    page.click("button:has-text('Enable')")
    ask(page, "receipts bookkeeper")
    expect(page.locator(".rs-passage").first).to_contain_text("Send receipts")


def test_lists_are_narrowed_and_fit_a_small_screen(page: Page, handbook: None) -> None:
    page.goto("/admin/collections/chunk/")
    page.fill("[name=where]", '{"section": "Expenses"}')
    page.click("button:has-text('Show')")
    expect(page.locator("[data-count]")).to_have_text("1 chunk")
    page.set_viewport_size({"width": 390, "height": 844})
    chunk = Chunk.objects.get(text__contains="receipts")
    for name, path in (
        ("chunks", "chunk/"),
        ("chunk", f"chunk/{chunk.pk}/change/"),
        ("edit", f"chunk/{chunk.pk}/edit/"),
        ("documents", "document/"),
        ("document", f"document/{chunk.document_id}/change/"),
        ("read", f"document/{chunk.document_id}/read/"),
    ):
        page.goto(f"/admin/collections/{path}")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} is {wide} pixels too wide"
