"""Calls on the provider that a connection names; what changes something there is in the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from django.db import connection as database
from django.db import transaction

from access_app.audit import record
from connections_app.models import Connection
from connections_app.opening import opened_store
from connections_app.services import get_connection
from core_app.ports import DistanceName, Vectors
from core_app.providers import HeldChunk, HeldCollection, Provider, RankedText, RerankingProvider
from core_app.where import Where


@contextmanager
def provider_of(*, service: str) -> Iterator[Provider]:
    """The provider of a connection. Raises NotFound, and whatever `opened` raises."""
    with _asked(get_connection(name=service)) as provider:
        yield provider


@contextmanager
def _asked(connection: Connection) -> Iterator[Provider]:
    if not database.in_atomic_block:
        # Back to the pool: a dozen who wait for a far side must not keep everybody else from the database.
        database.close()
    with opened_store(connection) as provider:
        yield provider


def create_collection(
    *, service: str, name: str, metadata: Mapping[str, Any], distance: DistanceName
) -> HeldCollection:
    """A new collection there."""
    connection = get_connection(name=service)
    with _asked(connection) as provider:
        made = provider.create_collection(name=name, metadata=metadata, distance=distance)
    _note("service.collection_created", connection, name, {"metadata": dict(metadata), "distance": distance})
    return made


def update_metadata(*, service: str, name: str, metadata: Mapping[str, Any], merge: bool) -> Mapping[str, Any]:
    """The metadata as it is then."""
    connection = get_connection(name=service)
    with _asked(connection) as provider:
        changed = provider.update_metadata(name=name, metadata=metadata, merge=merge)
    _note("service.metadata_changed", connection, name, {"metadata": dict(metadata), "merged": merge})
    return changed


def delete_collection(*, service: str, name: str) -> None:
    """With all that is in it."""
    connection = get_connection(name=service)
    with _asked(connection) as provider:
        provider.delete_collection(name=name)
    _note("service.collection_deleted", connection, name)


def add(*, service: str, name: str, chunks: Sequence[HeldChunk]) -> None:
    """Chunks with their embeddings; an id that exists is replaced."""
    connection = get_connection(name=service)
    with _asked(connection) as provider:
        provider.add(name=name, chunks=chunks)
    _note("service.chunks_added", connection, name, {"count": len(chunks)})


def change_chunk(
    *,
    service: str,
    name: str,
    chunk_id: str,
    metadata: Mapping[str, Any] | None,
    text: str | None,
    embedding: Vectors | None,
) -> HeldChunk:
    """Merge metadata, replace a text with its embedding."""
    connection = get_connection(name=service)
    with _asked(connection) as provider:
        changed = provider.change_chunk(name=name, chunk_id=chunk_id, metadata=metadata, text=text, embedding=embedding)
    _note("service.chunk_changed", connection, name, {"id": chunk_id, "metadata": metadata, "text": text})
    return changed


def delete_chunks(*, service: str, name: str, ids: Sequence[str] | None, where: Where | None) -> int:
    """How many are gone."""
    connection = get_connection(name=service)
    with _asked(connection) as provider:
        deleted = provider.delete_chunks(name=name, ids=ids, where=where)
    _note("service.chunks_deleted", connection, name, {"count": deleted})
    return deleted


def empty(*, service: str, name: str) -> int:
    """All chunks go, the collection stays; how many there were."""
    connection = get_connection(name=service)
    with _asked(connection) as provider:
        deleted = provider.empty(name=name)
    _note("service.collection_emptied", connection, name, {"count": deleted})
    return deleted


def rerank(*, service: str, query: str, texts: Sequence[str], top_k: int | None) -> Sequence[RankedText]:
    """Texts, best first. Raises InvalidInput where the provider puts nothing in order."""
    with provider_of(service=service) as provider:
        # What does not declare it is refused there, before the call.
        return cast("RerankingProvider", provider).rerank(query=query, texts=texts, top_k=top_k)


def _note(action: str, connection: Connection, name: str, after: Mapping[str, Any] | None = None) -> None:
    """Once it was done: the far side takes no part in a transaction of ours."""
    with transaction.atomic():
        record(action, connection, collection=name, name=f"{connection.name}: {name}", after=after)
