"""What of a value the audit log keeps: JSON of a size that people read, and it says where it was cut."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

MOST_CHARACTERS = 4000
MOST_PARTS = 50
DEEPEST = 6
#: Of one side of an entry, as JSON.
MOST_BYTES = 32_000


def bounded(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """These values as the log keeps them."""
    if values is None:
        return None
    kept = {_text(str(key)): _bounded(value, depth=0) for key, value in values.items()}
    for most in (400, 40):
        if len(json.dumps(kept)) <= MOST_BYTES:
            return kept
        kept = {key: _shortened(value, most) for key, value in kept.items()}
    return kept if len(json.dumps(kept)) <= MOST_BYTES else {"…": f"{len(values):,} values, too many to keep"}


def clipped(text: str, most: int) -> str:
    """A text of at most so many characters."""
    clean = _text(text)
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"


def _bounded(value: Any, *, depth: int) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping) and depth < DEEPEST:
        kept = {
            _text(str(key))[:MOST_CHARACTERS]: _bounded(part, depth=depth + 1) for key, part in _first(value.items())
        }
        return {**kept, "…": f"{len(value) - MOST_PARTS:,} more"} if len(value) > MOST_PARTS else kept
    if isinstance(value, list | tuple | set | frozenset) and depth < DEEPEST:
        parts = [_bounded(part, depth=depth + 1) for part in _first(value)]
        return [*parts, f"… {len(value) - MOST_PARTS:,} more"] if len(value) > MOST_PARTS else parts
    return _cut(_text(str(value)), MOST_CHARACTERS)


def _first(parts: Any) -> list[Any]:
    return list(parts)[:MOST_PARTS]


def _shortened(value: Any, most: int) -> Any:
    """Still too large together: each value as a shorter text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _cut(text, most) if len(text) > most else value


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… (cut: {len(text):,} characters)"


def _text(text: str) -> str:
    """Without what Postgres cannot keep: NUL and lone surrogates."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8")
