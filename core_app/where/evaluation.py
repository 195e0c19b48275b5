"""What a filter means, in plain Python. Whatever else runs filters is held to this."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from core_app.where.dates import instant
from core_app.where.operators import OPERATORS
from core_app.where.patterns import translate
from core_app.where.tree import And, Compare, Not, Operand, Or, Where, Within

#: What is found under a key that is not there; equal to nothing and of no type.
_MISSING = object()

Meaning = Callable[[Any, Any], bool]


def matches(where: Where | None, *, metadata: Mapping[str, Any], text: str, collection_id: int | None = None) -> bool:
    """Whether a document with this metadata and this text passes the filter; without a filter each does.

    Patterns are searched by backtracking: unlike in Postgres, a hostile one on a long text takes as long as it likes.
    """
    match where:
        case None:
            return True
        case And(parts):
            return all(matches(part, metadata=metadata, text=text, collection_id=collection_id) for part in parts)
        case Or(parts):
            return any(matches(part, metadata=metadata, text=text, collection_id=collection_id) for part in parts)
        case Not(part):
            return not matches(part, metadata=metadata, text=text, collection_id=collection_id)
        case Within(wanted):
            return collection_id == wanted
        case Compare(field, name, operand):
            if field is None:
                return _holds(ON_TEXT, name, text, operand)
            return _holds(ON_METADATA, name, metadata.get(field, _MISSING), operand)


def _holds(meanings: Mapping[str, Meaning], name: str, found: object, operand: Operand) -> bool:
    negated = OPERATORS[name].negates
    return meanings[name](found, operand) if negated is None else not meanings[negated](found, operand)


def _number(value: object) -> int | Decimal | None:
    """A number as it is written in decimal, which is how JSON and Postgres know it: 1e23 is 10 ** 23."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and math.isfinite(value):
        return Decimal(repr(value))
    return value if isinstance(value, int) else None


def _equal(found: object, operand: object) -> bool:
    if isinstance(operand, str | bool):
        return type(found) is type(operand) and found == operand
    number = _number(found)
    return number is not None and number == _number(operand)


def _one_of(found: object, operands: tuple[object, ...]) -> bool:
    return any(_equal(found, operand) for operand in operands)


def _has_element(found: object, operand: object) -> bool:
    return isinstance(found, list | tuple) and any(_equal(element, operand) for element in found)


def _exists(found: object, operand: object) -> bool:
    return (found is not _MISSING) is operand


def _matches_pattern(found: object, operand: str) -> bool:
    return isinstance(found, str) and translate(operand).compiled.search(found) is not None


def _ordered(compare: Callable[[Any, Any], bool]) -> Meaning:
    def meaning(found: object, operand: object) -> bool:
        comparable = instant if isinstance(operand, str) else _number
        value = comparable(found)
        return value is not None and compare(value, comparable(operand))

    return meaning


ON_METADATA: Mapping[str, Meaning] = {
    "$eq": _equal,
    "$gt": _ordered(operator.gt),
    "$gte": _ordered(operator.ge),
    "$lt": _ordered(operator.lt),
    "$lte": _ordered(operator.le),
    "$in": _one_of,
    "$exists": _exists,
    "$contains": _has_element,
    "$regex": _matches_pattern,
}
ON_TEXT: Mapping[str, Meaning] = {
    "$contains": operator.contains,
    "$regex": _matches_pattern,
}
