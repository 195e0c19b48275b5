"""Metadata as Chroma can hold them. What it cannot is kept in one field of its own, so all of it comes back as it was.

Chroma holds texts, numbers, truth values and lists of one of these. Where there is more, `ragsite.metadata` has the
whole as JSON, and `ragsite.partial` says that it does. Other programs' collections have neither.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from core_app.where import And, Compare, Or, Where

WHOLE = "ragsite.metadata"
PARTIAL = "ragsite.partial"
#: Of a collection: its name, where Chroma could not have that.
NAME = "ragsite.name"

_LARGEST = 2**63 - 1
#: Beginnings of keys that mean something to Chroma or here.
_RESERVED = ("ragsite.", "chroma:", "hnsw:", "$", "#")

Native = dict[str, Any]


def encoded(metadata: Mapping[str, Any]) -> Native:
    """As Chroma is given them; empty where there are none."""
    native = {key: value for key, value in metadata.items() if _fits(key, value)}
    if len(native) != len(metadata):
        native |= {WHOLE: json.dumps(dict(metadata), ensure_ascii=False), PARTIAL: True}
    return native


def decoded(native: Mapping[str, Any] | None) -> dict[str, Any]:
    """As they were sent."""
    if not native:
        return {}
    whole = native.get(WHOLE)
    if isinstance(whole, str):
        try:
            found = json.loads(whole)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
    return {key: value for key, value in native.items() if key not in {WHOLE, PARTIAL, NAME} and _is_json(value)}


def replacing(old: Mapping[str, Any] | None, new: Native) -> dict[str, Any] | None:
    """What an upsert is given, which adds fields to those that are there: None takes one away."""
    return {**dict.fromkeys(old or {}), **new} or None


def superset(where: Where) -> dict[str, Any] | None:
    """A condition in Chroma's language that all matches fulfil, and maybe others; None where there is none."""
    narrowed = _narrowed(where)
    # Of what Chroma could not hold it knows nothing.
    return None if narrowed is None else {"$or": [narrowed, {PARTIAL: {"$eq": True}}]}


def _narrowed(where: Where) -> dict[str, Any] | None:
    if isinstance(where, And):
        parts = [part for part in map(_narrowed, where.parts) if part is not None]
        return _joined("$and", parts) if parts else None
    if isinstance(where, Or):
        parts = [part for part in map(_narrowed, where.parts) if part is not None]
        return _joined("$or", parts) if len(parts) == len(where.parts) else None
    if isinstance(where, Compare):
        return _compared(where)
    return None


def _joined(operator: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return parts[0] if len(parts) == 1 else {operator: parts}


def _compared(where: Compare) -> dict[str, Any] | None:
    """Texts and truth values that are equal mean the same there; numbers are of two kinds there, dates are texts."""
    if where.field is None or not _is_key(where.field):
        return None
    if where.operator == "$eq" and isinstance(where.operand, str | bool):
        return {where.field: {"$eq": where.operand}}
    if where.operator == "$in" and isinstance(where.operand, tuple) and all(isinstance(x, str) for x in where.operand):
        return {where.field: {"$in": list(where.operand)}}
    return None


def _is_key(key: str) -> bool:
    return bool(key) and not key.startswith(_RESERVED) and "\x00" not in key


def _fits(key: str, value: object) -> bool:
    if not _is_key(key):
        return False
    if isinstance(value, list):
        return bool(value) and len({type(one) for one in value}) == 1 and all(_is_scalar(one) for one in value)
    return _is_scalar(value)


def _is_scalar(value: object) -> bool:
    if isinstance(value, bool | str):
        return True
    if isinstance(value, int):
        return -_LARGEST <= value <= _LARGEST
    return isinstance(value, float) and math.isfinite(value)


def _is_json(value: object) -> bool:
    return _is_scalar(value) or (isinstance(value, list) and all(_is_scalar(one) for one in value))
