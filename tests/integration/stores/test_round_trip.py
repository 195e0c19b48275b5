"""A collection of 2,000 vectors goes from here to Milvus, to Chroma and back: the same ids and the same scores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collections_app.adding import NewChunk, add_chunks
from collections_app.services import create_collection
from connections_app.opening import close_all
from connections_app.services import create_connection
from core_app.where import Compare
from ingest_app.models import Job
from search_app.nearest import nearest
from tests.integration.stores.placing import differences, move

pytestmark = pytest.mark.django_db

COUNT, DIMENSION, TOP_K = 2000, 32, 20
GENERATOR = np.random.default_rng(17)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What was opened for rows that are gone after the test."""
    yield
    close_all()


@pytest.fixture
def systems(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    create_connection(name="milvus", provider="milvus", settings={"folder": "milvus"})
    create_connection(name="chroma", provider="chroma", settings={"folder": "chroma"})


Answers = list[list[tuple[str, float]]]


def answers(queries: Any) -> Answers:
    found = nearest(collection_name="c", queries=list(queries), top_k=TOP_K)
    found += nearest(collection_name="c", queries=list(queries), top_k=TOP_K, where=Compare("team", "$eq", "a"))
    return [[(one.id, one.score) for one in those] for those in found]


def test_the_same_wherever_it_is_searched(systems: None) -> None:
    create_collection(name="c")
    vectors = GENERATOR.standard_normal((COUNT, DIMENSION)).astype(np.float32)
    chunks = [
        NewChunk(external_id=f"id {n}", text=f"Text {n}.", metadata={"n": n, "team": "ab"[n % 2], "deep": {"x": [n]}})
        for n in range(COUNT)
    ]
    add_chunks(collection_name="c", chunks=chunks, embeddings=lambda: vectors)
    queries = GENERATOR.standard_normal((10, DIMENSION)).astype(np.float32)
    wanted = answers(queries)
    checksums = set()
    for service in ("milvus", "chroma"):
        job = move("c", service)
        assert (job.state, job.error) == (Job.State.SUCCEEDED, "")
        assert job.result is not None
        assert job.result["chunks"] == COUNT
        checksums.add(job.result["checksum"])
        assert differences("c") == 0
        _assert_same(answers(queries), wanted)
    assert len(checksums) == 1
    assert move("c", "built-in").state == Job.State.SUCCEEDED
    _assert_same(answers(queries), wanted)


def _assert_same(found: Answers, wanted: Answers) -> None:
    for those, these in zip(found, wanted, strict=True):
        assert [one for one, _ in those] == [one for one, _ in these]
        assert [score for _, score in those] == pytest.approx([score for _, score in these], abs=1e-5)
