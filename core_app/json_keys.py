"""Keys of JSON objects: of two equal ones every reader keeps another, so neither is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

_SHOWN = 60


def each_once(refuse: Callable[[str], Exception]) -> Callable[[Sequence[tuple[str, Any]]], dict[str, Any]]:
    """An `object_pairs_hook` for `json.loads` that raises what `refuse` makes of a key that an object has twice."""

    def checked(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        counts = Counter(key for key, _ in pairs)
        raise refuse(next(key for key, count in counts.items() if count > 1)[:_SHOWN])

    return checked
