"""What each leg finds for every query of a set, through the product's own search, kept in a file.

Fusions are then compared on it in seconds (`fusions`, `table`), and BM25 with other weights of its terms on the
texts as they were indexed, which are kept as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from tqdm import tqdm

from benchmarks.quality.beir import JudgedSet

if TYPE_CHECKING:
    from collections_app.models import Collection

#: As deep as a search looks by default.
DEPTH = 100


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One query and what was found: chunks by their place in `Recorded.chunks`, best first."""

    id: str
    text: str
    dense: list[int]
    lexical: list[int]
    #: BM25 scores of `lexical`.
    bm25: list[float]
    #: Similarity of every chunk in `dense` or `lexical`.
    similarities: dict[int, float]
    #: The query's embedding, as float32.
    vector: bytes


class Indexed(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk: the document it is of, and the text that was embedded and indexed."""

    document: str
    text: str


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A judged set as the legs saw it. `chunks` are in the order of their ids."""

    name: str
    language: str
    k1: float
    b: float
    chunks: list[Indexed]
    #: Their embeddings one after the other, as float32.
    vectors: bytes
    queries: list[Asked]
    judgements: dict[str, dict[str, int]]


def kept(path: Path) -> Recorded | None:
    """The recording in this file, None where there is none."""
    return msgspec.msgpack.decode(path.read_bytes(), type=Recorded) if path.exists() else None


def keep(recorded: Recorded, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.msgpack.encode(recorded))


def is_of(recorded: Recorded, judged: JudgedSet) -> bool:
    """Whether the recording is of this set as it is now: of the same documents, queries and judgements."""
    asked = {query.id: query.text for query in recorded.queries}
    documents = {chunk.document for chunk in recorded.chunks}
    return (
        asked == judged.queries
        and recorded.judgements == judged.judgements
        and documents == {document.id for document in judged.documents}
    )


def record(judged: JudgedSet, *, collection: str) -> Recorded:
    """Ask every query of a set that the collection already holds. Needs Django and its database."""
    # Imported here: whoever only reads a file needs no Django.
    from collections_app.context import contextual_text
    from collections_app.models import Chunk, Collection
    from core_app.wiring import app_settings

    searched = Collection.objects.get(name=collection)
    chunks = list(Chunk.objects.filter(collection=searched).select_related("document").order_by("pk"))
    places = {chunk.pk: place for place, chunk in enumerate(chunks)}
    section = app_settings().search
    indexed = []
    for chunk in chunks:
        assert chunk.document is not None
        text = contextual_text(title=chunk.document.title, section=chunk.section_path, text=chunk.text)
        indexed.append(Indexed(document=chunk.document.source, text=text))
    return Recorded(
        name=judged.name,
        language=searched.language,
        k1=section.k1,
        b=section.b,
        chunks=indexed,
        vectors=_vectors(searched, list(places)),
        queries=[
            _asked(searched.pk, query, text, places)
            for query, text in tqdm(judged.queries.items(), desc="asking", unit="query", leave=False)
        ],
        judgements=judged.judgements,
    )


def _vectors(collection: Collection, chunk_ids: list[int]) -> bytes:
    from collections_app.services import space_of
    from core_app.wiring import store

    assert collection.active_generation is not None
    found = store(collection.store).vectors(space=space_of(collection.active_generation), chunk_ids=chunk_ids)
    return np.stack([found[chunk_id] for chunk_id in chunk_ids]).astype("<f4").tobytes()


def _asked(collection_id: int, query: str, text: str, places: dict[int, int]) -> Asked:
    from collections_app.models import Collection
    from core_app.snapshot import snapshot
    from inference_app.services import embed_query
    from search_app.clock import Clock
    from search_app.findings import Findings
    from search_app.legs import Looking, look

    findings = Findings()
    with snapshot():
        collection = Collection.objects.select_related("active_generation").get(pk=collection_id)
        looking = Looking(collections=[collection], text=text, legs="hybrid", depth=DEPTH, enough=None, where=None)
        look(looking, findings, Clock())
    if findings.warnings:
        raise RuntimeError(f"{text}: {findings.warnings[0].detail}")
    return Asked(
        id=query,
        text=text,
        dense=[places[hit.chunk_id] for hit in findings.dense],
        lexical=[places[hit.chunk_id] for hit in findings.lexical],
        bm25=[hit.score for hit in findings.lexical],
        similarities={places[chunk_id]: found for chunk_id, found in findings.similarities.items()},
        vector=embed_query(text=text).astype("<f4").tobytes(),
    )
