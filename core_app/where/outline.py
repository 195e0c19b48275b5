"""A filter as a page draws it: groups and conditions, of JSON's plain types alone."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from core_app.where.tree import And, Compare, Not, Or, Scalar, Where


class Value(TypedDict):
    """One value to compare with. Numbers are text, as JSON writes them: a browser would round large ones."""

    type: str
    text: str


class Condition(TypedDict):
    """One condition; `field` is None for the text."""

    kind: str
    field: str | None
    operator: str
    values: list[Value]


class Group(TypedDict):
    """`and` or `or` over its parts, `negated` where it must not hold."""

    kind: str
    negated: bool
    parts: list[Any]


def outline(where: Where | None) -> Group:
    """The filter as a group, whatever it is; one without parts where there is none."""
    if where is None:
        return Group(kind="and", negated=False, parts=[])
    drawn = _drawn(where)
    return Group(kind="and", negated=False, parts=[drawn]) if "operator" in drawn else drawn


def _drawn(where: Where) -> Any:
    match where:
        case Compare(field, operator, operand):
            values = operand if isinstance(operand, tuple) else (operand,)
            return Condition(kind="condition", field=field, operator=operator, values=[_value(one) for one in values])
        case And(parts):
            return _joined("and", parts)
        case Or(parts):
            return _joined("or", parts)
        case Not(part):
            inner = _drawn(part)
            if "operator" in inner or inner["negated"]:
                return Group(kind="and", negated=True, parts=[inner])
            return Group(kind=inner["kind"], negated=True, parts=inner["parts"])
        case _:
            raise AssertionError("no filter that is sent holds anything else")


def _joined(kind: str, parts: tuple[Where, ...]) -> Any:
    """A group of the parts, with those of a group of the same kind in its place; one part is no group."""
    found: list[Any] = []
    for part in map(_drawn, parts):
        is_same = "operator" not in part and part["kind"] == kind and not part["negated"]
        found += part["parts"] if is_same else [part]
    return found[0] if len(found) == 1 else Group(kind=kind, negated=False, parts=found)


def _value(value: Scalar) -> Value:
    if isinstance(value, bool):
        return Value(type="boolean", text=json.dumps(value))
    return Value(type="string", text=value) if isinstance(value, str) else Value(type="number", text=json.dumps(value))
