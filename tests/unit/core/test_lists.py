"""Lists in bodies: refused by their length before anything else, and with few words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework import serializers

import ragsite.urls  # noqa: F401 - so that every serializer is there
from core_app.api import (
    MOST_MISTAKES,
    StrictCharField,
    StrictIntegerField,
    StrictListField,
    StrictListSerializer,
    StrictSerializer,
)

LONGEST = 1000


class Counting(StrictIntegerField):
    """Counts how many elements were looked at."""

    looked_at = 0

    def to_internal_value(self, data: Any) -> int:
        Counting.looked_at += 1
        return super().to_internal_value(data)


class Item(StrictSerializer):
    name = StrictCharField()


class Body(StrictSerializer):
    numbers = StrictListField(child=Counting(), required=False, max_length=LONGEST, allow_empty=False)
    items = Item(many=True, required=False, allow_empty=False)


def mistakes(data: Any) -> Any:
    body = Body(data=data)
    assert not body.is_valid()
    return body.errors


def test_a_list_that_is_too_long_is_not_looked_into() -> None:
    Counting.looked_at = 0
    found = mistakes({"numbers": ["x"] * (LONGEST + 1)})
    assert found == {"numbers": ["Ensure this field has no more than 1000 elements."]}
    assert Counting.looked_at == 0


def test_of_many_mistakes_the_first_are_told() -> None:
    Counting.looked_at = 0
    found = mistakes({"numbers": [1, *["x"] * 500]})["numbers"]
    assert list(found) == list(range(1, MOST_MISTAKES + 1))
    assert Counting.looked_at == MOST_MISTAKES + 1
    assert len(mistakes({"items": [{"name": "a"}, *[3] * 100_000]})["items"]) == MOST_MISTAKES


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"numbers": []}, "empty"),
        ({"numbers": "123"}, "list"),
        ({"numbers": {"0": 1}}, "list"),
        ({"items": []}, "empty"),
        ({"items": {"name": "a"}}, "list"),
        ({"items": [{"name": 3}]}, "valid string"),
    ],
)
def test_what_is_no_such_list_is_refused(data: Any, said: str) -> None:
    assert said in str(mistakes(data))


def test_good_lists_are_taken() -> None:
    body = Body(data={"numbers": [1, 2], "items": [{"name": "a"}]})
    assert body.is_valid(), body.errors
    assert body.validated_data == {"numbers": [1, 2], "items": [{"name": "a"}]}


def _subclasses(kind: type[StrictSerializer]) -> Iterator[type[StrictSerializer]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from _subclasses(inner)


def test_every_list_of_every_body_is_such_a_list() -> None:
    lists = 0
    for kind in _subclasses(StrictSerializer):
        for name, field in kind().fields.items():
            if isinstance(field, serializers.ListField | serializers.ListSerializer):
                assert isinstance(field, StrictListField | StrictListSerializer), f"{kind.__name__}.{name}"
                lists += 1
    assert lists >= 10
