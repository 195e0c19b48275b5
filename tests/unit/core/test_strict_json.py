"""What a body may hold before any view sees it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.http.request import RawPostDataException
from hypothesis import given
from hypothesis import strategies as st
from rest_framework import serializers

from core_app.api import (
    MAX_DEPTH,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    StrictJSONParser,
    StrictSerializer,
    parse_json,
    reject_unstorable,
)
from core_app.errors import InvalidInput, TooLarge

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_everything_json_comes_back_as_it_was(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    "text",
    ["", "{", "{'a': 1}", '{"a": NaN}', "[Infinity]", "-Infinity", "1e400", "[-1e999]", "9" * 5000, "[1] 2", '"\t"'],
)
def test_what_is_no_json_or_no_finite_number_is_one_sentence(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_json(text)
    is_number = "9" in text or "400" in text
    assert caught.value.code == ("number_too_large" if is_number else "malformed_json")
    assert caught.value.detail.endswith(".")
    assert "sys." not in caught.value.detail


def test_a_key_that_stands_twice_is_named() -> None:
    with pytest.raises(InvalidInput, match="The body has 'team' twice in one object") as caught:
        parse_json('{"where": [{"x": 1, "team": "a", "team": "a"}]}')
    assert caught.value.code == "malformed_json"


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 500, 100_000])
def test_nesting_is_bounded_before_it_can_exhaust_the_stack(opening: str, depth: int) -> None:
    closing = {"[": "]", '{"a":': "}"}[opening]
    with pytest.raises(InvalidInput, match="nested"):
        parse_json(opening * depth + "1" + closing * depth)


def test_the_deepest_allowed_nesting_is_read() -> None:
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)


def test_place_of_a_mistake_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"at line 2, column 8\.$"):
        parse_json('{"a": 1,\n  "b": }')


def test_a_body_above_the_limit_is_not_read_to_its_end(settings: Any) -> None:
    limit = 1000
    section = settings.RAGSITE.ingestion.model_copy(update={"max_request_bytes": limit})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"ingestion": section})
    exact = io.BytesIO(json.dumps("x" * (limit - 2)).encode())
    assert StrictJSONParser().parse(exact) == "x" * (limit - 2)
    endless = io.BytesIO(b"[" * 1_000_000)
    with pytest.raises(TooLarge):
        StrictJSONParser().parse(endless)
    assert endless.tell() <= limit + 1


def test_a_body_in_another_encoding_is_refused() -> None:
    with pytest.raises(InvalidInput, match="UTF-8"):
        StrictJSONParser().parse(io.BytesIO('{"a": "é"}'.encode("latin-1")))


def test_a_body_that_was_read_before_is_one_sentence() -> None:
    class Spent(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise RawPostDataException("read before")

    with pytest.raises(InvalidInput, match="Send it again"):
        StrictJSONParser().parse(Spent())


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("a\x00", "body"),
        ("\ud800", "body"),
        ({"a": ["x", {"b": "\x00"}]}, "body.a[1].b"),
        ({"a\x00": 1}, "body: a key"),
        (("ok", "\udfff"), "body[1]"),
    ],
)
def test_text_that_postgres_cannot_keep_is_refused_with_its_place(value: object, place: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        reject_unstorable(value, "body")
    assert caught.value.detail.startswith(f"{place}: ")


def test_other_values_pass() -> None:
    reject_unstorable({"a": ["\u2603", "\U0001f600", 1, None, True, 1.5, "\x01"]}, "body")


class Sample(StrictSerializer):
    text = StrictCharField(required=False)
    count = StrictIntegerField(required=False)
    score = StrictFloatField(required=False)
    fixed = serializers.CharField(read_only=True)


def errors_of(data: Any) -> Any:
    sample = Sample(data=data)
    assert not sample.is_valid()
    return sample.errors


@pytest.mark.parametrize("data", [[], "text", 5, None, [{}]])
def test_only_an_object_is_a_body(data: Any) -> None:
    assert errors_of(data)


def test_a_field_that_is_not_known_is_named_with_those_that_are() -> None:
    assert errors_of({"txet": "x"}) == {"txet": ["Unknown field. Known fields: text, count, score."]}


WRONG: dict[str, list[object]] = {
    "text": [5, True, None, ["a"], {}, "\ud800", "a\x00"],
    "count": ["5", True, 5.0, 5.5, None],
    "score": ["0.5", True, None, [1]],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field in WRONG for value in WRONG[field]])
def test_nothing_is_turned_into_another_type(field: str, value: object) -> None:
    assert list(errors_of({field: value})) == [field]


def test_the_right_types_are_kept() -> None:
    sample = Sample(data={"text": "x", "count": 5, "score": 1})
    assert sample.is_valid()
    assert sample.validated_data == {"text": "x", "count": 5, "score": 1.0}
