"""When two JSON values are the same."""

from __future__ import annotations

from typing import Any

import pytest

from core_app.json_values import is_same_json


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
        (1, 1.0),
        ([{"a": 1}], ({"a": 1.0},)),
        (None, None),
        ({}, {}),
    ],
)
def test_same(one: Any, other: Any) -> None:
    assert is_same_json(one, other)
    assert is_same_json(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        ([{"a": [False]}], [{"a": [0]}]),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ({"a": None}, {}),
        ({"a": None}, {"b": None}),
        ({}, []),
        ("1", 1),
        (None, False),
    ],
)
def test_different(one: Any, other: Any) -> None:
    assert not is_same_json(one, other)
    assert not is_same_json(other, one)


def _nested(innermost: int) -> list[Any]:
    value: list[Any] = [innermost]
    for _ in range(5_000):
        value = [value]
    return value


def test_a_deep_value_is_compared_to_its_end() -> None:
    assert is_same_json(_nested(1), _nested(1))
    assert not is_same_json(_nested(1), _nested(2))
