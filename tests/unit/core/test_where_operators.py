"""Everything that reads the table of operators knows all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from collections_app import where_sql
from core_app.errors import InvalidInput
from core_app.where import evaluation, matches, parse_where, parsing
from core_app.where.operators import NOT, OPERATORS, Takes
from core_app.where.schema import FILTER, components, describe
from ragsite.management.commands.where_reference import render
from tests.unit.core.where_golden import EXTENDED, GOLDEN, REFUSED

NAMES = [
    "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$contains", "$not_contains", "$regex",
    "$not_regex", "$and", "$or", "$not",
]  # fmt: skip
SCHEMA = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{FILTER}", "$defs": components("#/$defs/")})


def test_the_operators() -> None:
    assert list(OPERATORS) == NAMES
    assert [row.name for row in OPERATORS.values() if row.on_text] == NAMES[9:13]
    assert [row.name for row in OPERATORS.values() if row.on_filters] == NAMES[13:]
    assert [row.name for row in OPERATORS.values() if row.on_metadata] == NAMES[:13]
    assert len({row.label for row in OPERATORS.values()}) == len(NAMES)


@pytest.mark.parametrize("known", [evaluation, where_sql], ids=lambda module: module.__name__)
def test_each_operator_has_a_meaning_and_its_sql(known: Any) -> None:
    positive = [row for row in OPERATORS.values() if not row.negates]
    assert list(known.ON_METADATA) == [row.name for row in positive if row.on_metadata]
    assert list(known.ON_TEXT) == [row.name for row in positive if row.on_text]


def test_an_operator_that_negates_stands_where_the_other_does() -> None:
    for row in OPERATORS.values():
        if row.negates:
            other = OPERATORS[row.negates]
            assert other.negates is None
            assert bool(row.on_metadata) == bool(other.on_metadata)
            assert bool(row.on_text) == bool(other.on_text)


def test_each_kind_of_operand_is_read() -> None:
    assert set(parsing.OPERANDS) == set(Takes) - {Takes.FILTER, Takes.FILTERS}
    joining = {row.name: row.on_filters.takes for row in OPERATORS.values() if row.on_filters}
    assert {name for name, takes in joining.items() if takes is Takes.FILTERS} == set(parsing.JOINED)
    assert [name for name, takes in joining.items() if takes is Takes.FILTER] == [NOT]


@pytest.mark.parametrize("row", [row for row in OPERATORS.values() if row.on_metadata], ids=lambda row: row.name)
def test_the_table_says_who_matches_without_the_key(row: Any) -> None:
    """`$exists` depends on what it is asked; its description says so."""
    where = parse_where(json.loads(row.on_metadata.example))
    assert matches(where, metadata={}, text="") == row.matches_missing


def test_the_builder_s_list() -> None:
    rows = {row["name"]: row for row in describe()}
    assert list(rows) == NAMES
    assert rows["$nin"]["note"] == "Also matches documents without the key."
    assert rows["$in"]["note"] == ""
    assert rows["$contains"]["metadata"]["takes"] == "scalar"
    assert rows["$contains"]["text"]["takes"] == "text"
    assert rows["$gt"]["text"] is None
    assert json.loads(json.dumps(list(rows.values()))) == describe()


@pytest.mark.parametrize("filter_", [row[0] for row in [*GOLDEN, *EXTENDED]], ids=json.dumps)
def test_the_schema_takes_what_the_parser_takes(filter_: dict[str, Any]) -> None:
    SCHEMA.validate(filter_)


#: What a schema of OpenAPI 3.0 cannot say: the grammar of dates and patterns, and which keys there may not be.
BEYOND_SCHEMA = [{"k": {"$gt": "a"}}, {"$nor": [{"k": "a"}]}, {"#document": {"$regex": "("}}]


@pytest.mark.parametrize("filter_", [filter_ for filter_ in REFUSED if filter_ not in BEYOND_SCHEMA], ids=json.dumps)
def test_the_schema_refuses_what_the_parser_refuses(filter_: dict[str, Any]) -> None:
    assert not SCHEMA.is_valid(filter_)


OPERAND = st.sampled_from(
    [1, 2.5, "a", "", True, None, "2024-05-31", [], [1], [1, "a"], {}, {"$eq": 1}, {"$not": {"$eq": 1}}, [{"k": 1}]]
)


@given(st.sampled_from([*NAMES, "$x", "k"]), OPERAND, st.sampled_from(["k", "#document", None]))
def test_no_form_that_the_parser_takes_is_missing_in_the_schema(name: str, operand: Any, field: str | None) -> None:
    filter_ = {name: operand} if field is None else {field: {name: operand}}
    try:
        parse_where(filter_)
    except InvalidInput:
        return
    SCHEMA.validate(filter_)


def test_the_page_in_the_docs_is_up_to_date() -> None:
    page: Path = django_settings.BASE_DIR / "docs" / "where.md"
    assert page.read_text(encoding="utf-8") == render()


def test_the_page_names_every_operator_and_example() -> None:
    page = render()
    for row in OPERATORS.values():
        for use in (row.on_metadata, row.on_text, row.on_filters):
            assert use is None or f"| `{row.name}` | {row.label} | {use.takes.value} | {use.description} |" in page
            assert use is None or use.example in page
    assert "`$ne`, `$nin`, `$not_contains` and `$not_regex` match documents that do not have the key" in page


def test_the_command_writes_and_compares_the_page(settings: Any, tmp_path: Path) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs").mkdir()
    with pytest.raises(CommandError, match="out of date"):
        call_command("where_reference", "--check")
    call_command("where_reference")
    call_command("where_reference", "--check")
    page = tmp_path / "docs" / "where.md"
    page.write_text(page.read_text() + "more")
    with pytest.raises(CommandError, match="out of date"):
        call_command("where_reference", "--check")
