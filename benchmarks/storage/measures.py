"""What is measured of one server: rates of adding, times and recall of queries, emptying beside searches."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.types.json import Jsonb

from benchmarks.storage.clients import Client
from benchmarks.storage.corpus import ONE_PERCENT, Corpus, nearest

LIMIT = 10
_MATCHING = """FROM collections_chunk WHERE metadata @> %(where)s
AND collection_id = (SELECT id FROM collections_collection WHERE name = %(name)s)"""
PAGE = f"SELECT external_id, text, metadata {_MATCHING} ORDER BY position LIMIT %(limit)s"
TOTAL = f"SELECT count(*) {_MATCHING}"


@dataclass(frozen=True, kw_only=True)
class Adding:
    """Documents a second: until the last one is found, and until the vector index stands."""

    searchable: float
    indexed: float


@dataclass(frozen=True, kw_only=True)
class Queries:
    """Milliseconds, recall against the exact answer, and the fewest results."""

    p50: float
    p95: float
    recall: float
    fewest: int


@dataclass(kw_only=True)
class Beside:
    """Times of another collection's searches while something else happens, in ms."""

    rest: list[float] = field(default_factory=list)
    during: list[float] = field(default_factory=list)


def adding(client: Client, name: str, corpus: Corpus) -> Adding:
    bodies = list(client.bodies(corpus))
    client.create(name)
    started = time.perf_counter()
    for body in bodies:
        client.add(name, body)
    found = client.query(name, corpus.vectors[-1], {}, 1)
    searchable = time.perf_counter() - started
    assert found == [corpus.ids[-1]], found
    client.wait_for_index(name, len(corpus))
    indexed = time.perf_counter() - started
    client.settle()
    return Adding(searchable=len(corpus) / searchable, indexed=len(corpus) / indexed)


def fill(client: Client, name: str, corpus: Corpus) -> None:
    client.create(name)
    for body in client.bodies(corpus):
        client.add(name, body)
    client.settle()


def queries(client: Client, name: str, corpus: Corpus, vectors: NDArray[np.float32], where: dict[str, Any]) -> Queries:
    for vector in vectors[:5]:
        client.query(name, vector, where, LIMIT)
    times, recalls, counts = [], [], []
    for vector in vectors:
        started = time.perf_counter()
        found = client.query(name, vector, where, LIMIT)
        times.append((time.perf_counter() - started) * 1000)
        exact = nearest(corpus, vector, where, LIMIT)
        recalls.append(len(set(found) & set(exact)) / len(exact))
        counts.append(len(found))
    return Queries(p50=statistics.median(times), p95=p95(times), recall=statistics.fmean(recalls), fewest=min(counts))


def p95(times: Sequence[float]) -> float:
    return float(np.percentile(times, 95)) if times else float("nan")


def emptying(client: Client, name: str, corpus: Corpus, search: Callable[[], None], beside: Beside) -> float:
    """Seconds that emptying takes; to `beside` are added another collection's searches before and during it."""

    def once(into: list[float]) -> None:
        started = time.perf_counter()
        search()
        into.append((time.perf_counter() - started) * 1000)

    for _ in range(100):
        once(beside.rest)
    done = threading.Event()

    def keep_searching() -> None:
        while not done.is_set():
            once(beside.during)

    searcher = threading.Thread(target=keep_searching)
    searcher.start()
    started = time.perf_counter()
    client.empty(name, corpus)
    seconds = time.perf_counter() - started
    done.set()
    searcher.join()
    return seconds


def bare_page(connection: psycopg.Connection[Any]) -> int:
    """What a page of documents by metadata asks of Postgres: the page and the total; the total."""
    params = {"name": "queried", "where": Jsonb(ONE_PERCENT), "limit": 101}
    connection.execute(PAGE, params).fetchall()
    row = connection.execute(TOTAL, params).fetchone()
    return int(row[0]) if row else 0
