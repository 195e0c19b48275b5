"""A store whose upkeep is told what to say, and collections that came to rest."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from collections_app.models import Collection, Generation
from collections_app.services import create_collection
from core_app.ports import IndexState, Space
from ingest_app.models import Job
from ingest_app.planning import QUIET

WANTED = IndexState(indexed=0, unindexed=20_000, wanted=True)
BUILT = IndexState(indexed=20_000, unindexed=0, wanted=False)
NOTHING = IndexState(indexed=0, unindexed=5, wanted=False)


class FakeStore:
    """Says of each collection what it is told to say, and notes what it is asked for."""

    def __init__(self) -> None:
        self.states: dict[int, IndexState] = {}
        self.asked: list[int] = []
        self.built: list[Space] = []
        self.reclaimed = 0
        #: Parts of word indexes that could be merged, by collection.
        self.parts: dict[int, int] = {}
        #: Called in the middle of a build, and of a reclaim.
        self.meanwhile: Callable[[], object] = lambda: None

    def index_state(self, *, space: Space) -> IndexState:
        self.asked.append(space.collection_id)
        return self.states[space.collection_id]

    def build_index(self, *, space: Space, check: Callable[[], None]) -> None:
        check()
        self.meanwhile()
        check()
        self.built.append(space)
        self.states[space.collection_id] = BUILT

    def fragments(self, *, collection_id: int) -> int:
        return self.parts.get(collection_id, 0)

    def compact(self, *, collection_id: int) -> int:
        merged = min(self.parts.get(collection_id, 0), 8)
        self.parts[collection_id] = self.parts.get(collection_id, 0) - merged
        return merged

    def reclaim(self, *, check: Callable[[str, int, int], None]) -> None:
        check("indexes", 0, 2)
        self.meanwhile()
        check("tables", 1, 2)
        self.reclaimed += 1


def make(fake: FakeStore, name: str = "c", state: IndexState = WANTED) -> Collection:
    """A collection that came to rest a while ago."""
    collection = create_collection(name=name)
    generation = Generation.objects.create(collection=collection, dimension=3, distance="cosine")
    rested = timezone.now() - 2 * QUIET
    Collection.objects.filter(pk=collection.pk).update(active_generation=generation, updated_at=rested)
    fake.states[collection.pk] = state
    return collection


def jobs(kind: str) -> list[Job]:
    return list(Job.objects.filter(kind=kind).order_by("created_at"))
