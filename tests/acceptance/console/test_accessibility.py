"""Issue 7, point 8: every page by axe-core, in light and dark, and at the width of a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from django.contrib.auth.models import Group
from playwright.sync_api import Page

from access_app.models import User
from tests.integration.console.conftest import make_rows, pages

pytestmark = pytest.mark.django_db(transaction=True)

#: Of axe's four these two keep somebody from using a page.
GRAVE = frozenset({"serious", "critical"})
ALL_RULES: dict[str, Any] = {"resultTypes": ["violations"]}
#: What can differ between the colour schemes.
COLOURS: dict[str, Any] = {**ALL_RULES, "runOnly": ["color-contrast", "link-in-text-block"]}
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
OTHERS = ("", "access/user/", "access/user/add/", "auth/group/", "auth/group/add/", "password_change/")
#: Room for a scroll bar's rounding.
PIXEL = 1


def violations(page: Page, options: dict[str, Any]) -> list[str]:
    """What axe finds grave on the page, each with the elements."""
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{page.url}: {rule['id']}: {rule['help']}: {[node['html'][:160] for node in rule['nodes']][:3]}"
        for rule in found
        if rule["impact"] in GRAVE
    ]


def everywhere(page: Page) -> Iterator[str]:
    """Go to all pages one after the other, with one row of everything to show; parts of pages are left out."""
    people = (f"auth/group/{Group.objects.earliest('pk').pk}/change/", f"access/user/{User.objects.get().pk}/change/")
    for path in (*OTHERS, *people, *pages(make_rows())):
        if "<html" in page.request.get(f"/admin/{path}").text():
            page.goto(f"/admin/{path}")
            yield path


def test_every_page_can_be_used(page: Page, transactional_db: None) -> None:
    """One visit of each page, since loading one is what takes time: by axe, in the other colours, and narrow."""
    page.emulate_media(reduced_motion="reduce")
    found: list[str] = []
    for path in everywhere(page):
        found += violations(page, ALL_RULES)
        page.evaluate("document.documentElement.classList.add('dark')")
        found += violations(page, COLOURS)
        page.set_viewport_size({"width": NARROW["width"], "height": NARROW["height"]})
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > NARROW["width"] + PIXEL:
            found.append(f"{path} is {width} pixels wide")
        page.set_viewport_size({"width": WIDE["width"], "height": WIDE["height"]})
    assert not found, "\n".join(found)
