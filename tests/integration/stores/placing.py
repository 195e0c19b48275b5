"""Collections that a file of SQLite searches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from collections_app.models import Collection
from connections_app.services import create_connection
from ingest_app.models import Job
from ingest_app.move_jobs import start_move
from stores_app.delivering import deliver
from stores_app.models import Placement
from stores_app.verifying import verify
from tests.integration.ingest.filling import work_off


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
