"""JSON to a tree. Every mistake is one sentence that starts with its place: `$.doc_type.$in: must be ...`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn

from core_app.errors import InvalidInput
from core_app.json_keys import each_once
from core_app.where.dates import instant
from core_app.where.operators import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    MAX_KEY,
    MAX_LIST,
    MAX_PATTERN,
    MAX_PATTERNS,
    MAX_STRING,
    NOT,
    OPERATORS,
    TEXT_FIELD,
    Operator,
    Takes,
    Use,
)
from core_app.where.patterns import InvalidPattern, translate
from core_app.where.tree import And, Compare, Not, Operand, Or, Scalar, Where

CODE = "invalid_where"
NOT_JSON = "Invalid 'where' filter: must be valid JSON"
#: What an operator makes of a list of filters.
JOINED: Mapping[str, Callable[[tuple[Where, ...]], Where]] = {"$and": And, "$or": Or}
_SHOWN = 60


def parse_where_text(text: str) -> Where | None:
    """The filter that stands as JSON in a query string. Raises InvalidInput, code `invalid_where`."""
    return parse_where(decode_where(text))


def _doubled(key: str) -> InvalidInput:
    return InvalidInput(
        f"Invalid 'where' filter: {key!r} stands twice in one object. Put several conditions on it in '$and'.",
        code=CODE,
    )


_each_once = each_once(_doubled)


def decode_where(text: str) -> object:
    """The JSON of a filter, which nobody has read yet. Raises InvalidInput, code `invalid_where`."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_integer, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        raise InvalidInput(NOT_JSON, code=CODE) from None


def parse_where(value: object, *, place: str = "$") -> Where | None:
    """The filter that a decoded JSON object describes; None for `{}`, which every document passes.

    `place` is what messages call the object. Raises InvalidInput, code `invalid_where`.
    """
    if value == {}:
        return None
    return _Parser().filter(value, place, depth=1)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _integer(digits: str) -> int | float:
    """Too many digits are an infinite number, which is refused where it stands."""
    return int(digits) if len(digits) <= sys.float_info.max_10_exp + 2 else math.inf


def _fail(place: str, what: str) -> NoReturn:
    refused = InvalidInput(f"{place}: {what}", code=CODE)
    refused.place = place
    raise refused


class _Parser:
    """One filter; counts its conditions."""

    def __init__(self) -> None:
        self.conditions = 0
        self.patterns = 0

    def filter(self, value: object, place: str, depth: int) -> Where:
        """All keys of one object, which must hold together."""
        if not isinstance(value, Mapping):
            _fail(place, "must be a JSON object")
        self._check_depth(place, depth)
        if not value:
            _fail(place, f"must be {Takes.FILTER.value}")
        return _all(self._entry(key, inner, place, depth) for key, inner in value.items())

    def _entry(self, key: object, value: object, place: str, depth: int) -> Where:
        key = _checked_key(key, place)
        here = _at(place, key)
        if key == TEXT_FIELD:
            return self._field(None, value, here, depth)
        if not key.startswith("$"):
            return self._field(key, value, here, depth)
        if key not in OPERATORS or not OPERATORS[key].on_filters:
            known = [row.name for row in OPERATORS.values() if row.on_filters]
            _fail(here, f"is not known here; conditions stand behind a key, and {_listed(known)} join filters")
        return self._join(key, value, here, depth)

    def _join(self, name: str, value: object, place: str, depth: int) -> Where:
        if name == NOT:
            return Not(self.filter(value, place, depth + 1))
        if not isinstance(value, list) or not value:
            _fail(place, f"must be {Takes.FILTERS.value}")
        parts = tuple(self.filter(part, f"{place}[{index}]", depth + 1) for index, part in enumerate(value))
        return JOINED[name](parts)

    def _field(self, field: str | None, value: object, place: str, depth: int) -> Where:
        """What stands behind a key: a value to be equal to, or an object of operators."""
        if isinstance(value, Mapping):
            return self._conditions(field, value, place, depth)
        if field is None:
            _fail(place, f"must be an object of operators: {_listed(_names(None))}")
        if not isinstance(value, str | int | float):
            _fail(place, f"must be {Takes.SCALAR.value}, or an object of operators: {_listed(_names(field))}")
        return self._compare(field, OPERATORS["$eq"], value, place)

    def _conditions(self, field: str | None, value: object, place: str, depth: int) -> Where:
        self._check_depth(place, depth)
        if not isinstance(value, Mapping) or not value:
            _fail(place, f"must be an object of operators: {_listed(_names(field))}")
        return _all(self._condition(field, name, operand, place, depth) for name, operand in value.items())

    def _condition(self, field: str | None, name: object, operand: object, place: str, depth: int) -> Where:
        name = _checked_key(name, place)
        here = _at(place, name)
        if name not in _names(field):
            _fail(here, f"is not an operator that is known here; use {_listed(_names(field))}")
        if name == NOT:
            return Not(self._conditions(field, operand, here, depth + 1))
        return self._compare(field, OPERATORS[name], operand, here)

    def _compare(self, field: str | None, operator: Operator, operand: object, place: str) -> Where:
        self.conditions += 1
        if self.conditions > MAX_CONDITIONS:
            _fail(place, f"a filter must not hold more than {MAX_CONDITIONS} conditions")
        use = _use(operator, field)
        assert use is not None
        self.patterns += use.takes is Takes.PATTERN
        if self.patterns > MAX_PATTERNS:
            _fail(place, f"a filter must not hold more than {MAX_PATTERNS} patterns")
        return Compare(field, operator.name, OPERANDS[use.takes](operand, place))

    def _check_depth(self, place: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            _fail(place, f"a filter must not be nested more than {MAX_DEPTH} levels deep")


def _use(operator: Operator, field: str | None) -> Use | None:
    return operator.on_text if field is None else operator.on_metadata


def _names(field: str | None) -> list[str]:
    """Operators that may stand behind this key."""
    return [*(row.name for row in OPERATORS.values() if _use(row, field)), NOT]


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _all(parts: Iterable[Where]) -> Where:
    found = tuple(parts)
    return found[0] if len(found) == 1 else And(found)


def _at(place: str, key: str) -> str:
    """The place of what stands behind this key, on one line and not too long."""
    shown = "".join(character if character.isprintable() else "?" for character in key[:_SHOWN])
    return f"{place}.{shown}{'…' if len(key) > _SHOWN else ''}"


def _is_storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _checked_key(key: object, place: str) -> str:
    if not isinstance(key, str):
        _fail(place, "its keys must be strings")
    if not _is_storable(key):
        _fail(place, "remove NUL characters and lone surrogates from its keys")
    if len(key) > MAX_KEY:
        _fail(_at(place, key), f"must not be longer than {MAX_KEY} characters")
    return key


def _string(value: str, place: str, most: int = MAX_STRING) -> str:
    if len(value) > most:
        _fail(place, f"must not be longer than {most:,} characters")
    if not _is_storable(value):
        _fail(place, "remove NUL characters and lone surrogates")
    return value


def _number(value: float, place: str) -> int | float:
    if not abs(value) <= sys.float_info.max:
        _fail(place, "must be a number between -1.7e308 and 1.7e308")
    return value


def _scalar(value: object, place: str) -> Scalar:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _string(value, place)
    if isinstance(value, int | float):
        return _number(value, place)
    _fail(place, f"must be {Takes.SCALAR.value}")


def _ordered(value: object, place: str) -> Scalar:
    if isinstance(value, bool) or (not isinstance(value, int | float) and instant(value) is None):
        _fail(place, f"must be {Takes.ORDERED.value}")
    return _scalar(value, place)


def _list(value: object, place: str) -> tuple[Scalar, ...]:
    if not isinstance(value, list) or not value:
        _fail(place, f"must be {Takes.LIST.value}")
    if len(value) > MAX_LIST:
        _fail(place, f"must not hold more than {MAX_LIST:,} values")
    found = tuple(_scalar(one, f"{place}[{index}]") for index, one in enumerate(value))
    if len({"number" if type(one) in (int, float) else type(one) for one in found}) > 1:
        _fail(place, "must hold values of one type: all strings, all numbers or all booleans")
    return found


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or not value:
        _fail(place, f"must be {Takes.TEXT.value}")
    return _string(value, place)


def _pattern(value: object, place: str) -> str:
    if not isinstance(value, str) or not value:
        _fail(place, f"must be {Takes.PATTERN.value}")
    pattern = _string(value, place, MAX_PATTERN)
    try:
        translate(pattern)
    except InvalidPattern as error:
        _fail(place, f"is not a pattern that is known: {error}")
    return pattern


def _boolean(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        _fail(place, f"must be {Takes.BOOLEAN.value}")
    return value


#: How each kind of operand is read.
OPERANDS: Mapping[Takes, Callable[[object, str], Operand]] = {
    Takes.SCALAR: _scalar,
    Takes.ORDERED: _ordered,
    Takes.LIST: _list,
    Takes.TEXT: _text,
    Takes.PATTERN: _pattern,
    Takes.BOOLEAN: _boolean,
}
