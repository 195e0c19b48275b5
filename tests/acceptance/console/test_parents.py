"""In a browser: parents are tried, saved, and shown around what a query found."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from collections_app.services import create_collection
from ingest_app.models import Job
from ingest_app.work import run_job
from tests.integration.ingest.filling import ingest, never

pytestmark = pytest.mark.django_db(transaction=True)

PARTS = ("grinder", "boiler", "drip tray")
GUIDE = "# Machine\n\n" + "\n\n".join(
    f"The {part} is cleaned once a week with warm water and a soft cloth, <b>never</b> with soap." for part in PARTS
)


def test_small_is_found_and_big_is_shown(page: Page, transactional_db: None) -> None:
    made = create_collection(name="staff")
    ingest("staff", GUIDE + "\n\n## Opening\n\nWe open at nine in the morning.\n")
    page.goto(f"/admin/collections/collection/{made.pk}/chunking/")
    for field, value in (("size", "20"), ("overlap", "0"), ("parent_size", "120"), ("source", "s0")):
        page.fill(f"[name={field}]", value)
    page.click("button[name=try]")
    expect(page.locator("#summary")).to_contain_text("4 chunks in 2 parents. Nothing was changed.")
    expect(page.locator(".rs-parent").first).to_contain_text("Chunks 0 to 2 are shown as one")
    page.click("button[name=save]")
    expect(page.locator("#job")).to_be_visible()
    run_job(job_id=Job.objects.get(kind=Job.Kind.RECHUNK).pk, stopping=never)

    page.goto("/admin/collections/collection/query/?collection=staff&query=boiler&top_k=5")
    shown = page.locator(".rs-passage .rs-text").first
    expect(shown).to_have_text(GUIDE)
    expect(shown.locator(".rs-found")).to_have_text(GUIDE.split("\n\n")[2])
    expect(page.locator("#summary")).to_contain_text("2 passages in")
