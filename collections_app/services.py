"""Writing collections: made, described, locked for a write, dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone

from collections_app.models import Collection, Distance, Generation
from collections_app.selectors import get_collection
from core_app.errors import Conflict, InvalidInput, NotFound
from core_app.names import RULE, is_collection_name
from core_app.ports import DistanceName, Space
from core_app.sql import statement
from core_app.wiring import app_settings

DISTANCE_NAMES: dict[str, DistanceName] = {"cosine": "cosine", "l2": "l2", "ip": "ip"}
MAX_DIMENSION = 16_000  # what pgvector's `vector` type can hold


class CollectionGone(NotFound):
    """The collection was there when the work began and is not any more."""

    code = "collection_not_found"

    def __init__(self) -> None:
        super().__init__("The collection was deleted meanwhile. Make it again, or choose another.")


def create_collection(
    *,
    name: str,
    metadata: Mapping[str, Any] | None = None,
    distance: str = Distance.COSINE,
    language: str = "english",
    chunking: Mapping[str, Any] | None = None,
) -> Collection:
    """A new, empty collection. Raises Conflict when the name is taken, InvalidInput when it is no name."""
    if not is_collection_name(name):
        raise InvalidInput(RULE, code="invalid_name")
    if distance not in Distance.values:
        raise InvalidInput(f"distance must be one of: {', '.join(Distance.values)}.", code="invalid_distance")
    try:
        with transaction.atomic():
            return Collection.objects.create(
                name=name,
                metadata=dict(metadata or {}),
                distance=distance,
                language=language,
                chunking=dict(chunking or {}),
                store=app_settings().vector_database.provider,
            )
    except IntegrityError:
        raise Conflict(
            f"Collection '{name}' already exists. Choose another name or delete it first.", code="collection_exists"
        ) from None


def get_or_create_default(*, name: str) -> Collection:
    """The named collection; the configured default one is created at first use (B8.2)."""
    if name != app_settings().vector_database.default_collection:
        return get_collection(name=name)
    found = Collection.objects.filter(name=name).first()
    if found is not None:
        return found
    try:
        return create_collection(name=name)
    except Conflict:
        return get_collection(name=name)


def update_metadata(*, name: str, metadata: Mapping[str, Any], merge: bool = False) -> Collection:
    """Replace the metadata (A5.3) or, with `merge`, add and overwrite single keys (A8)."""
    with transaction.atomic():
        collection = lock_collection(collection_id=get_collection(name=name).pk)
        collection.metadata = {**collection.metadata, **metadata} if merge else dict(metadata)
        collection.save(update_fields=["metadata", "updated_at"])
        touch(collection=collection)
    return collection


def delete_collection(*, name: str) -> None:
    """Drop a collection with its documents, chunks, vectors, words and jobs, in one transaction."""
    with transaction.atomic():
        collection = lock_collection(collection_id=get_collection(name=name).pk)
        collection.delete()


def lock_collection(*, collection_id: int) -> Collection:
    """Take the collection's write lock until the transaction ends.

    Every write holds it, so that merging, deleting and adding never see each other half done, and the
    dimension is settled once. Raises the database's LockNotAvailable when another write takes too long,
    and CollectionGone.
    """
    timeout = int(app_settings().vector_database.lock_timeout_seconds * 1000)
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "set_lock_timeout"), {"milliseconds": f"{timeout}ms"})
    collection = Collection.objects.select_for_update(no_key=True, of=("self",)).filter(pk=collection_id).first()
    if collection is None:
        raise CollectionGone
    return collection


def touch(*, collection: Collection) -> None:
    """Note that the content changed: nothing that was cached for the old version is used."""
    Collection.objects.filter(pk=collection.pk).update(version=F("version") + 1, updated_at=timezone.now())
    collection.refresh_from_db(fields=["version", "updated_at"])


def writable_space(
    *, collection: Collection, embedding_connection: str | None, embedding_model: str | None, dimension: int
) -> Space:
    """The space new vectors go to; the first write fixes model and dimension. Needs the write lock.

    Raises Conflict when the collection's vectors come from another model or have another dimension.
    """
    if not 1 <= dimension <= MAX_DIMENSION:
        raise InvalidInput(f"Embeddings have 1 to {MAX_DIMENSION} components.", code="invalid_dimension")
    generation = collection.active_generation
    if generation is None:
        generation = Generation.objects.create(
            collection=collection,
            embedding_connection=embedding_connection,
            embedding_model=embedding_model,
            dimension=dimension,
            distance=collection.distance,
        )
        collection.active_generation = generation
        collection.save(update_fields=["active_generation", "updated_at"])
    elif (
        generation.dimension != dimension
        or generation.embedding_model != embedding_model
        or generation.embedding_connection != embedding_connection
    ):
        raise Conflict(
            f"Collection '{collection.name}' holds vectors of {generation.embedding_model or 'a caller'} with "
            f"{generation.dimension} components; these are of {embedding_model or 'a caller'} with {dimension}. "
            "Use another collection or the same model.",
            code="embedding_mismatch",
        )
    return space_of(generation)


def space_of(generation: Generation) -> Space:
    """A generation as the stores know it."""
    return Space(
        collection_id=generation.collection_id,
        generation_id=generation.pk,
        dimension=generation.dimension,
        distance=DISTANCE_NAMES[generation.distance],
    )
