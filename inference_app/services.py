"""Embedding for the rooms above: one embedding of a query per connection and model, remembered."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache

from core_app.ports import Embedder, Vectors
from core_app.wiring import app_settings, embedder

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class CacheStatistics:
    hits: int
    misses: int
    size: int


class QueryCache:
    """The latest query embeddings, keyed by connection, model and text; safe between threads."""

    def __init__(self, *, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._vectors: OrderedDict[tuple[str, str, str], Vectors] = OrderedDict()
        self._hits = 0
        self._misses = 0

    def embed(self, *, source: Embedder, text: str) -> Vectors:
        """The embedding of `text` by `source`; shape (dimension,). Logs hits (A3)."""
        key = (source.connection, source.model, text)
        with self._lock:
            found = self._vectors.get(key)
            if found is not None:
                self._vectors.move_to_end(key)
                self._hits += 1
            else:
                self._misses += 1
        if found is not None:
            logger.info("embedding cache hit", extra={"cache_key": f"{source.connection}:{source.model}"})
            return found
        vector = source.embed_query(text)
        vector.setflags(write=False)
        with self._lock:
            self._vectors[key] = vector
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
        return vector

    def statistics(self) -> CacheStatistics:
        """Hits and misses since the process started, and how many embeddings are kept."""
        with self._lock:
            return CacheStatistics(hits=self._hits, misses=self._misses, size=len(self._vectors))


@cache
def query_cache() -> QueryCache:
    """The process's one cache, sized by the settings."""
    return QueryCache(size=app_settings().embedding.query_cache_size)


def embed_query(*, text: str, source: Embedder | None = None) -> Vectors:
    """The query's embedding by `source`, or by the configured embedder; shape (dimension,). Raises Unavailable."""
    return query_cache().embed(source=embedder() if source is None else source, text=text)
