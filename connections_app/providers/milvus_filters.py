"""What of a filter Milvus is asked for: an expression that lets through at least what the filter lets through.

The filter itself is always run here, over what comes back. So an expression may leave conditions out, and does where
Milvus means something else: keys that are missing, values of another type, dates, patterns, numbers beyond 53 bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from core_app.where import And, Compare, Or, Where

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
#: Keys that stand in an expression as they are; conditions on others are left to the filter.
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]{1,100}", re.ASCII)
#: Up to here every whole number is a float of its own.
_SAFE_NUMBER = 2**53
_LONGEST_LIST = 200
_LONGEST_STRING = 2_000
_ORDERS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def literal(value: str | int) -> str:
    """A key as an expression holds it. Nothing in a string ends it: quotes, backslashes and line ends are escaped."""
    if isinstance(value, str):
        return '"' + "".join(_ESCAPES.get(character, character) for character in value) + '"'
    return str(int(value))


def one_of(field: str, values: Iterable[str | int]) -> str:
    """The expression that a field has one of these values."""
    return f"{field} in [{', '.join(map(literal, values))}]"


def narrowed(where: Where | None, *, field: str) -> str | None:
    """An expression on the JSON field that holds the metadata; None where there is none that leaves anything out."""
    match where:
        case And(parts):
            found = [part for part in (narrowed(part, field=field) for part in parts) if part]
            return " and ".join(f"({part})" for part in found) or None
        case Or(parts):
            either = [narrowed(part, field=field) for part in parts]
            return " or ".join(f"({part})" for part in either) if all(either) else None
        case Compare(key, operator, operand) if key is not None and _PLAIN_KEY.fullmatch(key):
            return _condition(f'{field}["{key}"]', operator, operand)
        case _:
            return None


def _condition(place: str, operator: str, operand: object) -> str | None:
    if operator == "$eq":
        return _equal(place, operand)
    if operator == "$in" and isinstance(operand, tuple) and len(operand) <= _LONGEST_LIST:
        either = [_equal(place, one) for one in operand]
        return " or ".join(f"({part})" for part in either) if all(either) else None
    if operator in _ORDERS and _is_safe_number(operand):
        return f"{place} {_ORDERS[operator]} {operand!r}"
    return None


def _equal(place: str, operand: object) -> str | None:
    if isinstance(operand, bool):
        return f"{place} == {'true' if operand else 'false'}"
    if isinstance(operand, str):
        fits = len(operand) <= _LONGEST_STRING and operand.isprintable()
        return f"{place} == {literal(operand)}" if fits else None
    # A whole number and the same as a float are equal here, and may not be there.
    return f"{place} >= {operand!r} and {place} <= {operand!r}" if _is_safe_number(operand) else None


def _is_safe_number(value: object) -> bool:
    """Whether the number is written and compared there as it is here."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _SAFE_NUMBER and "e" not in repr(value)
