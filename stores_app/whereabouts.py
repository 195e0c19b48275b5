"""Where a collection is searched and where it is brought, for people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from collections_app.models import Collection
from collections_app.selectors import get_collection
from connections_app.services import BUILT_IN
from stores_app.attaching import ATTACHED
from stores_app.models import Outgoing, Placement


@dataclass(frozen=True, kw_only=True)
class Described:
    """One place where a collection is searched, or about to be."""

    service: str
    name_there: str
    state: str
    #: Changes that were not sent yet, and chunks that the other system does not take.
    waiting: int = 0
    refused: int = 0
    #: Why the last changes could not be sent, or the first chunk was refused; empty where all is well.
    problem: str = ""
    next_try_at: datetime | None = None
    delivered_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Whereabouts:
    """All that there is to say of one collection."""

    searched: Described
    moving_to: Described | None
    is_held_here: bool


def whereabouts(*, name: str) -> Whereabouts:
    """Raises NotFound."""
    collection = get_collection(name=name)
    rows = Placement.objects.select_related("connection").filter(collection_id=collection.pk)
    placed = {row.state: _described(row) for row in rows}
    here = Described(service=BUILT_IN, name_there=collection.name, state=Placement.State.SERVING)
    return Whereabouts(
        searched=placed.get(Placement.State.SERVING, here),
        moving_to=placed.get(Placement.State.FILLING),
        is_held_here=collection.store != ATTACHED,
    )


def troubled() -> Sequence[tuple[Collection, Described]]:
    """The collections whose changes cannot be sent, or whose chunks are refused, by name."""
    rows = Placement.objects.select_related("connection", "collection").order_by("collection__name")
    found = [(row.collection, _described(row)) for row in rows]
    return [(collection, place) for collection, place in found if place.problem]


def searched_at(*, connection_id: int) -> list[str]:
    """The names of the collections that are searched at a connection, or about to be."""
    rows = Placement.objects.filter(connection_id=connection_id).order_by("collection__name")
    return list(rows.values_list("collection__name", flat=True))


def _described(placement: Placement) -> Described:
    waiting = Outgoing.objects.filter(placement=placement)
    refused = waiting.exclude(refused="")
    first = refused.order_by("pk").values_list("external_id", "refused").first()
    return Described(
        service=placement.connection.name,
        name_there=placement.name_there,
        state=placement.state,
        waiting=waiting.filter(refused="").count(),
        refused=refused.count(),
        problem=placement.problem or (f"'{first[0]}' is not taken: {first[1]}" if first else ""),
        next_try_at=placement.next_try_at,
        delivered_at=placement.delivered_at,
    )
