"""Issue 7, "it is done when": somebody loads a folder, finds why a question fails, mends it, and saves the test.

With the console alone, from an empty server on. `script/screenshots` takes the pictures of docs/images from here.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from collections_app.models import Chunk
from ingest_app.models import Job
from ingest_app.work import run_job
from search_app.models import TestCase, TestRun
from tests.acceptance.console.pictures import picture

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "How long is the notice period after probation?"
FOLDER = {
    "people/leave.md": "# Leave\n\nEverybody has thirty days of holiday a year. Ask your team lead two weeks ahead.\n",
    "people/contract.md": (
        "# Contract\n\n## Probation\n\nThe first three months are probation.\n\n"
        "## Leaving\n\nWhoever leaves says so in writing. Three months are due, from the end of the month on.\n"
    ),
    "people/archive/contract-2019.md": (
        "# Contract of 2019\n\nHow long is the notice period? The notice period after probation is six weeks, "
        "and the period of probation is half a year.\n"
    ),
    "office/expenses.md": "# Expenses\n\nSend receipts to the bookkeeper before the fifth of the month.\n",
    "office/travel.md": "# Travel\n\n| City | A night |\n|---|---|\n| Oslo | 210 |\n| Porto | 120 |\n",
    "office/empty.md": "",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FOLDER.items():
        (tmp_path / "handbook" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "handbook" / name).write_text(text)
    return tmp_path / "handbook"


def ask(page: Page) -> None:
    page.goto("/admin/collections/collection/query/?collection=handbook")
    page.fill("[name=query]", QUESTION)
    page.press("[name=query]", "Enter")
    expect(page.locator(".rs-passage").first).to_be_visible()


def load(page: Page, folder: Path) -> None:
    page.goto("/admin/")
    page.click("text=New collection >> nth=0")
    page.fill("[name=name]", "handbook")
    page.click("text=Create collection")
    page.click("a:has-text('Upload files') >> nth=1")
    page.set_input_files("[data-folder-input]", folder)
    expect(page.locator("[data-upload-list] li")).to_have_count(len(FOLDER))
    page.click("text=Upload and index")
    expect(page.locator("#job")).to_contain_text("6 files waiting for a worker.")
    run_job(job_id=Job.objects.get().pk, stopping=lambda: False)
    expect(page.locator("#job")).to_have_attribute("data-state", "partial")
    # A file that failed says why, and what helps.
    expect(page.locator("#job")).to_contain_text("The file is empty")
    picture(page, "job")


def find_out_why(page: Page) -> None:
    """The answer of today is behind the one of 2019, whose words are the question's."""
    ask(page)
    expect(page.locator("#a-1")).to_contain_text("six weeks")
    page.fill("[name=missed]", "handbook/people/contract.md")
    page.press("[name=missed]", "Enter")
    expect(page.locator(".pg-missed")).to_contain_text("It is result")
    page.locator("#a-1 summary").click()
    picture(page, "playground")


def mend(page: Page) -> None:
    """What is out of date is disabled; what is right says it in the words that people ask with."""
    page.locator("#a-1").get_by_text("Open chunk").click()
    page.click("button:has-text('Disable')")
    expect(page.locator("#main")).to_contain_text("No search finds this passage any more.")
    chunk = Chunk.objects.get(text__contains="Three months are due")
    page.goto(f"/admin/collections/chunk/{chunk.pk}/change/")
    page.click("text=Edit")
    text = page.locator("[name=text]").input_value()
    page.fill("[name=text]", text.replace("Three months are due", "The notice period after probation is three months"))
    page.fill("[name=metadata]", '{"team": "people", "year": 2026}')
    page.click("text=Review the change")
    expect(page.locator("#changes")).to_contain_text("notice period")
    picture(page, "chunk")
    page.click("button:has-text('Save')")
    expect(page.locator("#main")).to_contain_text("The passage was saved")


def save_the_test(page: Page) -> None:
    ask(page)
    expect(page.locator("#a-1")).to_contain_text("three months")
    expect(page.locator("#main")).not_to_contain_text("six weeks")
    page.locator("#a-1").get_by_role("radio", name="Relevant", exact=True).check()
    page.fill("[name=name]", "notice period")
    page.click("text=Save and run")
    expect(page.locator("#main")).to_contain_text("is saved.")
    expect(page.locator("#main")).to_contain_text("nDCG@10")
    picture(page, "test-case")
    assert TestRun.objects.get().ndcg_at_10 == 1
    assert TestCase.objects.get().collection.name == "handbook"


def build_a_filter(page: Page) -> None:
    page.goto("/admin/collections/collection/")
    page.click("text=handbook")
    page.get_by_role("link", name="Filters").click()
    page.get_by_role("button", name="Condition", exact=True).first.click()
    page.locator(".rs-cond [data-field]").first.select_option(label="team")
    page.locator(".rs-cond [data-value] input").first.fill("people")
    expect(page.locator("[data-filter-count]")).to_contain_text("1 chunk passes.")
    page.get_by_role("button", name="Group", exact=True).first.click()
    page.locator(".rs-cond [data-field]").nth(1).select_option(label="year")
    page.locator(".rs-cond [data-value] input").nth(1).fill("2026")
    expect(page.locator("[data-filter-meaning]")).to_contain_text('"year" is 2026')
    expect(page.locator("[data-filter-count]")).to_contain_text("1 chunk passes.")
    page.fill("[name=name]", "of today")
    picture(page, "filter")
    page.click("button:has-text('Save')")
    expect(page.locator("#main")).to_contain_text("'of today' was saved")


def compare(page: Page) -> None:
    page.goto(
        "/admin/collections/collection/query/?collection=handbook&query=notice+period&compare=on&b-legs=dense&b-top_k=3"
    )
    expect(page.locator(".pg-side")).to_have_count(2)
    expect(page.locator("#moved")).to_contain_text("From A to B")
    page.locator("#moved").evaluate("node => node.scrollIntoView()")
    picture(page, "compare")


def look_at_the_rest(page: Page) -> None:
    page.goto("/admin/access/auditentry/")
    expect(page.locator("#main")).to_contain_text("Chunk changed")
    picture(page, "audit")
    page.goto("/admin/")
    # Parts of the page arrive when it stands.
    expect(page.locator("#main")).to_contain_text("The file is empty")
    # Nobody is missing a vector: what is disabled has none on purpose.
    expect(page.locator("[data-without-vectors]")).to_have_text("0")
    expect(page.locator("#main")).to_contain_text("Language model")
    picture(page, "home", whole=True)


def empty(page: Page) -> None:
    page.goto("/admin/collections/collection/")
    page.click("text=handbook")
    page.get_by_role("link", name="Empty").click()
    expect(page.locator("#main")).to_contain_text("chunk")
    page.fill("[name=name]", "handbook")
    page.click("button:has-text('Empty')")
    expect(page.locator("#main")).to_contain_text("is empty")
    assert not Chunk.objects.exists()


def test_a_folder_is_loaded_and_a_question_that_fails_is_mended(page: Page, folder: Path) -> None:
    load(page, folder)
    find_out_why(page)
    mend(page)
    save_the_test(page)
    build_a_filter(page)
    compare(page)
    look_at_the_rest(page)
    empty(page)
