"""What is measured of a provider, and of the bare client beside it, query by query."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.latency.loading import Material
from benchmarks.latency.vectors import Vectors
from benchmarks.providers.pairs import Pair
from core_app.providers import HeldChunk
from core_app.where import Where, parse_where
from core_app.wiring import embedder

LIMIT = 10
EMPTIED = 10_000
_BATCH = 500
_WARM = 10


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Chunks with their vectors, and vectors of queries that are in no chunk."""

    chunks: Sequence[HeldChunk]
    vectors: Vectors
    queries: Vectors
    #: A tenth of the chunks passes it.
    where: Where


@dataclass(frozen=True, kw_only=True)
class Row:
    """One provider; times in milliseconds."""

    name: str
    added_per_second: float
    p50: float
    p95: float
    bare_p50: float
    recall: float
    filtered_p50: float
    filtered_recall: float
    emptied_seconds: float


def corpus_of(material: Material, *, count: int, queries: int) -> Corpus:
    """About real texts as they lie; each has a number and a team."""
    chunks: list[HeldChunk] = []
    vectors: list[Vectors] = []
    for passages, made in material.batches(count):
        for passage, vector in zip(passages, made, strict=True):
            number = len(chunks)
            metadata = {"n": number, "team": f"team {number % 10}"}
            chunks.append(HeldChunk(id=f"c{number}", text=passage.text, metadata=metadata, embedding=vector))
        vectors.append(made)
    where = parse_where({"team": "team 3"})
    assert where is not None
    return Corpus(
        chunks=chunks,
        vectors=np.concatenate(vectors),
        queries=embedder().embed_documents(material.library.queries(queries, words=8)),
        where=where,
    )


def measure(pair: Pair, corpus: Corpus) -> Row:
    """Add, search, filter, empty; the provider and the bare client ask each query in turn."""
    provider = pair.provider
    provider.create_collection(name="bench", metadata={}, distance="cosine")
    seconds = _timed(lambda: _add(pair, "bench", corpus.chunks))
    pair.settle()
    bare = pair.bare("bench")
    mine: list[float] = []
    theirs: list[float] = []
    found: list[list[str]] = []
    for at, query in enumerate([*corpus.queries[:_WARM], *corpus.queries]):
        calls: tuple[Callable[[], Any], ...] = (partial(_nearest, pair, query, None), partial(bare, query))
        for which in (0, 1) if at % 2 else (1, 0):
            began = time.perf_counter()
            answer = calls[which]()
            took = 1000 * (time.perf_counter() - began)
            if at >= _WARM:
                (mine, theirs)[which].append(took)
                if which == 0:
                    found.append(answer)
    filtered = [_both(partial(_nearest, pair, query, corpus.where)) for query in corpus.queries]
    passing = np.array([chunk.metadata["team"] == "team 3" for chunk in corpus.chunks])
    provider.create_collection(name="emptied", metadata={}, distance="cosine")
    _add(pair, "emptied", corpus.chunks[:EMPTIED])
    emptied = _timed(lambda: provider.empty(name="emptied"))
    provider.close()
    return Row(
        name=pair.name,
        added_per_second=len(corpus.chunks) / seconds,
        p50=float(np.percentile(mine, 50)),
        p95=float(np.percentile(mine, 95)),
        bare_p50=float(np.percentile(theirs, 50)),
        recall=_recall(corpus, found, np.ones(len(corpus.chunks), bool)),
        filtered_p50=float(np.percentile([took for took, _ in filtered], 50)),
        filtered_recall=_recall(corpus, [ids for _, ids in filtered], passing),
        emptied_seconds=emptied,
    )


def table(rows: Sequence[Row]) -> str:
    """Markdown."""
    lines = [
        "| provider | added a second | search p50 | p95 | bare client p50 | overhead | recall@10 | filtered p50 "
        "| its recall | 10,000 emptied |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        over = row.p50 - row.bare_p50
        lines.append(
            f"| {row.name} | {row.added_per_second:,.0f} | {row.p50:.1f} ms | {row.p95:.1f} ms | {row.bare_p50:.1f} ms "
            f"| {over:+.1f} ms ({100 * over / row.bare_p50:+.0f} %) | {row.recall:.3f} | {row.filtered_p50:.1f} ms "
            f"| {row.filtered_recall:.3f} | {row.emptied_seconds:.1f} s |"
        )
    return "\n".join(lines)


def _add(pair: Pair, name: str, chunks: Sequence[HeldChunk]) -> None:
    for start in range(0, len(chunks), _BATCH):
        pair.provider.add(name=name, chunks=chunks[start : start + _BATCH])


def _nearest(pair: Pair, query: Vectors, where: Where | None) -> list[str]:
    (found,) = pair.provider.nearest(name="bench", queries=query[np.newaxis], limit=LIMIT, where=where)
    return [one.chunk.id for one in found]


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _both(call: Callable[[], list[str]]) -> tuple[float, list[str]]:
    began = time.perf_counter()
    found = call()
    return 1000 * (time.perf_counter() - began), found


def _recall(corpus: Corpus, found: Sequence[Sequence[str]], passing: Any) -> float:
    """Of the first ten by all vectors compared, how many were found."""
    hits = 0
    for query, ids in zip(corpus.queries, found, strict=True):
        away = np.where(passing, 1 - corpus.vectors @ (query / np.linalg.norm(query)), np.inf)
        hits += len({f"c{at}" for at in np.argsort(away)[:LIMIT]} & set(ids))
    return hits / (LIMIT * len(corpus.queries))
