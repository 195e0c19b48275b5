"""What another server of the storage API answers, checked: anything else than it should be is a failure of its own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

import numpy as np

from core_app.far_side import FarSideError
from core_app.json_values import finite_number
from core_app.ports import DistanceName
from core_app.providers import HeldChunk, HeldCollection, NearChunk

_DISTANCES = ("cosine", "l2", "ip")


def collection_of(answer: Mapping[str, Any]) -> HeldCollection:
    """A collection. Raises FarSideError, as all of these do."""
    distance = answer.get("distance", "cosine")
    if distance not in _DISTANCES:
        raise FarSideError("the answer has a distance that is not known here")
    key = answer.get("id")
    return HeldCollection(
        name=string_in(answer, "name"),
        metadata=object_in(answer, "metadata"),
        distance=cast("DistanceName", distance),
        id=key if isinstance(key, str) else None,
        count=None if answer.get("count") is None else integer_in(answer, "count"),
        dimension=None if answer.get("dimension") is None else integer_in(answer, "dimension"),
        created_at=_moment(answer.get("created_at")),
        updated_at=_moment(answer.get("updated_at")),
    )


def chunk_of(answer: Mapping[str, Any]) -> HeldChunk:
    """A chunk, with its embedding where it is there."""
    numbers = answer.get("embedding")
    embedding = None
    if isinstance(numbers, list):
        try:
            embedding = np.asarray(numbers, dtype=np.float32)
        except (TypeError, ValueError):
            raise FarSideError("the answer has an embedding that is no list of numbers") from None
        if embedding.ndim != 1 or not np.isfinite(embedding).all():
            raise FarSideError("the answer has an embedding that is no list of numbers")
    return HeldChunk(
        id=string_in(answer, "id"),
        text=string_in(answer, "text"),
        metadata=object_in(answer, "metadata"),
        embedding=embedding,
    )


def near_of(answer: Mapping[str, Any]) -> NearChunk:
    """A chunk that a search found."""
    return NearChunk(chunk=chunk_of(answer), distance=number_in(answer, "distance"), score=number_in(answer, "score"))


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def objects_in(answer: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The list of objects under a key."""
    found = answer.get(key)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise FarSideError(f"the answer has no list '{key}' of objects")
    return found


def object_in(answer: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object under a key."""
    found = answer.get(key)
    if not isinstance(found, dict):
        raise FarSideError(f"the answer has no object '{key}'")
    return found


def string_in(answer: Mapping[str, Any], key: str) -> str:
    """The text under a key."""
    found = answer.get(key)
    if not isinstance(found, str):
        raise FarSideError(f"the answer has no text '{key}'")
    return found


def integer_in(answer: Mapping[str, Any], key: str) -> int:
    """The whole number under a key, 0 or more."""
    found = answer.get(key)
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise FarSideError(f"the answer has no number '{key}'")
    return found


def number_in(answer: Mapping[str, Any], key: str) -> float:
    """The finite number under a key."""
    found = answer.get(key)
    number = finite_number(found)
    if number is None:
        raise FarSideError(f"the answer has no number '{key}'")
    return number
