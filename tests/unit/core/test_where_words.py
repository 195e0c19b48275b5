"""A filter in words, as a tree for pages, and which operators fit what (issue 7, point 4)."""

from __future__ import annotations

from typing import Any

import pytest

from core_app.where import parse_where
from core_app.where.fitting import fitting
from core_app.where.operators import OPERATORS, Takes
from core_app.where.outline import outline
from core_app.where.parsing import decode_where
from core_app.where.wording import in_words, missing_keys

ORDERED = ("$gt", "$gte", "$lt", "$lte")
ONE_VALUE = ("$eq", "$ne", "$in", "$nin")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("string", {*ONE_VALUE, "$exists", "$regex", "$not_regex"}),
        ("date", {*ONE_VALUE, *ORDERED, "$exists", "$regex", "$not_regex"}),
        ("number", {*ONE_VALUE, *ORDERED, "$exists"}),
        ("boolean", {*ONE_VALUE, "$exists"}),
        ("array", {"$exists", "$contains", "$not_contains"}),
        ("object", {"$exists"}),
        ("null", {"$exists"}),
    ],
)
def test_operators_fit_types(found: Any, expected: set[str]) -> None:
    """Point 4: which operators fit which type, from the one table."""
    assert set(fitting(found)) == expected
    assert [*fitting(found)] == [name for name in OPERATORS if name in expected]


def test_every_operator_fits_some_type() -> None:
    types: list[Any] = ["string", "date", "number", "boolean", "array"]
    fit = {name for one in types for name in fitting(one)}
    assert fit == {row.name for row in OPERATORS.values() if row.on_metadata}


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({}, "No filter: every document passes."),
        ({"lang": "en"}, '"lang" is "en"'),
        ({"year": {"$gte": 2020, "$lt": 2024}}, '"year" is at least 2020 and "year" is less than 2024'),
        ({"#document": {"$not_contains": "tax"}}, 'the text does not contain "tax"'),
        ({"a": {"$exists": True}}, '"a" exists'),
        ({"a": {"$exists": False}}, '"a" does not exist'),
        ({"a": True}, '"a" is true'),
        ({"a": {"$in": [1, 2, 3, 4, 5, 6, 7]}}, '"a" is one of 1, 2, 3, 4, 5 or 2 more'),
        ({"$or": [{"a": 1, "b": 2}, {"$not": {"c": 3}}]}, '("a" is 1 and "b" is 2) or not ("c" is 3)'),
        ({"x" * 80: "y\n\u202e" * 40}, f'"{"x" * 60}…" is "{"y??" * 20}…"'),
    ],
)
def test_a_filter_is_read_out(where: Any, words: str) -> None:
    assert in_words(parse_where(where)) == words


def test_what_missing_keys_do_is_what_the_table_says() -> None:
    """Point 4: says what missing keys do, a sentence for each condition."""
    operands: dict[Takes, Any] = {Takes.SCALAR: 1, Takes.ORDERED: 1, Takes.LIST: [1], Takes.PATTERN: "x"}
    for row in OPERATORS.values():
        if row.on_metadata is None or row.on_metadata.takes is Takes.BOOLEAN:
            continue
        condition = {"k": {row.name: operands[row.on_metadata.takes]}}
        (one,) = missing_keys(parse_where(condition))
        assert one.passes is row.matches_missing, row.name
        (turned,) = missing_keys(parse_where({"$not": condition}))
        assert turned.passes is not row.matches_missing, row.name
        assert one.sentence.endswith(f'documents without "k" {"pass" if row.matches_missing else "do not pass"}.')


def test_missing_keys_of_a_whole_filter() -> None:
    where = parse_where(
        {
            "a": {"$exists": False},
            "$or": [{"b": {"$exists": True}}, {"$not": {"$not": {"c": {"$ne": 1}}}}],
            "#document": {"$contains": "x"},
        }
    )
    assert [(one.field, one.passes) for one in missing_keys(where)] == [("a", True), ("b", False), ("c", True)]
    assert missing_keys(None) == []
    assert len(missing_keys(parse_where({"$or": [{"a": 1}, {"a": 1}]}))) == 1


def test_the_outline_of_a_filter() -> None:
    inner = '{"$or": [{"b": 12345678901234567890}, {"$not": {"c": true}}]}'
    text = f'{{"$or": [{{"a": {{"$in": ["x", "1"]}}}}, {inner}], "d": 1.50}}'
    drawn = outline(parse_where(decode_where(text)))
    assert (drawn["kind"], drawn["negated"]) == ("and", False)
    choice, last = drawn["parts"]
    assert [choice["kind"], len(choice["parts"])] == ["or", 3], "a group within one of its kind is part of it"
    strings = [{"type": "string", "text": "x"}, {"type": "string", "text": "1"}]
    assert choice["parts"][0] == {"kind": "condition", "field": "a", "operator": "$in", "values": strings}
    assert choice["parts"][1]["values"] == [{"type": "number", "text": "12345678901234567890"}]
    assert choice["parts"][2]["negated"] is True
    assert choice["parts"][2]["parts"][0]["values"] == [{"type": "boolean", "text": "true"}]
    assert last["values"] == [{"type": "number", "text": "1.5"}]
    assert outline(None) == {"kind": "and", "negated": False, "parts": []}
    assert outline(parse_where({"#document": {"$contains": "x"}}))["parts"][0]["field"] is None
    twice = outline(parse_where({"$not": {"$not": {"a": 1}}}))
    assert twice["negated"]
    assert twice["parts"][0]["negated"]
