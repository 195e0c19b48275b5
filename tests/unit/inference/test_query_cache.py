"""Query embeddings are computed once for each connection, model and text (A3.5)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from core_app.ports import QueryEngine, Vectors
from inference_app.services import CacheStatistics, QueryCache


class CountingEmbedder:
    """Remembers what it was asked for; the vector tells the texts apart."""

    dimension = 2
    query_engine = QueryEngine(name="counting")

    def __init__(self, connection: str = "local", model: str = "small") -> None:
        self.connection = connection
        self.model = model
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Vectors:
        self.asked.append(text)
        return np.array([len(text), len(self.model)], dtype=np.float32)

    @property
    def batch_size(self) -> int:
        return 1

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def warm_up(self) -> None:
        """Nothing to load."""

    def count_tokens(self, text: str) -> int:
        return len(text.split())


def test_a3_5_the_second_query_is_not_embedded_again() -> None:
    source, cache = CountingEmbedder(), QueryCache(size=10)
    first = cache.embed(source=source, text="hello")
    assert cache.embed(source=source, text="hello") is first
    assert source.asked == ["hello"]
    assert cache.statistics() == CacheStatistics(hits=1, misses=1, size=1)


def test_a3_5_a_hit_is_logged_with_connection_and_model(caplog: pytest.LogCaptureFixture) -> None:
    source, cache = CountingEmbedder("office", "large"), QueryCache(size=10)
    with caplog.at_level(logging.INFO, logger="inference_app.services"):
        cache.embed(source=source, text="hello")
        assert caplog.records == []
        cache.embed(source=source, text="hello")
    (record,) = caplog.records
    assert record.message == "embedding cache hit"
    assert record.__dict__["cache_key"] == "office:large"


def test_a3_5_connections_and_models_never_share_an_entry() -> None:
    sources = [CountingEmbedder(c, m) for c, m in (("a", "x"), ("a", "y"), ("b", "x"), ("a:x", ""), ("a", "x:"))]
    cache = QueryCache(size=10)
    for source in sources:
        cache.embed(source=source, text="hello")
    assert [source.asked for source in sources] == [["hello"]] * len(sources)
    assert cache.statistics().hits == 0


def test_texts_differ_to_the_last_character() -> None:
    source, cache = CountingEmbedder(), QueryCache(size=10)
    for text in ("tea", "Tea", "tea ", "té"):
        cache.embed(source=source, text=text)
    assert len(source.asked) == 4


def test_the_one_used_longest_ago_is_dropped_first() -> None:
    source, cache = CountingEmbedder(), QueryCache(size=2)
    for text in ("one", "two", "one", "three"):
        cache.embed(source=source, text=text)
    source.asked.clear()
    cache.embed(source=source, text="one")
    cache.embed(source=source, text="three")
    assert source.asked == []
    cache.embed(source=source, text="two")
    assert source.asked == ["two"]
    assert cache.statistics().size == 2


def test_a_size_of_zero_keeps_nothing() -> None:
    source, cache = CountingEmbedder(), QueryCache(size=0)
    for _ in range(3):
        cache.embed(source=source, text="hello")
    assert len(source.asked) == 3
    assert cache.statistics() == CacheStatistics(hits=0, misses=3, size=0)


def test_nobody_can_change_what_is_kept() -> None:
    vector = QueryCache(size=1).embed(source=CountingEmbedder(), text="hello")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 5


def test_a_failure_is_not_remembered() -> None:
    class Failing(CountingEmbedder):
        def embed_query(self, text: str) -> Vectors:
            super().embed_query(text)
            if len(self.asked) == 1:
                raise RuntimeError("the model is not there yet")
            return np.zeros(2, dtype=np.float32)

    source, cache = Failing(), QueryCache(size=1)
    with pytest.raises(RuntimeError):
        cache.embed(source=source, text="hello")
    assert cache.embed(source=source, text="hello").shape == (2,)
    assert cache.statistics().hits == 0


def test_many_threads_get_the_right_vectors_and_the_counts_add_up() -> None:
    source, cache = CountingEmbedder(), QueryCache(size=5)
    together = threading.Barrier(8)

    def work(number: int) -> bool:
        together.wait()
        return all(
            cache.embed(source=source, text="x" * length)[0] == length
            for length in [(number + step) % 9 + 1 for step in range(500)]
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    statistics = cache.statistics()
    assert statistics.hits + statistics.misses == 8 * 500
    assert statistics.misses == len(source.asked)
    assert statistics.size == 5
