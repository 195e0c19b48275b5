"""What is read out of a Chroma: records as chunks, those that a filter lets through, the nearest among some."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from connections_app.providers.chroma_engine import Engine, Found, Matches, Records
from connections_app.providers.chroma_records import decoded, superset
from core_app.errors import InvalidInput
from core_app.ports import DistanceName, Vectors
from core_app.providers import HeldChunk, NearChunk
from core_app.similarity import similarity
from core_app.where import And, Compare, Not, Or, Where, matches

Doubles = NDArray[np.float64]

#: By so many of the last ids a scan finds its place again where others were deleted meanwhile.
_REMEMBERED = 50


def chunks_of(records: Records) -> list[HeldChunk]:
    """Records as chunks; where other programs stored no text or no metadata, empty ones."""
    count = len(records.ids)
    metadatas = records.metadatas if len(records.metadatas) else [None] * count
    documents = records.documents if len(records.documents) else [None] * count
    embeddings = records.embeddings if len(records.embeddings) else [None] * count
    return [
        HeldChunk(
            id=one,
            text=text or "",
            metadata=decoded(metadata),
            embedding=None if vector is None else np.asarray(vector, dtype=np.float32),
        )
        for one, metadata, text, vector in zip(records.ids, metadatas, documents, embeddings, strict=True)
    ]


def matching(engine: Engine, found: Found, where: Where) -> list[str]:
    """The ids of all chunks that a filter lets through, in Chroma's order: it narrows, the evaluator decides."""
    include = ("metadatas", "documents") if uses_text(where) else ("metadatas",)
    records = engine.get(found, include=include, where=superset(where))
    return [chunk.id for chunk in chunks_of(records) if matches(where, metadata=dict(chunk.metadata), text=chunk.text)]


def uses_text(where: Where) -> bool:
    """Whether a filter asks about the text."""
    if isinstance(where, And | Or):
        return any(map(uses_text, where.parts))
    if isinstance(where, Not):
        return uses_text(where.part)
    return isinstance(where, Compare) and where.field is None


def near_of(matches: Matches, metric: DistanceName) -> list[NearChunk]:
    """What a query found, with distances as we count them: Chroma squares l2, and takes an inner product from 1."""
    found = []
    for chunk, away in zip(chunks_of(matches.records), matches.distances, strict=True):
        distance = 1.0 if away is None else float(away)
        if metric == "l2":
            distance = math.sqrt(max(distance, 0.0))
        elif metric == "ip":
            distance -= 1.0
        found.append(NearChunk(chunk=chunk, distance=distance, score=similarity(distance, metric=metric)))
    return found


def compared(query: Vectors, chunks: Sequence[HeldChunk], limit: int, metric: DistanceName) -> list[NearChunk]:
    """The nearest of these, compared in double precision: cosine of a vector without direction is 1 away."""
    with_vector = [chunk for chunk in chunks if chunk.embedding is not None]
    if not with_vector:
        return []
    matrix = np.asarray([chunk.embedding for chunk in with_vector], dtype=np.float64)
    asked = np.asarray(query, dtype=np.float64)
    away = _distances(matrix, asked, metric)
    order = np.argsort(away, kind="stable")[:limit]
    return [
        NearChunk(
            chunk=HeldChunk(id=with_vector[at].id, text=with_vector[at].text, metadata=with_vector[at].metadata),
            distance=float(away[at]),
            score=similarity(float(away[at]), metric=metric),
        )
        for at in order
    ]


def _distances(matrix: Doubles, asked: Doubles, metric: DistanceName) -> Doubles:
    if metric == "l2":
        return np.asarray(np.linalg.norm(matrix - asked, axis=1))
    products: Doubles = matrix @ asked
    if metric == "ip":
        return -products
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(asked)
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return np.asarray(1.0 - cosines)


def token(place: int, ids: Sequence[str]) -> str:
    """Where a scan goes on: how many came before, and the last of them."""
    return json.dumps([place, [_mark(one) for one in ids[-_REMEMBERED:]]])


def place_after(engine: Engine, found: Found, after: str | None) -> int:
    """How many records a scan leaves out. Deleted ones move the others up: the last that is left tells.

    Raises InvalidInput for what `token` did not give.
    """
    if after is None:
        return 0
    place, marks = _read_token(after)
    if place and marks:
        there = engine.get(found, include=(), limit=1, offset=place - 1).ids
        if there and _mark(there[0]) == marks[-1]:
            return place
    every = {_mark(one): at for at, one in enumerate(engine.get(found, include=(), limit=place).ids, start=1)}
    return next(
        (every[mark] for mark in reversed(marks) if mark in every), 0 if not every else max(0, place - len(marks))
    )


def _read_token(after: str) -> tuple[int, list[str]]:
    try:
        place, marks = json.loads(after)
        if isinstance(place, int) and place >= 0 and all(isinstance(mark, str) for mark in marks):
            return place, marks
    except (ValueError, TypeError):
        pass
    raise InvalidInput("'after' was not given by this store.", code="invalid_cursor")


def _mark(one: str) -> str:
    return hashlib.sha256(one.encode("utf-8", "surrogatepass")).hexdigest()[:12]
