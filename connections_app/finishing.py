"""What some stores cannot do by themselves, done in Python over all that they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core_app.errors import InvalidInput
from core_app.providers import HeldValues

MAX_VALUES = 10_000


def distinct_values(found: Iterable[Any]) -> HeldValues:
    """The values of one key, lists unfolded: booleans, numbers, texts, each sorted (A7). Others are none.

    Takes no more of `found` than shows that there are too many; which of them are told is open then.
    """
    distinct: dict[tuple[str, Any], Any] = {}
    for value in found:
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, bool | int | float | str):
                distinct.setdefault((_kind(one), one), one)
        if len(distinct) > MAX_VALUES:
            break
    ordered = [distinct[key] for key in sorted(distinct)]
    return HeldValues(values=ordered[:MAX_VALUES], truncated=len(ordered) > MAX_VALUES)


def merged(metadata: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata with the patch; a null takes its key away."""
    return {key: value for key, value in {**metadata, **patch}.items() if key not in patch or value is not None}


def position(after: str | None) -> int:
    """Where a scan goes on that counts: 0 from the beginning. Raises InvalidInput for what is no number."""
    if after is None:
        return 0
    if not (after.isascii() and after.isdigit() and len(after) < 19):
        raise InvalidInput("'after' was not given by this store.", code="invalid_cursor")
    return int(after)


def _kind(value: bool | float | str) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "text" if isinstance(value, str) else "number"
