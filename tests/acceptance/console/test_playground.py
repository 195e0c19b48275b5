"""The playground in a browser: compare, judge by keyboard, save, run, reopen."""

from __future__ import annotations

import ast
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from collections_app.services import create_collection
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app.models import Judgement, TestCase, TestRun

PLAYGROUND = "/admin/collections/collection/query/"
HOSTILE = "<img src=x onerror=alert(1)>\u202e"
TEXTS = {
    "leave.md": "# Leave\n\nEverybody has thirty days of holiday a year. Ask your team lead two weeks ahead.",
    "expenses.md": "# Expenses\n\nSend receipts to the bookkeeper before the fifth of the month.",
    "office.md": "# Office\n\nHoliday decorations go up in December. The key is with the caretaker.",
    HOSTILE: f"# Visits\n\n<script>alert(1)</script> Visitors on a holiday sign the book. {HOSTILE}",
}


@pytest.fixture
def handbook(transactional_db: None) -> None:
    create_collection(name="handbook")
    sources = [Source(name=name, content=text.encode(), is_text=True) for name, text in TEXTS.items()]
    run_job(job_id=submit(collection_name="handbook", sources=sources).pk, stopping=lambda: False)


def test_two_ways_are_compared_judged_by_keyboard_saved_run_and_reopened(page: Page, handbook: None) -> None:
    page.goto(PLAYGROUND)
    page.fill("[name=query]", "how many days of holiday")
    page.click("text=Compare with a second way, B")
    expect(page.locator("[name=compare]")).to_be_checked()
    page.select_option("[name=b-legs]", "lexical")
    page.fill("[name=b-top_k]", "2")
    page.press("[name=query]", "Enter")

    expect(page.locator(".pg-side")).to_have_count(2)
    expect(page.locator("#moved")).to_contain_text("gone")
    asked = parse_qs(urlsplit(page.url).query, keep_blank_values=True)
    assert asked == {
        "collection": ["handbook"],
        "query": ["how many days of holiday"],
        "compare": ["on"],
        "b-legs": ["lexical"],
        "b-top_k": ["2"],
    }, "nothing that is not set stands in the address"
    expect(page.locator("#b-1 .pg-move")).to_have_text(re.compile("up|down|same place"))

    # Whatever has the focus: J goes to the first passage.
    page.locator("body").evaluate("node => document.activeElement.blur()")
    page.keyboard.press("j")
    expect(page.locator("#a-1")).to_be_focused()
    page.keyboard.press("r")
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.keyboard.press("u")
    page.keyboard.press("n")
    expect(page.locator("[data-judged]")).to_have_text("Judged: 1 relevant, 1 not relevant.")
    # And by mouse.
    page.locator("#a-3").get_by_role("radio", name="Not relevant").check()
    expect(page.locator("[data-judged]")).to_have_text("Judged: 1 relevant, 2 not relevant.")
    page.locator("#a-3").get_by_role("radio", name="Not judged").check()
    page.fill("[name=name]", HOSTILE)
    page.click("text=Save and run")

    expect(page.locator("#main")).to_contain_text("is saved.")
    expect(page.locator("#main")).to_contain_text("first run")
    assert TestCase.objects.get().settings == {}
    assert sorted(Judgement.objects.values_list("grade", flat=True)) == [0, 1]
    page.click("text=Run now")
    expect(page.locator("#main")).to_contain_text("same")
    assert TestRun.objects.count() == 2

    page.click("text=Open in the playground")
    expect(page.locator("[data-judged]")).to_have_text("Judged: 1 relevant, 1 not relevant.")
    page.locator("#a-1").focus()
    page.keyboard.press("u")
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.click("text=Save and run")
    expect(page.locator("#main")).to_contain_text("worse")
    page.goto("/admin/search/testcase/")
    expect(page.locator("#result_list")).to_contain_text("first relevant at 2")


def test_keys_are_letters_in_a_field(page: Page, handbook: None) -> None:
    page.goto(f"{PLAYGROUND}?collection=handbook&query=holiday")
    page.locator("[name=query]").focus()
    page.keyboard.press("End")
    page.keyboard.type("jrnu")
    expect(page.locator("[name=query]")).to_have_value("holidayjrnu")
    expect(page.locator("[data-judged]")).to_have_text("Judged: 0 relevant, 0 not relevant.")


def test_a_slider_and_its_number_are_one(page: Page, handbook: None) -> None:
    page.goto(f"{PLAYGROUND}?collection=handbook&query=holiday&fusion=calibrated")
    slider, number = page.get_by_role("slider", name="Weight of words").first, page.locator("[name=lexical_weight]")
    expect(slider).to_have_attribute("aria-valuetext", "open")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(number).to_have_value("0.55")
    number.fill("0.2")
    expect(slider).to_have_value("0.2")
    page.press("[name=query]", "Enter")
    page.click("text=How it was searched")
    expect(page.locator(".rs-pairs")).to_contain_text("0.20")
    page.get_by_role("button", name="Weight of words: open").first.click()
    expect(number).to_have_value("")
    expect(number).to_be_focused()


def test_what_was_copied_is_what_is_shown(page: Page, handbook: None) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{PLAYGROUND}?collection=handbook&query=it%27s+%22{'%E6%BC%A2'}%22+%24HOME")
    page.click("text=The same over the API")
    page.click("text=Copy as Python")
    copied = page.evaluate("navigator.clipboard.readText()")
    body = next(n for n in ast.parse(copied).body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "body")
    assert ast.literal_eval(body.value) == {"query": 'it\'s "漢" $HOME'}


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(page: Page, handbook: None, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    hostile = "%3Cscript%3Ealert(1)%3C/script%3E"
    for query in (
        f"query={hostile}&compare=on&missed=office.md&b-mode=fast",
        "query=holiday&where=%7B%22source%22%3A%22none%22%7D&missed=leave.md",
    ):
        page.goto(f"{PLAYGROUND}?collection=handbook&{query}")
        page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
