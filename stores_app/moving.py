"""Bringing a collection to where a connection leads: all of it is sent, held to what is here, then searched there.

Searches go on as before meanwhile, and so do writes: what changes waits with the rest. It may be cut off anywhere and
be called again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from collections_app.models import Chunk, Collection
from collections_app.services import DISTANCE_NAMES, lock_collection
from connections_app.opening import opened_store
from core_app.errors import Conflict, InvalidInput, NotFound
from core_app.providers import HeldCollection, Provider
from stores_app import placements
from stores_app.delivering import deliver
from stores_app.models import Outgoing, Placement
from stores_app.verifying import verify

#: So often it is looked for differences before it is given up: each time all of them are sent anew.
MOST_ROUNDS = 3

#: Told what is done, how many of how many chunks; may raise.
Told = Callable[[str, int, int], None]


class PlacementMover:
    """`core_app.moving.Mover` by placements."""

    def begin(self, *, collection_id: int, service: str, name_there: str) -> None:
        """Note where a collection is to be brought. Raises as `placements.begin`, and takes the write lock."""
        collection = lock_collection(collection_id=collection_id)
        placements.begin(collection=collection, service=service, name_there=name_there)

    def bring(self, *, collection_id: int, told: Told) -> Mapping[str, Any]:
        """Send, compare, switch; what came of it. Raises what the provider and `told` raise, Conflict, NotFound."""
        placement = _filling(collection_id)
        if placement is None:
            serving = Placement.objects.filter(collection_id=collection_id, state=Placement.State.SERVING)
            return {"service": serving.values_list("connection__name", flat=True).first() or ""}
        _make_there(placement)
        # What was not taken the last time may be now.
        Outgoing.objects.filter(placement=placement).exclude(refused="").update(refused="")
        for _ in range(MOST_ROUNDS):
            _send_all(placement, told)
            total = Chunk.objects.filter(collection_id=collection_id).count()
            found = verify(placement_id=placement.pk, told=partial(_compared, told, total))
            if not found.different and placements.serve(placement_id=placement.pk):
                return {
                    "service": placement.connection.name,
                    "name_there": placement.name_there,
                    "chunks": found.chunks,
                    "checksum": found.checksum,
                }
        raise Conflict(
            "What is there is still not what is here after three rounds. Look whether somebody else writes to the "
            "collection there, or try again when less is written here.",
            code="differs_there",
        )

    def withdraw(self, *, collection_id: int) -> bool:
        """Have it searched here again, in the caller's transaction; takes the write lock."""
        return placements.withdraw(collection=lock_collection(collection_id=collection_id))

    def give_up(self, *, collection_id: int) -> None:
        """Forget where it was to be brought. Takes no lock of the collection, so any may be held."""
        placements.give_up(collection_id=collection_id)


def _compared(told: Told, total: int, done: int) -> None:
    told("Comparing chunks", done, max(total, done))


def _filling(collection_id: int) -> Placement | None:
    return (
        Placement.objects.select_related("connection", "collection")
        .filter(collection_id=collection_id, state=Placement.State.FILLING)
        .first()
    )


def _make_there(placement: Placement) -> None:
    """See to it that there is an empty collection, or the one that was begun on."""
    if placement.is_ours:
        return
    collection, name = placement.collection, placement.name_there
    with opened_store(placement.connection) as provider:
        try:
            _create(provider, name, collection)
        except Conflict:
            _check_usable(provider.get_collection(name=name), collection, placement.connection.name)
            return
    Placement.objects.filter(pk=placement.pk).update(is_ours=True)
    placement.is_ours = True


def _create(provider: Provider, name: str, collection: Collection) -> None:
    distance = DISTANCE_NAMES[collection.distance]
    try:
        provider.create_collection(name=name, metadata=collection.metadata, distance=distance)
    except InvalidInput:
        # Its metadata are of no use to a search; a system that cannot hold them can hold the chunks.
        provider.create_collection(name=name, metadata={}, distance=distance)


def _check_usable(found: HeldCollection, collection: Collection, service: str) -> None:
    if found.distance != collection.distance:
        raise Conflict(
            f"There is a collection '{found.name}' at '{service}' with another distance. Choose another name there.",
            code="taken_there",
        )
    if found.count != 0:
        raise Conflict(
            f"There is a collection '{found.name}' at '{service}' that is not empty. Choose another name there.",
            code="taken_there",
        )


def _send_all(placement: Placement, told: Told) -> None:
    waiting = Outgoing.objects.filter(placement=placement, refused="")
    total, done = waiting.count(), 0
    told("Sending chunks", 0, total)
    while sent := deliver(placement_id=placement.pk):
        refused = Outgoing.objects.filter(placement=placement).exclude(refused="").order_by("pk").first()
        if refused is not None:
            raise InvalidInput(
                f"'{placement.connection.name}' does not take the chunk '{refused.external_id}': {refused.refused}",
                code="refused_there",
            )
        done += sent
        told("Sending chunks", min(done, total), max(total, done))
    if not Placement.objects.filter(pk=placement.pk).exists():
        raise NotFound("The collection is not brought there any more. Begin again.", code="placement_gone")
