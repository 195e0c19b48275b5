"""The rules that keep the rooms apart, where the import linter cannot see them."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = CONFIG["tool"]["importlinter"]["contracts"]
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc", "manager", "util", "helper"}
#: Tests and migrations have their own length; nothing else may be longer.
MAX_LINES = 400
MAX_FUNCTION_LINES = 40


def sources() -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.is_file() and "migrations" not in path.parts:
            yield path


def ours() -> list[Path]:
    return [path for path in sources() if path.relative_to(ROOT).parts[0] not in {"tests", "benchmarks", ".ci"}]


def test_every_room_on_disk_is_in_the_contract() -> None:
    """An unlisted room would pass silently."""
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    layers = next(c for c in CONTRACTS if c["type"] == "layers")["layers"]
    listed = {room.strip() for layer in layers for room in layer.split("|")}
    assert rooms == listed
    assert rooms == set(CONFIG["tool"]["importlinter"]["root_packages"])


def test_nothing_imports_the_wiring_room() -> None:
    for path in ours():
        if path.relative_to(ROOT).parts[0] in {"ragsite", "manage.py", "server.py"}:
            continue
        assert not [name for name in imported(path) if name.split(".")[0] == "ragsite"], path


def test_only_views_know_django_s_http() -> None:
    allowed = {
        "api",
        "handler",
        "authentication",
        "middleware",
        "errors",
        "health",
        "urls",
        "serializers",
        "uploads",
        "streaming",
        "swagger",
    }
    for path in ours():
        parts = path.relative_to(ROOT).parts
        if parts[0] in {"console_app"} or path.stem in allowed:
            continue
        assert not [n for n in imported(path) if n.startswith(("django.http", "django.views", "django.shortcuts"))], (
            path
        )


def imported(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return names


def test_files_have_names_that_refuse_something() -> None:
    assert [path for path in sources() if path.stem in FORBIDDEN_NAMES] == []


def test_files_stay_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert {str(path): length for path, length in lengths.items() if length > MAX_LINES} == {}


def test_functions_stay_short() -> None:
    found = {}
    for path in ours():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.body[0].lineno + 1
                if length > MAX_FUNCTION_LINES:
                    found[f"{path.relative_to(ROOT)}:{node.name}"] = length
    assert found == {}


@pytest.mark.parametrize(
    "folder", ["core_app", "access_app", "collections_app", "stores_app", "ingest_app", "search_app", "ragsite"]
)
def test_every_sql_file_is_used_by_name_and_says_what_for(folder: str) -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in ours())
    for path in (ROOT / folder).glob("sql/*.sql"):
        assert f'"{path.stem}"' in code, f"{path} is not used"
        assert path.read_text(encoding="utf-8").lstrip().startswith("--"), f"{path} has no comment"
    migrations = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / folder).glob("migrations/*.py"))
    for path in (ROOT / folder).glob("migrations/*.sql"):
        assert migrations.count(f'"{path.stem}"') >= 1, f"{path} is not used by a migration"


def test_nothing_is_left_for_later() -> None:
    marks = ("TO" + "DO", "FIX" + "ME", "X" * 3)
    # Org calls the state of a heading that; it is a word of the format there, once.
    of_the_format = {ROOT / "ingest_app" / "parsing" / "org.py": (marks[0] + "|DONE", 1)}
    for path in ours():
        text = path.read_text(encoding="utf-8")
        word, times = of_the_format.get(path, ("", 0))
        if times:
            assert text.count(word) == times, path
            text = text.replace(word, "")
        assert not [mark for mark in marks if mark in text], path
