"""Embeddings kept in a file, so that a set that is measured again is not embedded again.

A wiring module as `ragsite.wiring` is: with `RAGSITE_WIRING` naming it, the product asks here for embeddings.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from django.utils.module_loading import import_string

from core_app.config import Embedding
from core_app.ports import Embedder, QueryEngine, Vectors
from ragsite import wiring

STORES = wiring.STORES
EMBEDDERS = dict.fromkeys(wiring.EMBEDDERS, "benchmarks.quality.remembered.Remembered")
#: The environment variable that names the folder of the file.
FOLDER = "RAGSITE_BENCHMARK_CACHE"


class Remembered:
    """The configured embedder, asked only for what is not in the file."""

    def __init__(self, section: Embedding) -> None:
        self._embedder: Embedder = import_string(wiring.EMBEDDERS[section.provider])(section)
        self._lock = threading.Lock()
        self._file = sqlite3.connect(Path(os.environ[FOLDER]) / "embeddings.sqlite", check_same_thread=False)
        self._file.execute("CREATE TABLE IF NOT EXISTS embedding (key BLOB PRIMARY KEY, vector BLOB)")

    @property
    def connection(self) -> str:
        return self._embedder.connection

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def query_engine(self) -> QueryEngine:
        return self._embedder.query_engine

    @property
    def batch_size(self) -> int:
        return self._embedder.batch_size

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._vectors("document", texts, self._embedder.embed_documents)

    def embed_query(self, text: str) -> Vectors:
        found: Vectors = self._vectors("query", [text], lambda asked: self._embedder.embed_query(asked[0])[None, :])[0]
        return found

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    def _vectors(self, kind: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]) -> Vectors:
        keys = [hashlib.sha256(f"{self.model}\n{kind}\n{text}".encode()).digest() for text in texts]
        with self._lock:
            found = [self._read(key) for key in keys]
            missing = [place for place, vector in enumerate(found) if vector is None]
            if missing:
                made = embed([texts[place] for place in missing])
                for place, vector in zip(missing, made, strict=True):
                    found[place] = vector
                    self._file.execute(
                        "INSERT OR REPLACE INTO embedding VALUES (?, ?)", (keys[place], vector.astype("<f4").tobytes())
                    )
                self._file.commit()
        return np.stack([vector for vector in found if vector is not None])

    def _read(self, key: bytes) -> Vectors | None:
        row = self._file.execute("SELECT vector FROM embedding WHERE key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], "<f4")
