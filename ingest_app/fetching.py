"""What a collection that another program holds becomes here: each chunk is looked at, then a batch is stored.

An id that is here already is replaced, or skipped where nothing differs, so whoever goes on or begins again stores
nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from collections_app.exporting import CHUNK_FIELDS
from collections_app.models import Chunk, Collection
from collections_app.reading import vectors_of
from collections_app.receiving import Model, Received, put_chunks
from core_app.api import MAX_DEPTH, is_deep, reject_unstorable
from core_app.errors import InvalidInput
from core_app.json_values import is_same_json
from core_app.ports import Vectors
from core_app.providers import HeldChunk
from ingest_app.exchange_lines import MAX_ID_BYTES, is_storable
from ingest_app.exchange_target import embedded

#: Chunks that are read there, and stored, at a time.
BATCH = 500
SHOWN_REFUSALS = 20
_BARE: Mapping[str, Any] = {
    **dict.fromkeys(CHUNK_FIELDS),
    "section_path": [],
}


@dataclass(kw_only=True)
class Fetched:
    """How far it is; kept in the job's row, so that a later attempt counts on."""

    #: Chunks read there.
    chunks: int = 0
    stored: int = 0
    unchanged: int = 0
    #: Texts that the server embedded, because their chunks had no vector.
    embedded: int = 0
    #: Chunks that cannot be held here; the first of them with the reason.
    refused: int = 0
    refusals: list[dict[str, str]] = field(default_factory=list)

    def refuse(self, chunk_id: str, reason: str) -> None:
        """Note a chunk that cannot be held."""
        self.refused += 1
        if len(self.refusals) < SHOWN_REFUSALS:
            self.refusals.append({"id": chunk_id[:200].replace("\0", ""), "reason": reason})


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Chunks that can be held, each with its vector of shape (dimension,)."""

    chunks: Sequence[HeldChunk]
    vectors: Mapping[str, Vectors]


def looked_at(
    chunks: Sequence[HeldChunk], *, model: Model | None, fills: bool, into: Collection | None, fetched: Fetched
) -> Batch | None:
    """Those of the chunks that can be held; `fetched` is told of the others. None where there are none.

    Without a `model` the first vector says the dimension. Where it `fills`, what has no vector is embedded as texts of
    the collection `into` are; without one those are only counted. Raises ModelFailed.
    """
    given = {chunk.id: chunk for chunk in chunks}
    fetched.chunks += len(given)
    dimension = None if model is None else model.dimension
    kept: list[HeldChunk] = []
    for chunk in given.values():
        reason = refusal(chunk, dimension=dimension, fills=fills)
        if reason:
            fetched.refuse(chunk.id, reason)
            continue
        kept.append(chunk)
        if dimension is None and chunk.embedding is not None:
            dimension = len(chunk.embedding)
    if not kept:
        return None
    vectors = {chunk.id: np.asarray(chunk.embedding, np.float32) for chunk in kept if chunk.embedding is not None}
    bare = [chunk for chunk in kept if chunk.embedding is None]
    fetched.embedded += len(bare)
    if bare and into is not None:
        made = embedded([chunk.text for chunk in bare], into)
        vectors |= {chunk.id: vector for chunk, vector in zip(bare, made, strict=True)}
    return Batch(chunks=kept, vectors=vectors)


def refusal(chunk: HeldChunk, *, dimension: int | None, fills: bool) -> str:
    """Why a chunk cannot be held here; empty where it can."""
    if not chunk.id or len(chunk.id.encode("utf-8", "surrogatepass")) > MAX_ID_BYTES:
        return f"id: only ids of 1 to {MAX_ID_BYTES} bytes can be held."
    try:
        reject_unstorable(chunk.id, "id")
        reject_unstorable(chunk.text, "text")
        reject_unstorable(chunk.metadata, "metadata")
    except InvalidInput as error:
        return error.detail
    if is_deep(dict(chunk.metadata)):
        return f"metadata: nested more than {MAX_DEPTH} levels deep."
    if chunk.embedding is None:
        return "" if fills else "vector: there is none, and this server's model is not the collection's."
    if dimension is not None and len(chunk.embedding) != dimension:
        return f"vector: has {len(chunk.embedding)} numbers, those of the collection have {dimension}."
    if not is_storable(np.asarray(chunk.embedding, np.float32)):
        return "vector: has numbers that are not finite, or too large to compare."
    return ""


def store_batch(*, collection: Collection, batch: Batch, model: Model, fetched: Fetched) -> None:
    """Store what is new or differs; needs the collection's write lock. Raises Conflict for vectors of another model."""
    ids = [chunk.id for chunk in batch.chunks]
    rows = Chunk.objects.filter(collection=collection, external_id__in=ids).select_related("document")
    here = {row.external_id: row for row in rows}
    kept = vectors_of(collection=collection, chunk_ids=[row.pk for row in here.values()])
    received: list[Received] = []
    for chunk in batch.chunks:
        stored, vector = here.get(chunk.id), batch.vectors[chunk.id]
        if stored is not None and _is_same(stored, kept.get(stored.pk), chunk, vector):
            fetched.unchanged += 1
        else:
            received.append(_received(chunk, vector, stored))
    fetched.stored += len(received)
    put_chunks(collection=collection, model=model, chunks=received, documents=frozenset())


def _is_same(stored: Chunk, kept: Vectors | None, chunk: HeldChunk, vector: Vectors) -> bool:
    if kept is None or stored.text != chunk.text or not is_same_json(stored.metadata, chunk.metadata):
        return False
    return chunk.embedding is None or np.array_equal(kept, vector)


def _received(chunk: HeldChunk, vector: Vectors, stored: Chunk | None) -> Received:
    # What comes again with the same text stays disabled.
    disabled_at = stored.disabled_at if stored is not None and stored.text == chunk.text else None
    values = {**_BARE, "text": chunk.text, "metadata": dict(chunk.metadata), "disabled_at": disabled_at}
    return Received(external_id=chunk.id, document=None, values=values, vector=vector, replaces=stored)


@dataclass
class Checksum:
    """Of chunks in any order: SHA-256 of id, text and metadata of each, added up."""

    count: int = 0
    total: int = 0

    def add(self, *, chunk_id: str, text: str, metadata: Mapping[str, Any]) -> None:
        """One more chunk."""
        content = json.dumps([chunk_id, text, _plain(metadata)], sort_keys=True, ensure_ascii=False)
        self.count += 1
        self.total = (self.total + int.from_bytes(sha256(content.encode("utf-8")).digest())) % (1 << 256)

    def __str__(self) -> str:
        return f"{self.total:064x}"


def _plain(value: Any) -> Any:
    """With one form for each number: 1.0 comes back from Postgres as it was sent, from others perhaps as 1."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
