"""JSON values: when two are the same, for previews, for edits and for the audit log; and numbers that others sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def is_same_json(one: Any, other: Any) -> bool:
    """Whether both say the same in JSON.

    Numbers are compared by value, as jsonb does: 1 is 1.0, but true is not 1. The order of keys does not matter, that
    of a list does. Each part is looked at once, and without recursion: a deep value cannot exhaust the stack.
    """
    pairs = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            if left.keys() != right.keys():
                return False
            pairs.extend((left[key], right[key]) for key in left)
        elif isinstance(left, list | tuple) and isinstance(right, list | tuple):
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        # To Python true is 1.
        elif isinstance(left, bool) != isinstance(right, bool) or left != right:
            return False
    return True


def finite_number(value: Any) -> float | None:
    """A number that somebody else sent as a float; None where it is none, or too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
