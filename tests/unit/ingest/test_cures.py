"""Every code that work on files can end with has something to do about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ingest_app.cures import UNKNOWN, cure_of, cures

ROOM = Path(__file__).parents[3] / "ingest_app"
#: Refusals of requests: whoever sent one is told at once, and no job or item ever has their codes.
OF_REQUESTS = frozenset(
    {
        "already_there",
        "body_not_expected",
        "copy_again",
        "import_again",
        "connector_exists",
        "connector_not_found",
        "invalid_beir",
        "invalid_connector",
        "invalid_distance",
        "invalid_name",
        "job_not_found",
        "job_running",
        "malformed_form",
        "no_connector",
        "nothing_sent",
        "nothing_to_retry",
        "run_connector",
        "source_not_found",
        "too_large_to_import",
        "too_many",
    }
)
#: Marks of outcomes that are none of failure.
NO_FAILURES = frozenset({"", "unpacked"})


def codes_in(module: Path) -> Iterator[str]:
    """What is given as `code=`, as the second argument of UnableToParse, or as a class's own `code`."""
    tree = ast.parse(module.read_text())
    constants = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found += [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            if isinstance(node.func, ast.Name) and node.func.id == "UnableToParse":
                found += node.args[1:2]
        elif isinstance(node, ast.ClassDef):
            found += [
                part.value
                for part in node.body
                if isinstance(part, ast.Assign)
                and isinstance(part.targets[0], ast.Name)
                and part.targets[0].id == "code"
            ]
    for value in found:
        named = constants.get(value.id, value) if isinstance(value, ast.Name) else value
        if isinstance(named, ast.Constant) and isinstance(named.value, str):
            yield named.value


def raised() -> set[str]:
    modules = [module for module in ROOM.rglob("*.py") if "migrations" not in module.parts]
    return {code for module in modules for code in codes_in(module)}


def test_codes_are_found() -> None:
    assert {"encrypted", "quarantined", "duplicate_source", "unreadable", "collection_changed"} <= raised()


def test_every_code_has_a_cure() -> None:
    assert raised() - OF_REQUESTS - NO_FAILURES - set(cures()) == set()


def test_nothing_is_on_the_list_of_requests_in_vain() -> None:
    assert OF_REQUESTS - raised() == set()
    assert OF_REQUESTS & set(cures()) == set()


def test_cures_are_sentences() -> None:
    for code, cure in cures().items():
        assert cure.endswith("."), code
        assert len(cure) < 160, code


def test_a_code_that_is_not_known_has_a_cure_too() -> None:
    assert cure_of("of_tomorrow") == UNKNOWN
    assert cure_of("") == ""
