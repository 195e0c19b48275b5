"""What filters mean."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core_app.where import Compare, matches, parse_where, parse_where_text
from core_app.where.dates import instant
from tests.unit.core.where_golden import DOCUMENTS, EXTENDED, GOLDEN


@pytest.mark.parametrize(
    ("filter_", "expected"), [*GOLDEN, *EXTENDED], ids=lambda value: json.dumps(value, default=str)
)
def test_the_golden_table_row_by_row(filter_: dict[str, Any], expected: set[int]) -> None:
    """A6.1 to A6.4 and what other stores answer."""
    where = parse_where(filter_)
    assert {
        number for number, (metadata, text) in DOCUMENTS.items() if matches(where, metadata=metadata, text=text)
    } == expected


def holds(value: object, operator: str, operand: Any) -> bool:
    return matches(Compare("k", operator, operand), metadata={"k": value}, text="")


@pytest.mark.parametrize(
    ("value", "operand"),
    [(1, 1.0), (0, -0.0), (10**23, 1e23), (2.5, 2.5), (9007199254740993, 9007199254740993), ("ä", "ä"), (True, True)],
)
def test_values_that_are_equal(value: Any, operand: Any) -> None:
    assert holds(value, "$eq", operand)
    assert holds(value, "$in", (operand,))
    assert holds([value, None], "$contains", operand)
    assert not holds(value, "$ne", operand)
    assert not holds(value, "$nin", (operand,))
    assert not holds([value], "$not_contains", operand)


@pytest.mark.parametrize(
    ("value", "operand"),
    [
        (1, True),
        (True, 1),
        (0, False),
        ("1", 1),
        ("true", True),
        (None, False),
        (None, 0),
        (None, ""),
        ([1], 1),
        ([[1]], 1),
        ({"a": 1}, 1),
        (0.1 + 0.2, 0.3),
        (9007199254740993, 9007199254740992.0),
        ("a", "A"),
        ("a\u0308", "ä"),
    ],
)
def test_values_that_are_not_equal(value: Any, operand: Any) -> None:
    assert not holds(value, "$eq", operand)
    assert not holds(value, "$in", (operand,))
    assert holds(value, "$ne", operand)
    assert holds(value, "$nin", (operand,))
    assert not holds([[value]], "$contains", operand)


@pytest.mark.parametrize("value", [True, "5", None, [5], {"a": 5}, float("nan"), float("inf")])
def test_only_numbers_are_compared_with_numbers(value: Any) -> None:
    assert not any(holds(value, operator, 1) for operator in ("$gt", "$gte", "$lt", "$lte"))


def test_integers_beyond_floats_are_compared_exactly() -> None:
    assert holds(10**300 + 1, "$gt", 10**300)
    assert holds(-(10**4000), "$lt", -1e308)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2024-05-31", "2024-06-01"),
        ("2024-05-31", "2024-05-31T00:00:00.000001"),
        ("2024-05-31T12:00+02:00", "2024-05-31T11:00Z"),
        ("2024-05-31 23:59:59.5", "2024-05-31T23:59:59.51Z"),
        ("0001-01-01T00:00+14:59", "0001-01-01"),
        ("9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999-14:59"),
        ("2024-02-29", "2024-03-01"),
    ],
)
def test_dates_are_compared_as_moments(earlier: str, later: str) -> None:
    assert holds(earlier, "$lt", later)
    assert holds(later, "$gt", earlier)
    assert not holds(earlier, "$gte", later)
    assert not holds(later, "$lte", earlier)


def test_the_same_moment_is_written_in_several_ways_and_equal_in_one() -> None:
    midnight, noted = "2024-05-31", "2024-05-31T01:30:00.000+01:30"
    assert holds(midnight, "$gte", noted)
    assert holds(midnight, "$lte", noted)
    assert not holds(midnight, "$gt", noted)
    assert not holds(midnight, "$eq", noted)


@pytest.mark.parametrize(
    "value",
    [
        "2024-5-31", "2024-05-32", "2023-02-29", "2024-13-01", "0000-01-01", "10000-01-01", "-2024-01-01", "20240531",
        "2024-05-31T", "2024-05-31T12", "2024-05-31T24:00", "2024-05-31T12:60", "2024-05-31T12:00:60",
        "2024-05-31T12:00:00.", "2024-05-31T12:00:00.1234567", "2024-05-31T12:00:00,5", "2024-05-31T12:00z",
        "2024-05-31t12:00", "2024-05-31  12:00", "2024-05-31 12:00 Z", "2024-05-31T12:00+15:00",
        "2024-05-31T12:00+0200", "2024-05-31T12:00+02", "2024-05-31Z", "2024-05-31\n", " 2024-05-31", "٢٠٢٤-05-31",
        "2024-W22-5", "now", "infinity", "", 20240531, None, True,
    ],
)  # fmt: skip
def test_what_is_no_date(value: object) -> None:
    assert instant(value) is None


def test_the_same_filter_from_a_query_string() -> None:
    assert parse_where_text('{"k": {"$in": ["a"]}}') == parse_where({"k": {"$in": ["a"]}})
