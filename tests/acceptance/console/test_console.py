"""The main job in a browser: a collection, a file, its job, the passage; and the pages around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from collections_app.models import Collection
from collections_app.services import create_collection
from ingest_app.models import Item, Job
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job

HANDBOOK = """# Handbook

## Leave

Everybody has thirty days of holiday a year. Ask your team lead two weeks ahead.

## Expenses

Send receipts to the bookkeeper before the fifth of the month. Code word: zebrafish-42.
"""


def never() -> bool:
    return False


def test_a_file_is_uploaded_watched_and_found(page: Page, tmp_path: Path) -> None:
    """Issue 2, point 7: log in, create, upload, watch the progress, query, see the passage first."""
    (tmp_path / "handbook.md").write_text(HANDBOOK)
    (tmp_path / "empty.md").write_text("")

    page.click("text=New collection >> nth=0")
    page.fill("[name=name]", "staff")
    page.click("text=Create collection")
    page.click("a:has-text('Upload files') >> nth=1")
    expect(page.locator("[name=collection]")).to_have_value("staff")
    page.set_input_files("[name=file]", [tmp_path / "handbook.md", tmp_path / "empty.md"])
    expect(page.locator("[data-upload-list] li")).to_have_count(2)
    page.click("text=Upload and index")

    expect(page.locator("#job")).to_have_attribute("data-state", "queued")
    expect(page.locator("#job")).to_contain_text("2 files waiting for a worker.")
    run_job(job_id=Job.objects.get().pk, stopping=never)
    # Nobody reloads: the page asks for itself.
    expect(page.locator("#job")).to_have_attribute("data-state", "partial")
    expect(page.locator("#job progress")).to_have_attribute("value", "100")
    expect(page.locator("#job")).to_contain_text("2 files: 1 indexed, 1 failed.")
    expect(page.locator("#job")).to_contain_text("The file is empty")
    expect(page.locator("#job")).not_to_have_attribute("hx-trigger", "every 1s")

    page.click("#job >> text=Try a query")
    page.fill("[name=query]", "zebrafish-42 receipts")
    page.press("[name=query]", "Enter")
    first = page.locator(".rs-passage").first
    expect(first).to_contain_text("Send receipts to the bookkeeper")
    expect(first).to_contain_text("Expenses")
    expect(first.locator("mark").first).to_have_text("receipts", ignore_case=True)

    first.locator("text=handbook.md").click()
    expect(page.locator(".rs-chunk").first).to_contain_text("Handbook")


def test_a_folder_is_uploaded_with_its_paths(page: Page, transactional_db: None, tmp_path: Path) -> None:
    """Two files of one name stay two documents, and what begins with a dot stays where it is."""
    create_collection(name="staff")
    for place in ("team/a/README.md", "team/b/README.md", "team/.git/config.md"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(f"# {place}\n\nText of {place}.")
    page.goto("/admin/ingest/job/add/?collection=staff")
    page.set_input_files("[data-folder-input]", tmp_path / "team")
    expect(page.locator("[data-upload-list] li")).to_have_count(2)
    page.click("text=Upload and index")
    expect(page.locator("#job")).to_contain_text("2 files waiting for a worker.")
    assert set(Item.objects.values_list("source", flat=True)) == {"team/a/README.md", "team/b/README.md"}


def test_a_job_is_cancelled_and_its_page_follows(page: Page, transactional_db: None) -> None:
    create_collection(name="staff")
    job = submit(collection_name="staff", sources=[Source(name="a.md", content=b"# A\n\nText.")])
    page.goto(f"/admin/ingest/job/{job.pk}/change/")
    page.click("text=Cancel job")
    expect(page.locator("#job")).to_have_attribute("data-state", "cancelled")
    page.click("text=Retry what failed")
    expect(page.locator("#job")).to_have_attribute("data-state", "queued")


def test_home_follows_running_jobs(page: Page, transactional_db: None) -> None:
    create_collection(name="staff")
    job = submit(collection_name="staff", sources=[Source(name="a.md", content=b"# A\n\nText.")])
    page.goto("/admin/")
    expect(page.locator("#recent-jobs")).to_contain_text("1 file waiting for a worker.")
    Item.objects.update(state=Item.State.SUCCEEDED)
    Job.objects.filter(pk=job.pk).update(state=Job.State.SUCCEEDED, finished_at=timezone.now())
    expect(page.locator("#recent-jobs")).to_contain_text("1 file: 1 indexed.")


def test_a_collection_is_deleted_by_typing_its_name(page: Page, transactional_db: None) -> None:
    made = create_collection(name="staff")
    page.goto(f"/admin/collections/collection/{made.pk}/delete/")
    button = page.locator("text=Delete this collection")
    expect(button).to_be_disabled()
    page.fill("[name=name]", "staf")
    expect(button).to_be_disabled()
    page.fill("[name=name]", "staff")
    button.click()
    expect(page.locator("#main")).to_contain_text("was deleted with everything in it")
    assert not Collection.objects.exists()


def test_too_many_files_are_told_before_they_are_sent(page: Page, transactional_db: None, tmp_path: Path) -> None:
    create_collection(name="staff")
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "b.md").write_text("b")
    page.goto("/admin/ingest/job/add/")
    page.evaluate("document.querySelector('[data-upload]').dataset.maxFiles = '1'")
    page.set_input_files("[name=file]", [tmp_path / "a.md", tmp_path / "b.md"])
    expect(page.locator("[data-upload-problem]")).to_have_text("Choose at most 1 files at a time.")
    expect(page.locator("text=Upload and index")).to_be_disabled()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_breaks_the_policy_or_leaves_the_machine(page: Page, transactional_db: None, scheme: str) -> None:
    """The fixture fails the test for any error in the browser's console and any request to elsewhere."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    create_collection(name="<img src=x onerror=alert(1)>")
    for path in (
        "",
        "collections/collection/",
        "collections/document/",
        "collections/chunk/",
        "collections/collection/query/?query=",
        "ingest/job/",
        "search/querylog/",
        "access/apikey/",
        "access/apikey/add/",
        "access/user/",
        "access/user/add/",
        "auth/group/add/",
        "password_change/",
    ):
        page.goto(f"/admin/{path}")
        expect(page.locator("#nav-sidebar")).to_be_visible()
    assert page.locator("html").evaluate("node => node.classList.contains('dark')") == (scheme == "dark")
