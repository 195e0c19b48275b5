"""Which operators make sense on which type of value, found by trying what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from core_app.where.evaluation import matches
from core_app.where.operators import OPERATORS, Operator, Takes
from core_app.where.tree import Compare, Operand

#: The types of JSON, and beside them `date`: a string that is a date in ISO 8601.
FieldType = Literal["string", "date", "number", "boolean", "array", "object", "null"]

#: A value of each type.
_SAMPLES: Mapping[FieldType, Any] = {
    "string": "x",
    "date": "2024-05-31",
    "number": 1,
    "boolean": True,
    "array": ["x", 1, True],
    "object": {"x": 1},
    "null": None,
}
#: What may stand behind an operator so that one of the values above passes, wherever any can.
_OPERANDS: Mapping[Takes, tuple[Operand, ...]] = {
    Takes.SCALAR: ("x", "2024-05-31", 1, True),
    Takes.ORDERED: (0, 2, "2024-05-30", "2024-06-01"),
    Takes.LIST: (("x",), ("2024-05-31",), (1,), (True,)),
    Takes.PATTERN: (".",),
    Takes.BOOLEAN: (True,),
}


@cache
def fitting(found: FieldType) -> tuple[str, ...]:
    """Names of the operators that can tell values of this type apart, in the order of the table."""
    return tuple(row.name for row in OPERATORS.values() if row.on_metadata and _fits(row, found))


def _fits(row: Operator, found: FieldType) -> bool:
    """Whether some value of the type passes; an operator that negates fits where the other does."""
    assert row.on_metadata is not None
    metadata = {"key": _SAMPLES[found]}
    return any(
        matches(Compare("key", row.negates or row.name, operand), metadata=metadata, text="")
        for operand in _OPERANDS[row.on_metadata.takes]
    )
