"""What is Chroma's own: other programs' collections, other processes, names and folders."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from pydantic import ValidationError

from connections_app.providers.chroma import ChromaProvider
from connections_app.providers.chroma_records import decoded, encoded, replacing, superset
from connections_app.providers.chroma_settings import ChromaSettings
from core_app.errors import InvalidInput
from core_app.ports import Vectors
from core_app.providers import HeldChunk
from core_app.where import parse_where

#: As another process of this server would write.
WRITER = """
import sys, numpy as np, django
django.setup()
from connections_app.providers.chroma_engine import GRAPH
from connections_app.providers.chroma_folder import ChromaFolder
from pathlib import Path
folder = ChromaFolder(Path(sys.argv[1]))
found = folder.collection("shared")
folder.upsert(found, ids=["theirs"], embeddings=[[0.0, 0.0, 1.0]], metadatas=[None], documents=["theirs"])
folder.delete(found, ["mine"])
folder.close()
"""


@pytest.fixture
def provider(tmp_path: Path, settings: Any) -> Iterator[ChromaProvider]:
    settings.DATA_DIR = tmp_path
    made = ChromaProvider(ChromaSettings(folder="own"))
    yield made
    made.close()


def row(*numbers: float) -> Vectors:
    return np.asarray([numbers], dtype=np.float32)


def test_a_collection_of_another_program_is_read_and_searched(provider: ChromaProvider, tmp_path: Path) -> None:
    folder = tmp_path / "connections" / "own"
    client: Any = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
    theirs = client.create_collection("theirs", metadata={"hnsw:space": "cosine", "owner": "x"})
    theirs.add(
        ids=["a", "b", "c"],
        embeddings=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
        metadatas=[{"n": 1, "tag": "x"}, {"n": 2.5}, None],
        documents=["first", "second", "third"],
    )
    theirs.add(ids=["d"], embeddings=[[-1.0, 0.0]])
    client.close()
    found = provider.get_collection(name="theirs")
    assert (found.distance, found.count, found.dimension) == ("cosine", 4, 2)
    assert found.metadata["owner"] == "x"
    listed = provider.list_chunks(name="theirs", where=None, limit=10, offset=0, with_embeddings=True)
    assert [(one.id, one.text, dict(one.metadata)) for one in listed.chunks] == [
        ("a", "first", {"n": 1, "tag": "x"}),
        ("b", "second", {"n": 2.5}),
        ("c", "third", {}),
        ("d", "", {}),
    ]
    near = provider.nearest(name="theirs", queries=row(1, 0), limit=2, where=None)[0]
    assert [one.chunk.id for one in near] == ["a", "c"]
    where = parse_where({"$or": [{"tag": "x"}, {"n": {"$gt": 2}}]})
    assert [one.chunk.id for one in provider.nearest(name="theirs", queries=row(0, 1), limit=5, where=where)[0]] == [
        "b",
        "a",
    ]


def test_what_another_process_writes_is_found(provider: ChromaProvider, tmp_path: Path) -> None:
    """Chroma itself would go on to search what it has in memory."""
    provider.create_collection(name="shared", metadata={}, distance="l2")
    vectors = np.random.default_rng(3).normal(size=(50, 3)).astype(np.float32)
    provider.add(
        name="shared",
        chunks=[HeldChunk(id=f"{n}", text="t", metadata={}, embedding=one * 9) for n, one in enumerate(vectors)]
        + [HeldChunk(id="mine", text="mine", metadata={}, embedding=np.array([0, 0, 1], dtype=np.float32))],
    )
    assert provider.nearest(name="shared", queries=row(0, 0, 1), limit=1, where=None)[0][0].chunk.id == "mine"
    folder = tmp_path / "connections" / "own"
    subprocess.run([sys.executable, "-c", WRITER, str(folder)], check=True, timeout=60)
    assert provider.nearest(name="shared", queries=row(0, 0, 1), limit=1, where=None)[0][0].chunk.id == "theirs"
    assert provider.get_collection(name="shared").count == 51


def test_two_connections_to_one_folder_see_the_same(provider: ChromaProvider) -> None:
    other = ChromaProvider(ChromaSettings(folder="own"))
    provider.create_collection(name="both", metadata={}, distance="ip")
    other.close()
    assert [one.name for one in provider.list_collections(limit=None, offset=0).collections] == ["both"]


@pytest.mark.parametrize("name", ["a b", "ä", "x", "ragsite-0", "name."])
def test_names_that_chroma_cannot_have(provider: ChromaProvider, name: str) -> None:
    provider.create_collection(name=name, metadata={"a": {"b": 1}}, distance="cosine")
    assert [one.name for one in provider.list_collections(limit=None, offset=0).collections] == [name]
    assert provider.update_metadata(name=name, metadata={}, merge=False) == {}
    found = provider.get_collection(name=name)
    assert (found.name, dict(found.metadata)) == (name, {})
    provider.delete_collection(name=name)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    folder = tmp_path / "connections" / "notes"
    folder.mkdir(parents=True)
    (folder / "diary.txt").write_text("mine")
    other = ChromaProvider(ChromaSettings(folder="notes"))
    with pytest.raises(InvalidInput):
        other.list_collections(limit=None, offset=0)
    assert not other.health_check().is_healthy
    assert sorted(one.name for one in folder.iterdir()) == ["diary.txt"]
    other.close()


@pytest.mark.parametrize(
    "given",
    [{}, {"folder": "a", "url": "http://x"}, {"url": "ftp://x"}, {"url": "http://u:p@x"}, {"folder": "../x"}],
)
def test_settings_that_lead_nowhere_are_refused(tmp_path: Path, settings: Any, given: dict[str, Any]) -> None:
    settings.DATA_DIR = tmp_path
    with pytest.raises(ValidationError):
        ChromaSettings(**given)


def test_what_chroma_cannot_hold_comes_back() -> None:
    metadata = {"a": {"b": [1, None]}, "n": None, "big": 2**70, "l": [1, "x"], "e": [], "": 1, "ragsite.x": 1, "s": "t"}
    native = encoded(metadata)
    assert native["s"] == "t"
    assert set(native) == {"s", "ragsite.metadata", "ragsite.partial"}
    assert decoded(native) == metadata
    assert decoded(None) == {}
    assert replacing({"old": 1, "s": "x"}, {"s": "t"}) == {"old": None, "s": "t"}
    assert replacing(None, {}) is None


@pytest.mark.parametrize(
    ("where", "narrowed"),
    [
        ({"a": "x"}, {"a": {"$eq": "x"}}),
        ({"a": "x", "n": {"$gt": 1}}, {"a": {"$eq": "x"}}),
        ({"$or": [{"a": "x"}, {"b": {"$in": ["y", "z"]}}]}, {"$or": [{"a": {"$eq": "x"}}, {"b": {"$in": ["y", "z"]}}]}),
        ({"$or": [{"a": "x"}, {"n": 1}]}, None),
        ({"a": {"$ne": "x"}}, None),
        ({"$not": {"a": "x"}}, None),
        ({"#document": {"$contains": "x"}}, None),
        ({"ragsite.partial": True}, None),
    ],
)
def test_chroma_narrows_and_never_decides(where: dict[str, Any], narrowed: dict[str, Any] | None) -> None:
    wanted = None if narrowed is None else {"$or": [narrowed, {"ragsite.partial": {"$eq": True}}]}
    tree = parse_where(where)
    assert tree is not None
    assert superset(tree) == wanted
