"""A browser that keeps count of what must not happen: console errors, and requests to other machines."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from django.core.signals import request_finished, request_started
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright
from pytest_django.live_server_helper import LiveServer

from access_app.models import User

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
TIMEOUT_MS = 20_000
QUIET_SECONDS = 20
PASSWORD = "a long password 7"


@dataclass
class Watch:
    """What a page did that it should not have."""

    home: str
    faults: list[str] = field(default_factory=list)

    def on_console(self, message: ConsoleMessage) -> None:
        # Violations of the content security policy are errors of the console too.
        if message.type in {"error", "warning"}:
            self.faults.append(f"console: {message.text} ({message.location.get('url')})")

    def on_crash(self, error: Exception) -> None:
        self.faults.append(f"script: {error}")

    def on_request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.home}/", "data:", "blob:")):
            self.faults.append(f"request to elsewhere: {request.url}")


@contextmanager
def quiet_at_the_end() -> Iterator[None]:
    """Leave when the server has finished what it was asked: a page that was closed does not end its requests.

    One that still reads while the tables are emptied for the next test ends in a deadlock.
    """
    change = threading.Condition()
    running = 0

    def count(by: int) -> None:
        nonlocal running
        with change:
            running += by
            change.notify_all()

    def began(**_: object) -> None:
        count(1)

    def ended(**_: object) -> None:
        count(-1)

    request_started.connect(began)
    request_finished.connect(ended)
    try:
        yield
        with change:
            assert change.wait_for(lambda: running <= 0, QUIET_SECONDS), f"{running} requests have not ended"
    finally:
        request_started.disconnect(began)
        request_finished.disconnect(ended)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's own Chromium, gone with the module: the event loop it brings is in other tests' way."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    # Playwright runs an event loop in this thread, in which Django would refuse to touch the database.
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
    else:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, transactional_db: None) -> Iterator[Page]:
    """A fresh browser, logged in as a superuser; the test fails for anything the watch has seen."""
    User.objects.create_superuser("admin", password=PASSWORD)
    with quiet_at_the_end():
        context = browser.new_context(base_url=live_server.url, viewport={"width": 1300, "height": 900})
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        watch = Watch(live_server.url)
        page.on("console", watch.on_console)
        page.on("pageerror", watch.on_crash)
        page.on("request", watch.on_request)
        page.goto("/admin/")
        page.fill("#id_username", "admin")
        page.fill("#id_password", PASSWORD)
        page.click("button[type=submit]")
        page.wait_for_selector("#nav-sidebar")
        yield page
        context.close()
    assert watch.faults == []
