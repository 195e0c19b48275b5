"""Reads the project's Markdown pages: their links, headings, code and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

_FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.M)
_CODE = re.compile(r"`([^`\n]+)`")


def pages() -> list[Path]:
    """README and its like at the top, and everything below docs/."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return _FENCE.sub("", text(page))


def links(page: Path) -> list[str]:
    """Targets of links and pictures that lead to something in the repository."""
    return [target for target in _LINK.findall(prose(page)) if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """What `#…` may name: each heading in lower case, without punctuation, with dashes for blanks."""
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in _HEADING.findall(prose(page)))
    return {heading.replace(" ", "-") for heading in plain}


def code(page: Path) -> list[str]:
    """The pieces of code within sentences and tables."""
    return _CODE.findall(prose(page))


def tables_of(page: Path, *, first_column: str) -> Iterator[str]:
    """The first cells of the rows of every table whose first column has this title."""
    inside = False
    for line in prose(page).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[0] == first_column:
            inside = True
        elif inside and not cells[0].startswith("---"):
            yield cells[0]
