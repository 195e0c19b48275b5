"""Values of the metadata of collections that another system holds."""

from __future__ import annotations

import json
from typing import Any

from collections_app.selectors import get_collection
from connections_app.opening import opened_store
from core_app.errors import StoreFailed
from core_app.providers import Capability
from stores_app.models import Placement


def values_there(*, name: str, key: str, typed: str, limit: int) -> list[Any]:
    """At most `limit` values of a key that hold what was typed; none where the provider cannot tell.

    Raises NotFound, StoreFailed where the connection is gone, and what the other system does.
    """
    collection = get_collection(name=name)
    placement = Placement.objects.select_related("connection").filter(collection_id=collection.pk).first()
    if placement is None:
        raise StoreFailed("The connection of this collection is gone. Delete the collection here, and attach it again.")
    with opened_store(placement.connection) as provider:
        if Capability.METADATA_FILTERING not in provider.capabilities:
            return []
        held = provider.metadata_values(name=placement.name_there, key=key)
    wanted = typed.casefold()
    return [value for value in held.values if wanted in _as_text(value).casefold()][:limit]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
