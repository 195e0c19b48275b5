"""What a `KeyValueProvider` keeps: the keys, and the values as JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from core_app.errors import InvalidInput
from core_app.ports import DistanceName, Vectors
from core_app.providers import HeldChunk


@dataclass(frozen=True, kw_only=True)
class Record:
    """A collection."""

    id: str
    name: str
    metadata: Mapping[str, Any]
    distance: DistanceName
    #: Of the vectors; None while there are none.
    dimension: int | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A chunk and its place among those of its collection."""

    position: int
    chunk: HeldChunk


def key_of_collection(name: str = "") -> str:
    """Of one collection, or what the keys of all begin with."""
    return f"collection/{quote(name, safe='')}"


def key_of_chunk(name: str, chunk_id: str = "") -> str:
    """Of one chunk, or what the keys of all in this collection begin with."""
    return f"chunk/{quote(name, safe='')}/{quote(chunk_id, safe='')}"


def written_record(record: Record) -> bytes:
    """As it is kept."""
    times = {"created_at": record.created_at.isoformat(), "updated_at": record.updated_at.isoformat()}
    return json.dumps({**vars(record), **times}).encode()


def record_of(value: bytes) -> Record:
    """As it was kept."""
    given = json.loads(value)
    times = {key: datetime.fromisoformat(given[key]) for key in ("created_at", "updated_at")}
    return Record(**{**given, **times})


def written_entry(entry: Entry) -> bytes:
    """As it is kept: the vector's numbers are float32, little-endian, in base64."""
    chunk = entry.chunk
    numbers = base64.b64encode(packed(chunk.embedding).astype("<f4").tobytes()).decode()
    kept = {"position": entry.position, "id": chunk.id, "text": chunk.text, "metadata": dict(chunk.metadata)}
    return json.dumps({**kept, "embedding": numbers}).encode()


def entry_of(value: bytes) -> Entry:
    """As it was kept."""
    given = json.loads(value)
    embedding = np.frombuffer(base64.b64decode(given["embedding"]), dtype="<f4").astype(np.float32)
    chunk = HeldChunk(id=given["id"], text=given["text"], metadata=given["metadata"], embedding=embedding)
    return Entry(position=given["position"], chunk=chunk)


def packed(embedding: Vectors | None) -> Vectors:
    """A vector to be kept. Raises InvalidInput where there is none, or with numbers that are not finite."""
    if embedding is None:
        raise InvalidInput("All documents must include pre-computed embeddings", code="embeddings_required")
    vector = np.asarray(embedding, dtype=np.float32)
    if not np.isfinite(vector).all():
        raise InvalidInput("Send embeddings of finite numbers.", code="invalid_embedding")
    return vector


def distances(chunks: Sequence[HeldChunk], queries: Vectors, *, metric: DistanceName) -> NDArray[np.float64]:
    """Of each query to each chunk, shape (queries, chunks); a vector of zeros has the cosine 0."""
    held = np.stack([packed(chunk.embedding) for chunk in chunks]).astype(np.float64)
    asked = queries.astype(np.float64)
    if metric == "l2":
        return np.stack([np.linalg.norm(held - query, axis=1) for query in asked])
    products = asked @ held.T
    if metric == "ip":
        return -products
    lengths = np.outer(np.linalg.norm(asked, axis=1), np.linalg.norm(held, axis=1))
    return 1.0 - np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
