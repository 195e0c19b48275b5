"""Changing a chunk as somebody who looked at it wants it: the server embeds the new text by itself.

The model works before the collection is locked, so that other writers do not wait for it; under the lock the chunk is
compared with what was seen, and left alone where somebody else was quicker.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from access_app.audit import record
from collections_app.changing import SYSTEM_FIELDS, audited, check_system_fields, rewrite
from collections_app.context import indexed_text
from collections_app.models import Chunk, Collection
from collections_app.reading import find_chunk
from collections_app.selectors import get_held
from collections_app.services import lock_collection, touch
from core_app.errors import Conflict, InvalidInput, ModelFailed, NotFound, RagsiteError
from core_app.json_values import is_same_json
from core_app.ports import Vectors
from core_app.wiring import embedder

logger = logging.getLogger(__name__)

#: Characters: more than any passage has that a model can read.
MOST_CHARACTERS = 100_000


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    """A key of the metadata that would get another value; `is_new` had none before, `is_gone` has none after."""

    key: str
    before: Any = None
    after: Any = None
    is_new: bool = False
    is_gone: bool = False


@dataclass(frozen=True, kw_only=True)
class Edit:
    """What an edit would change."""

    #: None where the text stays.
    text: str | None
    #: All of the metadata as it would be, the fields of ingestion's included.
    metadata: Mapping[str, Any]
    fields: Sequence[FieldChange]

    @property
    def is_nothing(self) -> bool:
        return self.text is None and not self.fields


def seen(chunk: Chunk) -> str:
    """A mark of all that an edit goes by: equal as long as nobody changed it. `chunk` comes with its document."""
    title = None if chunk.document is None else chunk.document.title
    parts = [chunk.external_id, chunk.text, chunk.metadata, title, chunk.section_path]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def own_metadata(chunk: Chunk) -> dict[str, Any]:
    """What may be edited of a chunk's metadata."""
    system = () if chunk.document_id is None else SYSTEM_FIELDS
    return {key: value for key, value in chunk.metadata.items() if key not in system}


def fixed_metadata(chunk: Chunk) -> dict[str, Any]:
    """What may not: where an ingested chunk comes from."""
    own = own_metadata(chunk)
    return {key: value for key, value in chunk.metadata.items() if key not in own}


def why_no_text(collection: Collection) -> str:
    """Why the server cannot embed a new text for this collection, as a sentence; empty where it can."""
    generation = collection.active_generation
    if generation is None or generation.embedding_model is None:
        return _(
            "The vectors of this collection are made by its callers, so this server cannot embed another text for it. "
            "Metadata can be changed here; send another text with its embedding through the API."
        )
    try:
        source = embedder(collection.embedding_connection)
    except RagsiteError as error:
        return error.detail
    if (generation.embedding_connection, generation.embedding_model) != (source.connection, source.model):
        return _(
            "The vectors of this collection were made by '%(model)s', and this server embeds with '%(ours)s'. "
            "Metadata can be changed here."
        ) % {"model": generation.embedding_model, "ours": source.model}
    return ""


def plan_edit(*, chunk: Chunk, text: str | None, metadata: Mapping[str, Any]) -> Edit:
    """What would change if a chunk had this text and, beside the fields of ingestion's, this metadata.

    Raises InvalidInput for a text that is empty or too long, and a field that may not be changed.
    """
    check_system_fields(chunk=chunk, metadata=metadata)
    wanted = None if text is None else text.replace("\r\n", "\n")
    if wanted is not None and wanted == chunk.text.replace("\r\n", "\n"):
        wanted = None
    if wanted is not None and not wanted.strip():
        raise InvalidInput("Write a text. A passage that nobody is to find can be disabled.", code="text_required")
    if wanted is not None and len(wanted) > MOST_CHARACTERS:
        raise InvalidInput(f"Write at most {MOST_CHARACTERS:,} characters.", code="text_too_long")
    after = {**metadata, **fixed_metadata(chunk)}
    return Edit(text=wanted, metadata=after, fields=_changes(chunk.metadata, after))


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[FieldChange]:
    return [
        FieldChange(
            key=key,
            before=before.get(key),
            after=after.get(key),
            is_new=key not in before,
            is_gone=key not in after,
        )
        for key in sorted(before.keys() | after.keys())
        if key not in before or key not in after or not is_same_json(before[key], after[key])
    ]


def edit_chunk(
    *, collection_name: str, external_id: str, as_seen: str, text: str | None, metadata: Mapping[str, Any]
) -> Chunk:
    """Give a chunk this text (None: its own) and this metadata beside the fields of ingestion's; the row by now.

    A new text is embedded first; then row, vector and words are written in one transaction. Raises NotFound, Conflict
    where the chunk is no longer `as_seen` or its text cannot be embedded here, InvalidInput as `plan_edit`, and
    ModelFailed.
    """
    collection = get_held(name=collection_name)
    chunk = find_chunk(collection=collection, external_id=external_id)
    _check_seen(chunk, as_seen)
    edit = plan_edit(chunk=chunk, text=text, metadata=metadata)
    if edit.is_nothing:
        return chunk
    vector = None if edit.text is None else _embedded(collection, chunk, edit.text)
    with transaction.atomic():
        locked = lock_collection(collection_id=collection.pk)
        try:
            chunk = find_chunk(collection=locked, external_id=external_id)
        except NotFound:
            raise _changed_meanwhile() from None
        _check_seen(chunk, as_seen)
        if vector is not None:
            _check_embeddable(locked)
        before = audited(chunk)
        rewrite(collection=locked, chunk=chunk, metadata=edit.metadata, text=edit.text, embedding=vector)
        touch(collection=locked)
        record("chunk.changed", chunk, collection=locked.name, before=before, after=audited(chunk))
    return chunk


def _embedded(collection: Collection, chunk: Chunk, text: str) -> Vectors:
    _check_embeddable(collection)
    draft = Chunk(document=chunk.document, section_path=chunk.section_path, text=text)
    try:
        vector: Vectors = embedder(collection.embedding_connection).embed_documents([indexed_text(draft)])[0]
    except RagsiteError:
        raise
    except Exception as error:
        logger.exception("a changed chunk could not be embedded")
        raise ModelFailed(
            "The embedding model failed, so nothing was saved. The server's log has the cause; try again, or change "
            "the metadata alone."
        ) from error
    return vector


def _check_embeddable(collection: Collection) -> None:
    if reason := why_no_text(collection):
        raise Conflict(reason, code="embedding_mismatch")


def _check_seen(chunk: Chunk, as_seen: str) -> None:
    if seen(chunk) != as_seen:
        raise _changed_meanwhile()


def _changed_meanwhile() -> Conflict:
    return Conflict(
        "This passage was changed meanwhile, or its document was ingested again. Nothing was saved: look at what it "
        "says now, and make your change to that.",
        code="changed_meanwhile",
    )
