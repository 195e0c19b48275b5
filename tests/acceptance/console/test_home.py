"""The home page and the metadata editor in a browser; the fixture fails each test for any error in its console."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from collections_app.models import Collection, Document
from collections_app.services import create_collection
from ingest_app import health
from ingest_app.models import Item, Job
from ingest_app.submitting import Source, submit

HOSTILE = "<img src=x onerror=alert(1)>\u202e"
#: What stands for the character that nobody sees.
SHOWN = HOSTILE.replace("\u202e", "[U+202E]")


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker answers in these tests."""
    monkeypatch.setattr(health, "ANSWER_SECONDS", 0.1)


@pytest.fixture
def _rows(transactional_db: None) -> None:
    made = create_collection(name=HOSTILE)
    Document.objects.create(collection=made, source=HOSTILE, state="failed", error="Bad.", error_code="encrypted")
    job = submit(collection_name=HOSTILE, sources=[Source(name="a.md", content=b"# A\n\nText.")])
    Item.objects.filter(job=job).update(error=HOSTILE)


@pytest.mark.usefixtures("_rows")
def test_the_slow_parts_arrive_and_jobs_are_followed(page: Page) -> None:
    page.goto("/admin/")
    expect(page.locator("#home-health tr[data-part=database]")).to_contain_text("Works")
    expect(page.locator("#home-health tr[data-part=workers]")).to_have_attribute("data-state", "bad")
    expect(page.locator("#home-health tr[data-part=workers]")).to_contain_text("celery -A ragsite worker")
    expect(page.locator("#home-searches")).to_contain_text("Nothing was searched")
    expect(page.locator("#home-coverage")).to_contain_text(SHOWN)
    expect(page.locator("#recent-jobs")).to_contain_text("1 file waiting for a worker.")
    Item.objects.update(state=Item.State.FAILED, code="encrypted")
    Job.objects.update(state=Job.State.FAILED, finished_at=timezone.now())
    expect(page.locator("#recent-jobs")).to_contain_text("1 file: 1 failed.")

    page.locator("#home-coverage a", has_text="1").last.click()
    expect(page.locator("#failed")).to_contain_text("Remove its password")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light")])
@pytest.mark.usefixtures("_rows")
def test_nothing_scrolls_sideways(page: Page, width: int, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    key, job = Collection.objects.get().pk, Job.objects.get().pk
    there = [f"collections/collection/{key}/{part}/" for part in ("change", "settings", "coverage")]
    for path in ("", *there, f"ingest/job/{job}/change/", f"ingest/job/{job}/log/"):
        page.goto(f"/admin/{path}")
        page.wait_for_load_state("networkidle")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, path


def test_metadata_is_checked_as_one_types(page: Page, transactional_db: None) -> None:
    made = create_collection(name="staff", metadata={"team": "support", "old": 1})
    page.goto(f"/admin/collections/collection/{made.pk}/change/")
    box, state = page.locator("[name=metadata]"), page.locator("[data-metadata-state]")
    for text, place in (
        ('{\n  "team": support\n}', "Line 2, column 11:"),
        ('{"a": [1, {"b": {}}],\n"c" 2}', "Line 2, column 5:"),
        ('{"a": 01}', "Line 1, column 7:"),
        ('{"a": "x\ny"}', "Line 1, column 7:"),
        ('{"a": 1,}', "Line 1, column 9:"),
        ('{"a": 1', "Line 1, column 8:"),
        ('{"a": 1}}', "Line 1, column 9:"),
    ):
        box.fill(text)
        expect(state).to_contain_text(place)
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(page.locator("text=Save metadata")).to_be_disabled()
    box.fill("[1]")
    expect(state).to_contain_text("Write a JSON object")

    box.fill('{"team": "sales", "new": "' + HOSTILE.replace('"', "") + '"}')
    expect(state).to_contain_text("valid JSON")
    changes = page.locator("#metadata-changes")
    expect(changes.locator("[data-change=changed]")).to_contain_text("sales")
    expect(changes.locator("[data-change=removed]")).to_contain_text("old")
    expect(changes.locator("[data-change=added]")).to_contain_text("<img src=x")
    page.locator("label[for=id_merge]").click()
    expect(changes.locator("[data-change=removed]")).to_have_count(0)

    # What only the server knows to be wrong is told, too.
    box.fill('{"a": "\\u0000"}')
    expect(changes).to_contain_text("NUL")
    box.fill('{"new": 2}')
    expect(changes.locator("[data-change=added]")).to_contain_text("2")
    page.click("text=Save metadata")
    expect(page.locator("#main")).to_contain_text("The metadata was saved.")
    assert Collection.objects.get().metadata == {"team": "support", "old": 1, "new": 2}
