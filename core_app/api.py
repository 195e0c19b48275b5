"""What all JSON views share: strict parsing, strict serializers, the shape of an error in the schema."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from django.conf import settings
from django.http.request import RawPostDataException
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.fields import empty
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from core_app.errors import InvalidInput, TooLarge
from core_app.json_keys import each_once
from core_app.ports import MAX_DIMENSION
from core_app.where import parse_where

MALFORMED = "malformed_json"
NUMBER_TOO_LARGE = "number_too_large"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
#: Of the numbers that are not whole; most clients read no larger ones.
_LARGEST = int(sys.float_info.max)
#: More than any document needs, and far from where reading or writing one would run out of stack.
MAX_DEPTH = 100
#: Told of one list, or of the fields that an object does not have.
MOST_MISTAKES = 20


def parse_json(text: str) -> Any:
    """JSON as the standard and Postgres have it: finite numbers, at most MAX_DEPTH levels.

    Raises InvalidInput with a sentence that names the place of a mistake.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_each_once)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidInput(f"The body is not valid JSON: {error.msg} at {place}.", code=MALFORMED) from None
    except RecursionError:
        raise InvalidInput("The body is nested too deeply.", code=MALFORMED) from None
    except ValueError:
        raise InvalidInput("The body holds a number with too many digits.", code=NUMBER_TOO_LARGE) from None
    if is_deep(value):
        raise InvalidInput(f"The body is nested more than {MAX_DEPTH} levels deep.", code=MALFORMED)
    return value


def _doubled(key: str) -> InvalidInput:
    return InvalidInput(f"The body has {key!r} twice in one object. Send each key once.", code=MALFORMED)


_each_once = each_once(_doubled)


def _refuse_constant(name: str) -> float:
    raise InvalidInput(f"The body is not valid JSON: {name} is not a JSON number.", code=MALFORMED)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidInput(f"The body holds a number that is too large: {text[:20]}.", code=NUMBER_TOO_LARGE)
    return number


def is_deep(value: Any) -> bool:
    """Whether a JSON value has more than MAX_DEPTH levels."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = (part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list))
        level = [part for parts in inner for part in parts if isinstance(part, dict | list)]
        if not level:
            return False
    return True


class StrictJSONParser(BaseParser):
    """JSON in UTF-8, without NaN or Infinity, with a sentence that names the place of a mistake."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        limit = settings.RAGSITE.ingestion.max_request_bytes
        try:
            body = stream.read(limit + 1)
        except RawPostDataException:
            raise InvalidInput("The body could not be read. Send it again.", code=MALFORMED) from None
        if len(body) > limit:
            raise TooLarge("The request is larger than this server accepts. Send it in parts.")
        try:
            return parse_json(body.decode("utf-8"))
        except UnicodeDecodeError:
            raise InvalidInput("The body is not valid UTF-8. Send JSON in UTF-8.", code=MALFORMED) from None


class StrictListField(serializers.ListField):
    """A list whose length is looked at before its elements, and of whose mistakes the first are told.

    To rest_framework the length is the last that is looked at, and every element has an error of its own: a small body
    with a long list of nothing would be answered by tens of megabytes, tens of seconds later.
    """

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        if self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return list(super().to_internal_value(data))

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        return _validated(self.child, data)


class StrictListSerializer(serializers.ListSerializer[Any]):
    """The same for a list of objects."""

    def to_internal_value(self, data: Any) -> Any:
        most: int | None = self.max_length  # type: ignore[attr-defined]  # the stubs lack it
        if not isinstance(data, list) or not data or (most is not None and len(data) > most):
            return super().to_internal_value(data)
        return _validated(self.child, data)


def _validated(child: Any, elements: list[Any]) -> list[Any]:
    """The elements as a field or a serializer has them. Raises ValidationError with the first mistakes by place."""
    result: list[Any] = []
    mistakes: dict[Any, Any] = {}
    for place, element in enumerate(elements):
        try:
            result.append(child.run_validation(element))
        except ValidationError as error:
            mistakes[place] = error.detail
            if len(mistakes) == MOST_MISTAKES:
                break
    if mistakes:
        raise ValidationError(mistakes)
    return result


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields it does not know: an option that is silently ignored is worse than an error."""

    class Meta:
        list_serializer_class = StrictListSerializer

    def run_validation(self, data: Any = empty) -> Any:
        if data is None and self.root is self:  # the body `null`: to rest_framework it is no data at all
            raise ValidationError({"non_field_errors": ["Send a JSON object."]})
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise ValidationError({"non_field_errors": ["Send a JSON object."]})
        unknown = [str(key) for key in data if key not in self.fields]
        if unknown:
            known = ", ".join(name for name, field in self.fields.items() if not field.read_only)
            raise ValidationError(
                {name: [f"Unknown field. Known fields: {known}."] for name in unknown[:MOST_MISTAKES]}
            )
        return super().to_internal_value(data)


class ErrorSerializer(serializers.Serializer[Any]):
    """Every error, whatever its status."""

    detail = serializers.CharField(help_text="One sentence that says what to do.")
    code = serializers.CharField(help_text="The same for the same mistake; made for programs.")
    errors = serializers.DictField(  # type: ignore[assignment]  # the field's name is the API's word
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="By field, where a body was not accepted.",
    )


class StrictCharField(serializers.CharField):
    """A string as JSON knows it: numbers and booleans are not turned into text."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        text = str(super().to_internal_value(data))
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ValidationError("Remove lone surrogates: they are no characters.", code="invalid_text")
        return text


class StrictIntegerField(serializers.IntegerField):
    """A JSON integer: `"5"`, `5.5` and `true` are mistakes."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return int(super().to_internal_value(data))


class StrictFloatField(serializers.FloatField):
    """A JSON number: `"0.5"` and `true` are mistakes."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self.fail("invalid")
        return float(super().to_internal_value(data))


class StrictBooleanField(serializers.BooleanField):
    """`true` or `false`, not text or numbers that could mean one."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


@extend_schema_field({"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": MAX_DIMENSION})
class EmbeddingField(serializers.Field[Any, Any, Any, Any]):
    """A list of numbers as an array of shape (dimension,), float64."""

    default_error_messages = {
        "invalid": "Send an array of numbers, at least one.",
        "long": f"Send at most {MAX_DIMENSION} numbers.",
        "range": "A number is too large. Send the numbers of an embedding as they are.",
    }

    def to_internal_value(self, data: Any) -> Any:
        # One pass over plain types: a child field for each of a thousand numbers costs milliseconds.
        if not isinstance(data, list) or not data or any(type(number) not in (int, float) for number in data):
            self.fail("invalid")
        if len(data) > MAX_DIMENSION:
            self.fail("long")
        try:
            return np.array(data, np.float64)
        except OverflowError:
            self.fail("range")

    def to_representation(self, value: Any) -> Any:
        return value.tolist()


@extend_schema_field({"$ref": "#/components/schemas/Where"})
class WhereField(serializers.Field[Any, Any, Any, Any]):
    """A filter; the validated value is its tree, or None for `{}`, which lets everything through."""

    def run_validation(self, data: Any = empty) -> Any:
        """Raises InvalidInput, which names the place within the filter."""
        return super().run_validation(data) if data is empty else parse_where(data, place=self.field_name or "$")


def flag(request: Request, name: str) -> bool:
    """A query parameter that is true or false, false unless it is sent. Raises InvalidInput for anything else."""
    given = request.query_params.get(name, "false").lower()
    if given not in {"true", "false"}:
        raise InvalidInput(f"{name} must be true or false.", code="invalid")
    return given == "true"


def sayable(text: str) -> str:
    """What a message quotes of a request, without what cannot be sent back."""
    return _UNSTORABLE.sub("?", text)


def reject_unstorable(value: object, place: str) -> None:
    """Raise InvalidInput naming the place where JSON holds what cannot be kept, or not be read again.

    That is, at any depth, NUL and lone surrogates in strings and in keys, and whole numbers beyond all others.
    """
    if isinstance(value, str):
        if _UNSTORABLE.search(value):
            raise InvalidInput(f"{place}: remove NUL characters and lone surrogates.", code="invalid_text")
    elif isinstance(value, int) and abs(value) > _LARGEST:
        raise InvalidInput(f"{place}: the number is too large.", code=NUMBER_TOO_LARGE)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            reject_unstorable(key, f"{place}: a key")
            reject_unstorable(inner, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            reject_unstorable(inner, f"{place}[{index}]")
