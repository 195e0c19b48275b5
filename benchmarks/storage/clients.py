"""One vocabulary for both servers. Bodies are encoded before the clock starts: servers are measured, not clients."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any, Protocol

import httpx
import numpy as np
from numpy.typing import NDArray

from benchmarks.storage.corpus import Corpus

BATCH = 1000
#: So long a server does nothing before the next measurement.
QUIET_SECONDS = 3.0
JSON = {"Content-Type": "application/json"}


class Client(Protocol):
    """What is measured."""

    def create(self, name: str) -> None: ...
    def bodies(self, corpus: Corpus) -> Iterator[bytes]: ...
    def add(self, name: str, body: bytes) -> None: ...
    def query(self, name: str, vector: NDArray[np.float32], where: dict[str, Any], limit: int) -> list[str]: ...
    def wait_for_index(self, name: str, count: int) -> None: ...
    def settle(self) -> None: ...
    def empty(self, name: str, corpus: Corpus) -> None: ...


class Ragsite:
    """Ragsite's storage API."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=600)

    def create(self, name: str) -> None:
        self.http.post("/collections", json={"name": name}).raise_for_status()

    def bodies(self, corpus: Corpus) -> Iterator[bytes]:
        for start in range(0, len(corpus), BATCH):
            chosen = range(start, min(start + BATCH, len(corpus)))
            documents = [
                {
                    "id": corpus.ids[index],
                    "text": corpus.texts[index],
                    "metadata": corpus.metadata[index],
                    "embedding": corpus.vectors[index].tolist(),
                }
                for index in chosen
            ]
            yield json.dumps({"documents": documents}).encode()

    def add(self, name: str, body: bytes) -> None:
        self.http.post(f"/collections/{name}/documents", content=body, headers=JSON).raise_for_status()

    def query(self, name: str, vector: NDArray[np.float32], where: dict[str, Any], limit: int) -> list[str]:
        body = {"query_embedding": vector.tolist(), "top_k": limit, "where": where}
        answer = self.http.post(f"/collections/{name}/query", json=body).raise_for_status()
        return [hit["id"] for hit in answer.json()["results"]]

    def documents(self, name: str, where: dict[str, Any]) -> int:
        """A page of documents by metadata; how many there are."""
        answer = self.http.get(f"/collections/{name}/documents", params={"where": json.dumps(where)})
        return int(answer.raise_for_status().json()["total"])

    def wait_for_index(self, name: str, count: int) -> None:
        """Until a job has built the vector index over all of the collection; it goes on with the word index."""
        deadline = time.monotonic() + 900
        while time.monotonic() < deadline:
            jobs = self._jobs(collection=name, kind="index")
            if any(count == job["total"] == job["done"] for job in jobs):
                return
            time.sleep(0.1)
        raise RuntimeError("The vector index was not built in 15 minutes.")

    def settle(self) -> None:
        """Until for some time no job was under way that would take time from what is measured next."""
        quiet_since = time.monotonic()
        while time.monotonic() < quiet_since + QUIET_SECONDS:
            if any(job["finished_at"] is None for job in self._jobs()):
                quiet_since = time.monotonic()
            time.sleep(0.1)

    def _jobs(self, **params: str) -> list[dict[str, Any]]:
        return list(self.http.get("/api/rag/jobs", params=params).raise_for_status().json()["jobs"])

    def empty(self, name: str, corpus: Corpus) -> None:
        answer = self.http.delete(f"/collections/{name}/documents/all").raise_for_status()
        assert answer.json()["count_deleted"] == len(corpus)


class Chroma:
    """chromadb's server; embeddings travel in base64, as its own client sends them. `ef_search` is its own if None."""

    def __init__(self, url: str, *, ef_search: int | None = None) -> None:
        self.http = httpx.Client(
            base_url=f"{url}/api/v2/tenants/default_tenant/databases/default_database", timeout=900
        )
        self._ids: dict[str, str] = {}
        self._metadata: dict[str, str | int] = {"hnsw:space": "cosine"}
        if ef_search is not None:
            self._metadata["hnsw:search_ef"] = ef_search

    def create(self, name: str) -> None:
        answer = self.http.post("/collections", json={"name": name, "metadata": self._metadata})
        self._ids[name] = answer.raise_for_status().json()["id"]

    def bodies(self, corpus: Corpus) -> Iterator[bytes]:
        for start in range(0, len(corpus), BATCH):
            chosen = slice(start, start + BATCH)
            vectors = [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in corpus.vectors[chosen]]
            body = {
                "ids": corpus.ids[chosen],
                "embeddings": vectors,
                "documents": corpus.texts[chosen],
                "metadatas": corpus.metadata[chosen],
            }
            yield json.dumps(body).encode()

    def add(self, name: str, body: bytes) -> None:
        self.http.post(f"/collections/{self._ids[name]}/add", content=body, headers=JSON).raise_for_status()

    def query(self, name: str, vector: NDArray[np.float32], where: dict[str, Any], limit: int) -> list[str]:
        body = {
            "query_embeddings": [vector.tolist()],
            "n_results": limit,
            "where": where or None,
            "include": ["documents", "metadatas", "distances"],
        }
        answer = self.http.post(f"/collections/{self._ids[name]}/query", json=body).raise_for_status()
        return list(answer.json()["ids"][0])

    def wait_for_index(self, name: str, count: int) -> None:
        """It indexes while it adds."""

    def settle(self) -> None:
        """It does not say what it still does; as much time as Ragsite gets."""
        time.sleep(QUIET_SECONDS)

    def empty(self, name: str, corpus: Corpus) -> None:
        # There is no call for it; a list of all ids at once is more than it takes.
        for start in range(0, len(corpus), 5000):
            body = {"ids": corpus.ids[start : start + 5000]}
            self.http.post(f"/collections/{self._ids[name]}/delete", json=body).raise_for_status()
