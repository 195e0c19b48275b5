"""How a collection is searched where a request leaves it open: the collection's own settings over the mode's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db import transaction

from access_app.audit import record
from collections_app.models import Collection
from collections_app.selectors import get_collection
from collections_app.services import lock_collection, touch
from core_app.errors import InvalidInput
from search_app.asking import SearchRequest
from search_app.modes import DEFAULT_MODE, FUSIONS, MODE_NAMES, MODES, Fusion, ModeName

_KEYS = ("mode", "fusion", "lexical_weight", "min_score")
_CODE = "invalid_search_settings"


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What holds for one search. None is what nobody has set."""

    mode: ModeName
    fusion: Fusion
    #: Of the words in a calibrated fusion, 0 to 1; None leaves it to the query.
    lexical_weight: float | None = None
    #: Least similarity.
    min_score: float | None = None


def tuning_for(request: SearchRequest, collections: Sequence[Collection]) -> Tuning:
    """What holds for this request in these collections."""
    return tuning_of(
        collections,
        mode=request.mode,
        fusion=request.fusion,
        lexical_weight=request.lexical_weight,
        min_score=request.min_score,
    )


def tuning_of(
    collections: Sequence[Collection],
    *,
    mode: ModeName | None = None,
    fusion: Fusion | None = None,
    lexical_weight: float | None = None,
    min_score: float | None = None,
) -> Tuning:
    """The request's own wishes, then what all of the collections agree on, then what the mode has."""
    agreed = _agreed([collection.search for collection in collections])
    chosen: ModeName = mode or agreed.get("mode") or DEFAULT_MODE
    return Tuning(
        mode=chosen,
        fusion=fusion or agreed.get("fusion") or MODES[chosen].fusion,
        lexical_weight=agreed.get("lexical_weight") if lexical_weight is None else lexical_weight,
        min_score=agreed.get("min_score") if min_score is None else min_score,
    )


def _agreed(own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {key: own[0][key] for key in _KEYS if own and key in own[0] and all(o.get(key) == own[0][key] for o in own)}


def get_search_settings(*, name: str) -> tuple[Mapping[str, Any], Tuning]:
    """What the collection itself says, and what that comes to. Raises NotFound."""
    collection = get_collection(name=name)
    return collection.search, tuning_of([collection])


def set_search_settings(*, name: str, own: Mapping[str, Any]) -> tuple[Mapping[str, Any], Tuning]:
    """Replace what the collection says; what is left out or null is not its own. Raises NotFound, InvalidInput."""
    kept = _checked({key: value for key, value in own.items() if value is not None})
    with transaction.atomic():
        collection = lock_collection(collection_id=get_collection(name=name).pk)
        record("collection.search_changed", collection, before=collection.search, after=kept)
        collection.search = kept
        collection.save(update_fields=["search", "updated_at"])
        touch(collection=collection)
    return collection.search, tuning_of([collection])


def _checked(own: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(own) - set(_KEYS))
    if unknown:
        raise InvalidInput(f"{unknown[0]}: unknown. Send {', '.join(_KEYS)}.", code=_CODE)
    for key, names in (("mode", MODE_NAMES), ("fusion", FUSIONS)):
        if key in own and own[key] not in cast("tuple[str, ...]", names):
            raise InvalidInput(f"{key}: must be one of {', '.join(names)}.", code=_CODE)
    for key in ("lexical_weight", "min_score"):
        if key in own and not _is_share(own[key]):
            raise InvalidInput(f"{key}: must be a number from 0 to 1.", code=_CODE)
    return own


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1
