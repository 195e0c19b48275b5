"""A filter as the JSON that the parser reads, for another server of the same filter language."""

from __future__ import annotations

from typing import Any

from core_app.where.operators import TEXT_FIELD
from core_app.where.tree import And, Compare, Not, Or, Where, Within


def written(where: Where) -> dict[str, Any]:
    """JSON that `parse_where` makes an equal filter of, without any short form."""
    match where:
        case Compare(field, operator, operand):
            value = list(operand) if isinstance(operand, tuple) else operand
            return {TEXT_FIELD if field is None else field: {operator: value}}
        case And(parts):
            return {"$and": [written(part) for part in parts]}
        case Or(parts):
            return {"$or": [written(part) for part in parts]}
        case Not(part):
            return {"$not": written(part)}
        case Within():
            raise AssertionError("no filter that is sent holds this")
