"""Filters described for machines: components of an OpenAPI 3.0 document, and rows for a filter builder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from core_app.where.operators import (
    MAX_LIST,
    MAX_PATTERN,
    MAX_STRING,
    NOT,
    OPERATORS,
    TEXT_FIELD,
    Takes,
    Use,
)

#: The component that describes a whole filter, `{}` included.
FILTER = "Where"
_VALUE = "WhereValue"
_TEXT = "WhereText"

Schema = dict[str, Any]

_STRING: Schema = {"type": "string", "maxLength": MAX_STRING}
_NUMBER: Schema = {"type": "number"}
_BOOLEAN: Schema = {"type": "boolean"}
_SCALAR: Schema = {"anyOf": [_STRING, _NUMBER, _BOOLEAN]}
_ISO_DATE: Schema = {"type": "string", "description": "A date or a date and time in ISO 8601.", "minLength": 10}
_OPERANDS: Mapping[Takes, Schema] = {
    Takes.SCALAR: _SCALAR,
    Takes.ORDERED: {"anyOf": [_NUMBER, _ISO_DATE]},
    Takes.LIST: {
        "anyOf": [
            {"type": "array", "items": items, "minItems": 1, "maxItems": MAX_LIST}
            for items in (_STRING, _NUMBER, _BOOLEAN)
        ]
    },
    Takes.TEXT: _STRING | {"minLength": 1},
    Takes.PATTERN: {"type": "string", "minLength": 1, "maxLength": MAX_PATTERN},
    Takes.BOOLEAN: _BOOLEAN,
}


def components(prefix: str = "#/components/schemas/") -> dict[str, Schema]:
    """The schemas by name; they refer to each other below `prefix`. `Where` is the whole filter."""

    def some(name: str) -> Schema:
        return {"allOf": [{"$ref": prefix + name}], "type": "object", "minProperties": 1}

    rows = OPERATORS.values()
    joining = {row.name: _operand(row.on_filters, some(FILTER)) for row in rows if row.on_filters}
    on_value = {row.name: _operand(row.on_metadata) for row in rows if row.on_metadata}
    on_text = {row.name: _operand(row.on_text) for row in rows if row.on_text}
    return {
        FILTER: {
            "type": "object",
            "description": "Conditions by key of the metadata; those of several keys must hold together.",
            "properties": {**joining, TEXT_FIELD: {"$ref": prefix + _TEXT}},
            "additionalProperties": {"$ref": prefix + _VALUE},
            "example": {"doc_type": {"$in": ["heading", "paragraph"]}, "year": {"$gte": 2020}},
        },
        _VALUE: {
            "description": "A value to be equal to, or operators that must hold together.",
            "anyOf": [*_SCALAR["anyOf"], _object({**on_value, NOT: some(_VALUE)})],
        },
        _TEXT: {
            "description": "Operators on the text that must hold together.",
            **_object({**on_text, NOT: some(_TEXT)}),
        },
    }


def describe() -> list[dict[str, Any]]:
    """The operators for a filter builder, in the order of the table.

    Each has `name`, `label` and `note`, a sentence or empty; `metadata`, `text` and `filters` are null or have
    `takes` (a name of `Takes` in lower case), `description` and `example`, a whole filter.
    """
    return [
        {
            "name": row.name,
            "label": _(row.label),
            "note": _("Also matches documents without the key.") if row.matches_missing else "",
            "metadata": _described(row.on_metadata),
            "text": _described(row.on_text),
            "filters": _described(row.on_filters),
        }
        for row in OPERATORS.values()
    ]


def _described(use: Use | None) -> dict[str, Any] | None:
    if use is None:
        return None
    return {
        "takes": use.takes.name.lower(),
        "description": use.description,
        "example": json.loads(use.example),
    }


def _operand(use: Use, inner: Schema | None = None) -> Schema:
    """What stands behind an operator; `inner` is a filter within this one."""
    if inner is None:
        schema = _OPERANDS[use.takes]
    else:
        schema = inner if use.takes is Takes.FILTER else {"type": "array", "items": inner, "minItems": 1}
    return {"description": use.description, **schema}


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False, "minProperties": 1}
