"""What is said of a collection: its description, and what a change of its metadata would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from access_app.audit import record
from collections_app.models import Collection
from collections_app.selectors import get_collection
from collections_app.services import lock_collection, touch
from core_app.errors import InvalidInput
from core_app.json_values import is_same_json

#: The key of the metadata that holds the description: whoever reads the collection over the API has it, too.
DESCRIPTION = "description"
LONGEST_DESCRIPTION = 2_000


def description_of(collection: Collection) -> str:
    """What its metadata says of it in words; empty where that is nothing, or no text."""
    said = collection.metadata.get(DESCRIPTION)
    return said if isinstance(said, str) else ""


def describe_collection(*, name: str, description: str) -> Collection:
    """Set the description, or take it away with an empty one; other metadata stays. Raises NotFound, InvalidInput."""
    text = description.strip()
    if len(text) > LONGEST_DESCRIPTION:
        raise InvalidInput(f"description: at most {LONGEST_DESCRIPTION:,} characters.", code="invalid")
    with transaction.atomic():
        collection = lock_collection(collection_id=get_collection(name=name).pk)
        if text == description_of(collection):
            return collection
        before = collection.metadata
        others = {key: value for key, value in collection.metadata.items() if key != DESCRIPTION}
        collection.metadata = {**others, DESCRIPTION: text} if text else others
        collection.save(update_fields=["metadata", "updated_at"])
        touch(collection=collection)
        record("collection.metadata_changed", collection, before=before, after=collection.metadata)
    return collection


@dataclass(frozen=True, kw_only=True)
class MetadataChange:
    """What saving would do to one key."""

    key: str
    #: None where there is no value; a value that is null stands as `Null`.
    before: Any
    after: Any
    #: `added`, `changed` or `removed`.
    kind: str


def metadata_changes(
    *, before: Mapping[str, Any], sent: Mapping[str, Any], merge: bool = False
) -> tuple[MetadataChange, ...]:
    """What `update_metadata` would do with what is sent, by key; nothing where it would all stay as it is."""
    after = {**before, **sent} if merge else dict(sent)
    changes = []
    for key in sorted({*before, *after}):
        if key not in before:
            changes.append(MetadataChange(key=key, before=None, after=after[key], kind="added"))
        elif key not in after:
            changes.append(MetadataChange(key=key, before=before[key], after=None, kind="removed"))
        elif not is_same_json(before[key], after[key]):
            changes.append(MetadataChange(key=key, before=before[key], after=after[key], kind="changed"))
    return tuple(changes)
