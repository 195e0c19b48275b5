"""Filters from JSON, and the sentences that name the place of a mistake."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_app.errors import InvalidInput
from core_app.where import And, Compare, Not, Or, matches, parse_where, parse_where_text
from core_app.where.operators import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_KEY,
    MAX_LIST,
    MAX_PATTERN,
    MAX_PATTERNS,
    MAX_STRING,
    OPERATORS,
)
from tests.unit.core.where_golden import REFUSED


def refused(value: object, **more: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse_where(value, **more)
    assert caught.value.code == "invalid_where"
    return caught.value.detail


def test_forms_of_a_tree() -> None:
    """A6.2: several keys mean and."""
    one, two = Compare("a", "$eq", 1), Compare("b", "$eq", "x")
    assert parse_where({"a": 1}) == parse_where({"a": {"$eq": 1}}) == one
    assert parse_where({"a": 1, "b": "x"}) == And((one, two))
    assert parse_where({"a": {"$eq": 1, "$ne": 2}}) == And((one, Compare("a", "$ne", 2)))
    assert parse_where({"$or": [{"a": 1}, {"b": "x"}]}) == Or((one, two))
    assert parse_where({"$and": [{"a": 1}]}) == And((one,))
    assert parse_where({"$not": {"a": 1, "b": "x"}}) == Not(And((one, two)))
    assert parse_where({"a": {"$not": {"$eq": 1}}}) == Not(one)
    assert parse_where({"a": {"$in": [1, 2.5]}}) == Compare("a", "$in", (1, 2.5))
    assert parse_where({"#document": {"$contains": "x"}}) == Compare(None, "$contains", "x")
    assert parse_where({"": {"$exists": False}}) == Compare("", "$exists", False)
    assert parse_where({}) is None


@pytest.mark.parametrize("operator", OPERATORS)
def test_examples_of_the_table_are_filters_with_their_operator(operator: str) -> None:
    row = OPERATORS[operator]
    uses = [use for use in (row.on_metadata, row.on_text, row.on_filters) if use]
    assert uses
    for use in uses:
        assert parse_where_text(use.example) is not None
        assert f'"{operator}"' in use.example
        assert ('"#document"' in use.example) == (use is row.on_text) or use is row.on_filters


@pytest.mark.parametrize("value", REFUSED, ids=json.dumps)
def test_what_other_stores_refuse_is_refused(value: Any) -> None:
    assert refused(value).startswith("$.")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "$: must be a JSON object"),
        (None, "$: must be a JSON object"),
        ("x", "$: must be a JSON object"),
        ({"doc_type": {"$in": []}}, "$.doc_type.$in: must be a non-empty list of strings, numbers or booleans"),
        ({"doc_type": {"$nin": "a"}}, "$.doc_type.$nin: must be a non-empty list of strings, numbers or booleans"),
        ({"k": {"$in": [1, None]}}, "$.k.$in[1]: must be a string, a number or a boolean"),
        ({"k": {"$in": [1, "a"]}}, "$.k.$in: must hold values of one type: all strings, all numbers or all booleans"),
        ({"k": None}, "$.k: must be a string, a number or a boolean, or an object of operators: $eq, $ne, "),
        ({"k": {}}, "$.k: must be an object of operators: $eq, $ne, "),
        ({"k": {"$not": 5}}, "$.k.$not: must be an object of operators: $eq, "),
        (
            {"k": {"$gt": "x"}},
            "$.k.$gt: must be a number, or an ISO 8601 date such as 2024-05-31 or 2024-05-31T12:00:00Z",
        ),
        ({"k": {"$like": 1}}, "$.k.$like: is not an operator that is known here; use $eq, $ne, $gt, "),
        ({"k": {"$and": []}}, "$.k.$and: is not an operator that is known here; use $eq, "),
        ({"#document": {"$eq": "x"}}, "$.#document.$eq: is not an operator that is known here; use $contains, "),
        ({"#document": "x"}, "$.#document: must be an object of operators: $contains, $not_contains, "),
        ({"#document": {"$contains": ""}}, "$.#document.$contains: must be a non-empty string"),
        ({"k": {"$exists": 1}}, "$.k.$exists: must be true or false"),
        ({"$eq": 1}, "$.$eq: is not known here; conditions stand behind a key, and $and, $or or $not join filters"),
        ({"$and": []}, "$.$and: must be a non-empty list of filters"),
        ({"$or": [{"a": 1}, {"b": {"$in": []}}]}, "$.$or[1].b.$in: must be a non-empty list"),
        ({"$or": [{"a": 1}, 5]}, "$.$or[1]: must be a JSON object"),
        ({"$not": {}}, "$.$not: must be a non-empty object"),
        ({"k": {"$regex": "a**"}}, "$.k.$regex: is not a pattern that is known: there is nothing that * could repeat"),
        ({"k": float("inf")}, "$.k: must be a number between -1.7e308 and 1.7e308"),
        ({"k": {"$lt": float("nan")}}, "$.k.$lt: must be a number between -1.7e308 and 1.7e308"),
        ({"k": {"$in": [10**400]}}, "$.k.$in[0]: must be a number between -1.7e308 and 1.7e308"),
        ({1: 2}, "$: its keys must be strings"),
    ],
)
def test_mistakes_name_their_place(value: object, message: str) -> None:
    assert refused(value).startswith(message)


def test_the_place_of_the_filter_itself_can_be_named() -> None:
    assert refused({"k": None}, place="$.queries[2].where").startswith("$.queries[2].where.k: must be")


@pytest.mark.parametrize("bad", ["a\x00b", "\ud800", "x\udfff"])
def test_what_postgres_cannot_keep_is_refused_by_place(bad: str) -> None:
    assert refused({bad: 1}) == "$: remove NUL characters and lone surrogates from its keys"
    assert refused({"k": {bad: 1}}) == "$.k: remove NUL characters and lone surrogates from its keys"
    assert refused({"k": bad}) == "$.k: remove NUL characters and lone surrogates"
    assert refused({"k": {"$in": ["a", bad]}}) == "$.k.$in[1]: remove NUL characters and lone surrogates"
    assert refused({"#document": {"$contains": bad}}).startswith("$.#document.$contains: remove NUL")
    assert refused({"#document": {"$regex": bad}}).startswith("$.#document.$regex: remove NUL")


@pytest.mark.parametrize(
    "text",
    [
        "invalid-json-string", "", "{", "{'k': 1}", '{"k": NaN}', '{"k": -Infinity}', '{"k": 1} x', '{"k": 01}',
        "[" * 100_000, '{"$not":' * 100_000, "\ufeff{}", "\x00",
    ],
)  # fmt: skip
def test_a_6_9_text_that_is_no_json(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_where_text(text)
    assert caught.value.detail == "Invalid 'where' filter: must be valid JSON"
    assert caught.value.code == "invalid_where"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "$: must be a JSON object"),
        ('"k"', "$: must be a JSON object"),
        ("null", "$: must be a JSON object"),
        ('{"k": 1e999}', "$.k: must be a number between"),
        ('{"k": %s}' % ("9" * 400), "$.k: must be a number between"),
        ('{"k": -%s}' % ("9" * 100_000), "$.k: must be a number between"),
        ('{"team": "a", "team": "b"}', "Invalid 'where' filter: 'team' stands twice in one object."),
        ('{"$not": {"n": {"$gt": 1, "$lt": 9, "$gt": 2}}}', "Invalid 'where' filter: '$gt' stands twice"),
        ('{"k": "\\ud800"}', "$.k: remove NUL characters and lone surrogates"),
    ],
)
def test_json_that_is_no_filter(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_where_text(text)
    assert caught.value.detail.startswith(message)
    assert caught.value.code == "invalid_where"


def nested(levels: int) -> dict[str, Any]:
    return {"k": 1} if levels == 1 else {"$not": nested(levels - 1)}


def nested_behind_a_key(levels: int) -> dict[str, Any]:
    return {"$eq": 1} if levels == 1 else {"$not": nested_behind_a_key(levels - 1)}


@pytest.mark.parametrize(
    ("allowed", "beyond", "message"),
    [
        (nested(MAX_DEPTH), nested(MAX_DEPTH + 1), "nested more than 10 levels deep"),
        (
            {"k": nested_behind_a_key(MAX_DEPTH)},
            {"k": nested_behind_a_key(MAX_DEPTH + 1)},
            "nested more than 10 levels deep",
        ),
        (
            {"$or": [{"k": 1}] * MAX_CONDITIONS},
            {"$or": [{"k": 1}] * (MAX_CONDITIONS + 1)},
            "$.$or[100].k: a filter must not hold more than 100 conditions",
        ),
        (
            {"k": {"$in": [1] * MAX_LIST}},
            {"k": {"$in": [1] * (MAX_LIST + 1)}},
            "$.k.$in: must not hold more than 1,000 values",
        ),
        (
            {"k": {"$regex": "a" * MAX_PATTERN}},
            {"k": {"$regex": "a" * (MAX_PATTERN + 1)}},
            "$.k.$regex: must not be longer than 500 characters",
        ),
        (
            {"$or": [{"k": {"$regex": "a"}}] * MAX_PATTERNS},
            {"$or": [{"k": {"$regex": "a"}}] * (MAX_PATTERNS + 1)},
            "$.$or[20].k.$regex: a filter must not hold more than 20 patterns",
        ),
        ({"k" * MAX_KEY: 1}, {"k" * (MAX_KEY + 1): 1}, "…: must not be longer than 512 characters"),
        ({"k": "x" * MAX_STRING}, {"k": "x" * (MAX_STRING + 1)}, "$.k: must not be longer than 10,000 characters"),
        (
            {"#document": {"$contains": "x" * MAX_STRING}},
            {"#document": {"$contains": "x" * (MAX_STRING + 1)}},
            "$.#document.$contains: must not be longer than 10,000 characters",
        ),
    ],
)
def test_bounds(allowed: Any, beyond: Any, message: str) -> None:
    assert parse_where(allowed) is not None
    assert message in refused(beyond)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(list(OPERATORS)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*OPERATORS, "#document", "k"]) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON)
def test_whatever_json_is_sent_it_is_a_filter_or_one_sentence(value: Any) -> None:
    try:
        where = parse_where(value)
    except InvalidInput as error:
        where = None
        told = error.detail.startswith("$") and error.detail.isprintable() and error.code == "invalid_where"
    else:
        told = True
    assert told
    assert matches(where, metadata={"k": 1}, text="x") in (True, False)
