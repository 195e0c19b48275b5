"""Making a collection here of one that another system holds: searched there, never written."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from access_app.audit import record
from collections_app.models import Collection, Generation
from collections_app.services import change_collection, create_collection
from connections_app.models import Connection
from connections_app.opening import opened_store
from connections_app.services import get_connection
from core_app.errors import Conflict, InvalidInput
from core_app.ports import MAX_DIMENSION
from core_app.providers import Capability, HeldCollection
from stores_app.models import Placement

#: The name of the store that reads what other systems hold.
ATTACHED = "attached"


def attach_collection(*, service: str, name_there: str, name: str, embedding_model: str | None = None) -> Collection:
    """A collection `name` that stands for one of a connection.

    It is found by text where `embedding_model`, which must be the server's, made its vectors. Raises NotFound for the
    connection and the collection there, InvalidInput for a provider that cannot search, Conflict for a name that is
    taken, one that is attached already, or one whose dimension is not known, and what the other system does.
    """
    to = get_connection(name=service)
    there = _looked_at(to, name_there)
    if there.dimension is None or not 0 < there.dimension <= MAX_DIMENSION:
        raise Conflict(
            f"How many numbers the vectors of '{name_there}' have is not known at '{service}'. Put something into it "
            "there first.",
            code="dimension_unknown",
        )
    with transaction.atomic():
        made = create_collection(name=name, distance=there.distance)
        made.store = ATTACHED
        made.active_generation = Generation.objects.create(
            collection=made, dimension=there.dimension, distance=there.distance
        )
        made.save(update_fields=["store", "active_generation"])
        _place(made, to, name_there)
        record("collection.attached", made, after={"service": to.name, "name_there": name_there})
        if embedding_model is not None:
            change_collection(name=name, embedding_model=embedding_model)
    return Collection.objects.select_related("active_generation").get(pk=made.pk)


def _looked_at(to: Connection, name_there: str) -> HeldCollection:
    with opened_store(to) as provider:
        if Capability.SEARCH not in provider.capabilities:
            raise InvalidInput(f"The provider of '{to.name}' cannot search.", code="not_supported")
        return provider.get_collection(name=name_there)


def _place(made: Collection, to: Connection, name_there: str) -> None:
    try:
        with transaction.atomic():
            Placement.objects.create(
                collection=made, connection=to, name_there=name_there, state=Placement.State.SERVING
            )
    except IntegrityError:
        raise Conflict(
            f"Another collection here stands for '{name_there}' of '{to.name}', or is searched there.",
            code="taken_there",
        ) from None
