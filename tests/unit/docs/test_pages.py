"""What the pages name must be there: files, commands, settings, addresses, codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands
from django.urls import URLPattern, URLResolver, get_resolver
from pydantic.alias_generators import to_pascal

from core_app.config import AppSettings
from tests.unit.docs.pages import ROOT, anchors, code, links, name, pages, tables_of, text

ROOMS = sorted(path.parent.name for path in ROOT.glob("*_app/__init__.py"))
API = ROOT / "docs" / "api.md"
SETTINGS = {
    f"{to_pascal(section)}:{to_pascal(key)}"
    for section, field in AppSettings.model_fields.items()
    for key in getattr(field.annotation, "model_fields", {})
}
each_page = pytest.mark.parametrize("page", pages(), ids=name)


@each_page
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    for target in links(page):
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{target}: no such file"
        assert found.is_relative_to(ROOT), f"{target}: outside the repository"
        assert not anchor or anchor in anchors(found), f"{target}: no such heading"


@each_page
def test_files_that_are_named_exist(page: Path) -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()}
    for piece in code(page):
        if re.fullmatch(r"[\w.-]+(?:/[\w.*-]+)*/?", piece) and piece.split("/")[0] in folders and "/" in piece:
            assert list(ROOT.glob(piece.rstrip("/"))) or piece.startswith("var/"), f"{piece}: no such file"


@each_page
def test_commands_that_are_named_exist(page: Path) -> None:
    known = set(get_commands())
    named = {name.replace("-", "_") for name in re.findall(r"manage\.py (\w[\w-]*)", text(page))}
    assert named - known == set()


@each_page
def test_settings_that_are_named_exist(page: Path) -> None:
    sections = "|".join(to_pascal(section) for section in AppSettings.model_fields)
    # The example of a misspelt key is meant to be wrong.
    written = re.sub(r"Search(?:__|:)Candidate\b", "", text(page))
    named = re.findall(rf"\b({sections})(?::|__)(\w+)", written)
    assert {f"{section}:{key}" for section, key in named} - SETTINGS == set()


@each_page
def test_pages_are_finished(page: Path) -> None:
    assert "@@" not in text(page)
    assert text(page).startswith("# ")


def endpoints() -> dict[tuple[str, str], Any]:
    """Every (method, path) of the API with its view; the console and the API's own documentation left out."""
    found = {}
    for path, view in addresses(get_resolver().url_patterns):
        if path.startswith(("/admin", "/swagger", "/api/schema")) or path == "/":
            continue
        for method in ("get", "post", "put", "patch", "delete"):
            if hasattr(view.view_class, method):
                found[method.upper(), path] = view.view_class
    return found


def addresses(patterns: list[Any], before: str = "/") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        path = before + re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            yield path, pattern.callback


def test_the_api_page_names_every_endpoint_and_no_other() -> None:
    named = {tuple(cell.strip("`").split(" ")) for cell in tables_of(API, first_column="call")}
    assert named == set(endpoints())


def test_the_api_page_names_the_verb_that_each_endpoint_needs() -> None:
    rows = re.findall(r"^\| `(\w+) (\S+)` \|.*\| (\w+) \| [^|]*\|$", text(API), re.M)
    assert len(rows) == len(endpoints())
    for method, path, verb in rows:
        view = endpoints()[method, path]
        assert verb == getattr(view, "verbs", {}).get(method, "nothing"), (method, path)


@pytest.mark.parametrize("page", ["life-of-a-document.md", "life-of-a-query.md"])
def test_codes_that_are_listed_are_in_the_code(page: str) -> None:
    sources = "".join(
        path.read_text(encoding="utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py") if path.is_file()
    )
    codes = [cell.strip("`") for cell in tables_of(ROOT / "docs" / page, first_column="code")]
    assert codes
    assert [listed for listed in codes if f'"{listed}"' not in sources] == []


def test_every_room_is_on_the_map() -> None:
    shown = {cell.strip("`") for cell in tables_of(ROOT / "docs" / "rooms.md", first_column="room")}
    assert shown == {*ROOMS, "ragsite"}


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    assert {page.name for page in folder.glob("0*.md")} == set(links(folder / "README.md"))


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [(page.parent / target.partition("#")[0]).resolve() for target in links(page)]
    assert [name(page) for page in pages() if page not in reached] == []
