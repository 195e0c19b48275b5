"""Collections that a file of SQLite searches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collections_app.adding import NewChunk, add_chunks
from collections_app.models import Collection
from collections_app.services import create_collection
from connections_app.services import create_connection
from core_app.where import Where
from ingest_app.models import Job
from ingest_app.move_jobs import start_move
from search_app.nearest import Neighbour, nearest
from stores_app.delivering import deliver
from stores_app.models import Placement
from stores_app.verifying import verify
from tests.integration.ingest.filling import work_off

DIMENSION = 6
GENERATOR = np.random.default_rng(5)


def connect(settings: Any, folder: Path, *names: str) -> None:
    """A connection to a file of its own for each name."""
    settings.DATA_DIR = folder
    for name in names:
        create_connection(name=name, provider="sqlite", settings={"file": f"{name}.db"})


def move(name: str, to: str, *, name_there: str = "") -> Job:
    """The job that moved a collection."""
    return work_off(start_move(name=name, service=to, name_there=name_there))


def placement_of(name: str) -> Placement:
    return Placement.objects.get(collection__name=name, state=Placement.State.SERVING)


def deliver_all(name: str) -> None:
    """Send all that waits."""
    key = placement_of(name).pk
    while deliver(placement_id=key):
        pass


def differences(name: str) -> int:
    """How many chunks are not there as they are here, or are there and not here."""
    return verify(placement_id=placement_of(name).pk, told=lambda _: None).different


def store_of(name: str) -> str:
    return Collection.objects.get(name=name).store


def filled(name: str = "c", count: int = 40) -> Collection:
    made = create_collection(name=name)
    put(name, *(f"{number}" for number in range(count)))
    return made


def put(name: str, *ids: str, dimension: int = DIMENSION) -> None:
    chunks = [NewChunk(external_id=one, text=f"Passage {one}.", metadata={"n": len(one), "id": one}) for one in ids]
    vectors = GENERATOR.standard_normal((len(ids), dimension)).astype(np.float32)
    add_chunks(collection_name=name, chunks=chunks, embeddings=lambda: vectors)


def near(query: Any, *, name: str = "c", top_k: int = 10, where: Where | None = None) -> list[Neighbour]:
    return nearest(collection_name=name, queries=[np.asarray(query, np.float32)], top_k=top_k, where=where)[0]


def here_and_there(query: Any, **more: Any) -> tuple[list[Neighbour], list[Neighbour]]:
    """What is found, and what is found where all vectors are compared here."""
    found = near(query, **more)
    Collection.objects.update(store="pgvector")
    wanted = near(query, **more)
    Collection.objects.update(store=connected_name())
    return found, wanted


def connected_name() -> str:
    return "connected"


def assert_same(**more: Any) -> None:
    for query in GENERATOR.standard_normal((4, DIMENSION)):
        found, wanted = here_and_there(query, **more)
        assert [one.id for one in found] == [one.id for one in wanted]
        assert [one.score for one in found] == pytest.approx([one.score for one in wanted], abs=1e-5)
