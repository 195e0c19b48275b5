"""Which connector a document belongs to: what one brought, another of the collection does not take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from collections_app.models import Document
from core_app.errors import Conflict
from ingest_app.models import Connector


def other_origins(*, collection_id: int, origin: str) -> Sequence[str]:
    """The marks of the collection's other connectors."""
    others = Connector.objects.filter(collection_id=collection_id).exclude(origin=origin)
    return list(others.values_list("origin", flat=True))


def taken_names(*, collection_id: int, origin: str, names: Iterable[str]) -> set[str]:
    """Those of these names whose documents came from another connector of the collection."""
    others = other_origins(collection_id=collection_id, origin=origin)
    if not origin or not others:
        return set()
    taken = Document.objects.filter(collection_id=collection_id, source__in=list(names), origin__in=others)
    return set(taken.values_list("source", flat=True))


def check_free(*, collection_id: int, origin: str, name: str) -> None:
    """Raise Conflict where the document of this name came from another connector of the collection."""
    if taken_names(collection_id=collection_id, origin=origin, names=[name]):
        raise taken_by_another()


def taken_by_another() -> Conflict:
    """What a file fails with whose name is taken."""
    return Conflict(
        "Another connector of this collection has a file of this name. Give one of them a prefix.",
        code="taken_by_another",
    )
