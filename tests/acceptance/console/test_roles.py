"""What each role is offered and what not, in a browser; and the way from a change to its history."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from playwright.sync_api import Page, expect

from access_app.models import Reach, User
from collections_app.models import Document
from collections_app.services import create_collection
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from tests.acceptance.console.conftest import PASSWORD

#: Where pictures go, for whoever wants to look at them.
PICTURES = os.environ.get("RAGSITE_PICTURES", "")
HOSTILE = "<b>bold</b> \u202eevil\u202c <script>alert(1)</script>"


def never() -> bool:
    return False


def fill() -> None:
    for name in ("team-tea", "kitchen"):
        create_collection(name=name)
        text = f"# Guide\n\nOolong of {name} is half fermented."
        sources = [Source(name="guide.md", content=text.encode(), is_text=True)]
        run_job(job_id=submit(collection_name=name, sources=sources).pk, stopping=never)


def log_in(page: Page, *groups: str) -> None:
    """As somebody who is in these groups alone."""
    user = User.objects.create_user("kim", password=PASSWORD, is_staff=True)
    user.groups.set(Group.objects.filter(name__in=groups))
    page.context.clear_cookies()
    page.goto("/admin/")
    page.fill("#id_username", "kim")
    page.fill("#id_password", PASSWORD)
    page.click("button[type=submit]")
    page.wait_for_selector("#nav-sidebar")


def shoot(page: Page, name: str) -> None:
    if not PICTURES:
        return
    Path(PICTURES).mkdir(parents=True, exist_ok=True)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=f"{PICTURES}/{name}-{width}.png", full_page=True)
    page.set_viewport_size({"width": 1300, "height": 900})


def sidebar(page: Page) -> set[str]:
    return {text.strip() for text in page.locator("#nav-sidebar a").all_inner_texts()}


EVERYBODY = {"Collections", "Documents", "Chunks", "Jobs", "Queries", "Try a query"}
OFFERS = {
    "viewer": (EVERYBODY, {"Upload files", "Connectors", "Audit log", "API keys", "Users", "Groups"}),
    "editor": ({*EVERYBODY, "Upload files", "Connectors", "Audit log"}, {"API keys", "Users", "Groups"}),
    "operator": ({*EVERYBODY, "Upload files", "Connectors", "Audit log", "API keys"}, {"Users", "Groups"}),
}
BUTTONS = {
    "viewer": (set(), {"Save metadata", "Empty", "Delete", "Upload files", "History"}),
    "editor": ({"Upload files", "History"}, {"Save metadata", "Empty", "Delete"}),
    "operator": ({"Save metadata", "Empty", "Delete", "Upload files", "History"}, set()),
}


@pytest.mark.parametrize("role", ["viewer", "editor", "operator"])
def test_each_role_is_offered_what_it_may_do(page: Page, role: str) -> None:
    fill()
    log_in(page, role)
    offered, hidden = OFFERS[role]
    shown = {name for name in offered | hidden if any(name in text for text in sidebar(page))}
    assert shown == offered
    page.click("#content a:has-text('team-tea') >> nth=0")
    expect(page.locator(".rs-tiles")).to_be_visible()
    there, missing = BUTTONS[role]
    for name in there:
        expect(page.locator(f"#main :is(a, button):has-text('{name}')").first).to_be_visible()
    for name in missing:
        expect(page.locator(f"#main :is(a, button):has-text('{name}')")).to_have_count(0)
    page.goto(f"/admin/collections/document/{Document.objects.all()[0].pk}/change/")
    expect(page.locator("#main a:has-text('Delete')")).to_have_count(0 if role == "viewer" else 1)
    shoot(page, f"role-{role}")


def test_one_team_sees_its_own_collections_alone(page: Page) -> None:
    fill()
    group = Group.objects.create(name="tea people")
    Reach.objects.create(group=group, collections=["team-*"])
    group.permissions.set(Group.objects.get(name="operator").permissions.all())
    log_in(page, "tea people")
    expect(page.locator("#content")).to_contain_text("team-tea")
    expect(page.locator("#content")).not_to_contain_text("kitchen")
    page.goto("/admin/ingest/job/add/")
    assert page.locator("[name=collection] option").all_inner_texts() == ["team-tea"]
    page.goto("/admin/collections/document/")
    expect(page.locator(".rs-table tbody tr")).to_have_count(1)
    page.goto("/admin/collections/collection/add/")
    page.fill("[name=name]", "kitchen-2")
    page.click("text=Create collection")
    expect(page.locator("#content")).to_contain_text("these names alone: team-*")


def test_without_a_group_one_is_told_whom_to_ask(page: Page) -> None:
    fill()
    log_in(page)
    expect(page.locator("#content")).to_contain_text("Ask an administrator")
    expect(page.locator("#content")).not_to_contain_text("team-tea")


def test_a_change_is_found_in_the_history_and_in_the_log(page: Page) -> None:
    fill()
    log_in(page, "operator")
    page.click("#content a:has-text('team-tea') >> nth=0")
    page.fill("[name=metadata]", '{"owner": "' + HOSTILE + '", "floor": 3}')
    page.click("text=Save metadata")
    page.fill("[name=metadata]", '{"owner": "kim of the kitchen", "floor": 4}')
    page.click("text=Save metadata")
    page.click("#main a:has-text('History')")
    newest = page.locator(".rs-audit__entry").first
    expect(newest).to_contain_text("Metadata of the collection changed")
    expect(newest).to_contain_text("kim")
    owner = newest.locator(".rs-audit__changes > div", has_text="metadata > owner")
    shown = HOSTILE.replace("\u202e", "[U+202E]").replace("\u202c", "[U+202C]")
    expect(owner.locator("del")).to_contain_text(shown)
    expect(owner.locator("ins")).to_contain_text("kim of the kitchen")
    expect(page.locator(".rs-audit__entry")).to_have_count(3)
    shoot(page, "history")
    page.click("text=Changes of everything in it")
    expect(page.locator(".rs-audit__entry")).to_have_count(4)
    page.select_option("[name=action]", "job.submitted")
    page.click("button:has-text('Show')")
    expect(page.locator(".rs-audit__entry")).to_have_count(1)
    expect(page.locator(".rs-audit__entry")).to_contain_text("guide.md")
    page.fill("[name=actor]", "nobody")
    page.click("button:has-text('Show')")
    expect(page.locator("#content")).to_contain_text("Nothing fits")
    page.click("#content .rs-empty >> text=Show all")
    expect(page.locator(".rs-audit__entry")).not_to_have_count(0)
    shoot(page, "audit")
    page.evaluate("document.documentElement.classList.add('dark')")
    shoot(page, "audit-dark")


def test_a_superuser_says_what_a_group_sees(page: Page) -> None:
    page.goto("/admin/auth/group/")
    expect(page.locator("#result_list")).to_contain_text("Sees collections, documents, chunks, jobs and queries")
    expect(page.locator("#result_list")).to_contain_text("all collections")
    shoot(page, "groups")
    page.click("#result_list a:has-text('viewer')")
    expect(page.locator("[name=collections]")).to_have_value("*")
    shoot(page, "group")
    page.fill("[name=collections]", "team-*\nhandbook")
    page.click("button[name=_save]")
    row = page.locator("#result_list tr", has=page.get_by_role("link", name="viewer", exact=True))
    expect(row).to_contain_text("team-*, handbook")
    admin = User.objects.get(username="admin")
    page.goto(f"/admin/access/user/{admin.pk}/change/")
    shoot(page, "user")
