"""Searches by given vectors over HTTP, several clients at once, by Ragsite's server and chromadb's in turn.

Ragsite is asked at POST /collections/{name}/query, which searches by meaning alone, as chromadb does.
"""

from __future__ import annotations

import http.client
import json
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.latency.figures import exact_nearest, percentile, recall, table
from benchmarks.latency.loading import Material
from benchmarks.latency.vectors import Vectors
from benchmarks.storage import servers
from benchmarks.storage.clients import JSON, Chroma, Client, Ragsite
from benchmarks.storage.corpus import Corpus
from core_app.wiring import embedder

CLIENTS = 8
LIMIT = 10
#: Turns of each server.
_ROUNDS = 4
_NAME = "latency"


@dataclass(kw_only=True)
class Asked:
    """One server: where and what it is asked, and what came of it."""

    url: str
    path: str
    bodies: list[bytes]
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    answers: dict[int, bytes] = field(default_factory=dict)

    @property
    def throughput(self) -> float:
        return len(self.times) / self.seconds


def measure(material: Material, *, count: int, queries: int, chroma: str, chroma_ef: int | None = None) -> str:
    """Fill both, then ask them in turn; requests a second and their times."""
    corpus = _corpus(material, count)
    texts = material.library.queries(queries, words=12, seed=23)
    vectors = np.array([embedder().embed_query(text) for text in texts])
    exact = exact_nearest(vectors, np.asarray(corpus.vectors), np.arange(len(corpus)), limit=LIMIT)
    with (
        tempfile.TemporaryDirectory(prefix="ragsite-latency-") as folder,
        servers.ragsite(Path(folder) / "ragsite") as our_url,
        servers.chroma(chroma, Path(folder) / "chroma") as their_url,
    ):
        ours, theirs = Ragsite(our_url), Chroma(their_url, ef_search=chroma_ef)
        for client in (ours, theirs):
            _fill(client, corpus)
        asked = {
            "Ragsite": Asked(url=our_url, path=f"/collections/{_NAME}/query", bodies=[_our_body(v) for v in vectors]),
            "chromadb": Asked(url=their_url, path=_their_path(theirs), bodies=[_their_body(v) for v in vectors]),
        }
        for one in asked.values():
            _round(one, warm=True)
        for _ in range(_ROUNDS):
            for one in asked.values():
                _round(one)
    rows = [
        [
            name,
            f"{one.throughput:.0f}",
            *(f"{percentile(one.times, share):.1f}" for share in (50, 95)),
            f"{_recall(name, one, exact):.3f}",
        ]
        for name, one in asked.items()
    ]
    head = ["server", "requests a second", "p50, ms", "p95", "recall@10"]
    note = f"{len(corpus):,} chunks, {CLIENTS} clients, {_ROUNDS} turns of {queries} queries by vectors each."
    return "\n\n".join(["### Over HTTP", note, table(head, rows)])


def _corpus(material: Material, count: int) -> Corpus:
    texts: list[str] = []
    made: list[Vectors] = []
    for passages, vectors in material.batches(count):
        texts += [passage.text for passage in passages]
        made.append(vectors)
    return Corpus(
        ids=[f"d{number}" for number in range(count)],
        texts=texts,
        metadata=[{"number": number} for number in range(count)],
        vectors=np.concatenate(made),
    )


def _fill(client: Client, corpus: Corpus) -> None:
    client.create(_NAME)
    for body in client.bodies(corpus):
        client.add(_NAME, body)
    client.wait_for_index(_NAME, len(corpus))
    client.settle()


def _our_body(vector: Vectors) -> bytes:
    return json.dumps({"query_embedding": vector.tolist(), "top_k": LIMIT}).encode()


def _their_body(vector: Vectors) -> bytes:
    include = ["documents", "metadatas", "distances"]
    return json.dumps({"query_embeddings": [vector.tolist()], "n_results": LIMIT, "include": include}).encode()


def _their_path(client: Chroma) -> str:
    found = client.http.get(f"/collections/{_NAME}").raise_for_status().json()
    return f"{urlsplit(str(client.http.base_url)).path.rstrip('/')}/collections/{found['id']}/query"


def _round(asked: Asked, *, warm: bool = False) -> None:
    """All queries once, shared by the clients."""
    times: list[list[float]] = [[] for _ in range(CLIENTS)]
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            _ask(asked, range(number, len(asked.bodies), CLIENTS), times[number])
        except BaseException as error:  # noqa: BLE001 - told by the thread that waits
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if failures:
        raise failures[0]
    if not warm:
        asked.seconds += seconds
        asked.times += [taken for of_one in times for taken in of_one]


def _ask(asked: Asked, numbers: Sequence[int], times: list[float]) -> None:
    """One client with a connection of its own; bodies are made before and answers read after the clock."""
    connection = http.client.HTTPConnection(urlsplit(asked.url).netloc, timeout=60)
    for number in numbers:
        began = time.perf_counter()
        connection.request("POST", asked.path, asked.bodies[number], JSON)
        response = connection.getresponse()
        answer = response.read()
        times.append((time.perf_counter() - began) * 1000)
        if response.status != 200:
            raise RuntimeError(f"{asked.path} answered {response.status}: {answer[:200]!r}")
        asked.answers[number] = answer
    connection.close()


def _recall(name: str, asked: Asked, exact: Sequence[Sequence[int]]) -> float:
    shares = []
    for number, right in enumerate(exact):
        answer: Any = json.loads(asked.answers[number])
        ids = answer["ids"][0] if name == "chromadb" else [hit["id"] for hit in answer["results"]]
        shares.append(recall([int(found.removeprefix("d")) for found in ids], right))
    return sum(shares) / len(shares)
