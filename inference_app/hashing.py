"""An embedder without a model: words hashed into a fixed number of components.

It knows no meaning, loads nothing and gives the same vectors everywhere: for tests and smoke checks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from core_app.config import Embedding
from core_app.ports import QueryEngine, Vectors

DIMENSION = 256
_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Each word adds 1 or -1 to one component; the sum is normalised."""

    def __init__(self, section: Embedding) -> None:
        self._section = section

    @property
    def connection(self) -> str:
        return self._section.connection

    @property
    def model(self) -> str:
        return self._section.model

    @property
    def dimension(self) -> int:
        return DIMENSION

    @property
    def query_engine(self) -> QueryEngine:
        return QueryEngine(name="hashing")

    @property
    def batch_size(self) -> int:
        return self._section.batch_size

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.array([self.embed_query(text) for text in texts], dtype=np.float32).reshape(-1, DIMENSION)

    def embed_query(self, text: str) -> Vectors:
        vector = np.zeros(DIMENSION, dtype=np.float32)
        for word in _WORD.findall(text.lower()):
            digest = hashlib.blake2b(word.encode("utf-8"), digest_size=8).digest()
            number = int.from_bytes(digest, "big")
            vector[number % DIMENSION] += 1.0 if number >> 63 else -1.0
        norm = float(np.linalg.norm(vector))
        return vector / norm if norm else vector

    def warm_up(self) -> None:
        """There is nothing to load."""

    def count_tokens(self, text: str) -> int:
        return len(_WORD.findall(text))
