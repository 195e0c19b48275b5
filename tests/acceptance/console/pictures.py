"""Pictures of pages, taken where `RAGSITE_PICTURES` names a folder for them; `script/screenshots` does."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Page

FOLDER = os.environ.get("RAGSITE_PICTURES", "")


def picture(page: Page, name: str, *, whole: bool = False) -> None:
    """What the window shows by now, or the whole page."""
    if FOLDER:
        page.mouse.move(0, 0)
        page.wait_for_load_state("networkidle")
        page.screenshot(path=str(Path(FOLDER) / f"{name}.png"), full_page=whole, animations="disabled")
