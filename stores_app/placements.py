"""Where collections are searched: placements made, looked at, given up."""

from __future__ import annotations

from django.db import IntegrityError, connection, transaction

from access_app.audit import record
from collections_app.models import Collection
from collections_app.services import lock_collection, touch
from connections_app.models import Connection
from connections_app.opening import check_kind
from connections_app.registry import provider_named
from connections_app.services import get_connection
from core_app.errors import Conflict, InvalidInput, NotFound
from core_app.model_providers import ProviderKind
from core_app.names import is_collection_name
from core_app.providers import Capability
from core_app.sql import statement
from core_app.wiring import store
from stores_app.models import Outgoing, Placement
from stores_app.transfer import ROOM

#: The name of the store that searches collections in other systems.
CONNECTED = "connected"
#: What a system must be able to do for a collection to be searched there.
_NEEDED = (Capability.COLLECTIONS, Capability.SEARCH, Capability.UPSERT)


def begin(*, collection: Collection, service: str, name_there: str) -> Placement:
    """Note that a collection is to be searched at a connection, within a transaction that holds its write lock.

    Where that was begun before, it goes on. Raises NotFound for the connection, InvalidInput for one that cannot do
    it, Conflict where it is searched there already, or another collection is.
    """
    to = get_connection(name=service)
    check_fitting(to)
    if not is_collection_name(name_there):
        raise InvalidInput(f"'{name_there[:100]}' is no name of a collection.", code="invalid_name")
    placements = {one.state: one for one in Placement.objects.filter(collection=collection)}
    serving, filling = placements.get(Placement.State.SERVING), placements.get(Placement.State.FILLING)
    if serving is not None and serving.connection_id == to.pk:
        raise Conflict(f"The collection is searched at '{to.name}' already.", code="already_there")
    if filling is not None:
        if (filling.connection_id, filling.name_there) == (to.pk, name_there):
            return filling
        filling.delete()
    try:
        with transaction.atomic():
            made = Placement.objects.create(collection=collection, connection=to, name_there=name_there)
    except IntegrityError:
        raise Conflict(
            f"Another collection is searched as '{name_there}' at '{to.name}'. Choose another name there.",
            code="taken_there",
        ) from None
    collection.store = CONNECTED
    collection.save(update_fields=["store", "updated_at"])
    _mark_all(collection, made)
    return made


def check_fitting(to: Connection) -> None:
    """Raise InvalidInput where no collection can be searched at a connection, Unavailable where nothing works there."""
    check_kind(to, ProviderKind.STORE)
    lacking = [one for one in _NEEDED if one not in provider_named(to.provider).capabilities]
    if lacking:
        raise InvalidInput(
            f"No collection can be searched at '{to.name}': its provider lacks {', '.join(lacking)}.",
            code="not_supported",
        )


def _mark_all(collection: Collection, placement: Placement) -> None:
    if collection.active_generation_id is None:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            statement(ROOM, "mark_all_outgoing"),
            {
                "placement_id": placement.pk,
                "collection_id": collection.pk,
                "generation_id": collection.active_generation_id,
            },
        )


def serve(*, placement_id: int) -> bool:
    """Have a collection searched where it was brought, if all of it is there; False where something waits again.

    What it was searched by before is given up. Raises NotFound where that was given up meanwhile.
    """
    with transaction.atomic():
        placement = Placement.objects.filter(pk=placement_id).first()
        if placement is None:
            raise _gone()
        collection = lock_collection(collection_id=placement.collection_id)
        if Outgoing.objects.filter(placement=placement).exists():
            return False
        before = Placement.objects.filter(collection=collection, state=Placement.State.SERVING).first()
        where_before = before.connection.name if before else ""
        if before is not None:
            before.delete()
        Placement.objects.filter(pk=placement.pk).update(state=Placement.State.SERVING)
        touch(collection=collection)
        record(
            "collection.moved",
            collection,
            before={"service": where_before or store(collection.store).home},
            after={"service": placement.connection.name, "name_there": placement.name_there},
        )
    return True


def withdraw(*, collection: Collection) -> bool:
    """Have a collection searched here again, within a transaction that holds its write lock; False where it is."""
    placements = list(Placement.objects.select_related("connection").filter(collection=collection))
    if not placements:
        return False
    serving = [one for one in placements if one.state == Placement.State.SERVING]
    for placement in placements:
        placement.delete()
    home = store(collection.store).home
    collection.store = home
    collection.save(update_fields=["store", "updated_at"])
    touch(collection=collection)
    for one in serving:
        before = {"service": one.connection.name, "name_there": one.name_there}
        record("collection.moved", collection, before=before, after={"service": home})
    return True


def give_up(*, collection_id: int) -> None:
    """Forget where a collection was to be brought.

    It keeps the store that notes changes, which does no more than the built-in one where there is nobody to send to.
    """
    for filling in Placement.objects.filter(collection_id=collection_id, state=Placement.State.FILLING):
        filling.delete()


def _gone() -> NotFound:
    return NotFound("The collection is not brought there any more. Begin again.", code="placement_gone")
