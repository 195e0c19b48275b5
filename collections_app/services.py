"""Writing collections: made, described, locked for a write, dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from access_app.audit import record
from collections_app.models import Collection, Distance, Generation
from collections_app.naming import claim_name, rename, set_aliases
from collections_app.selectors import CollectionSummary, get_collection, get_summary
from core_app.errors import Conflict, InvalidInput, NotFound
from core_app.ports import MAX_DIMENSION, DistanceName, Space
from core_app.sql import statement
from core_app.wiring import app_settings, embedder, store

DISTANCE_NAMES: dict[str, DistanceName] = {"cosine": "cosine", "l2": "l2", "ip": "ip"}


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
    if distance not in Distance.values:
        raise InvalidInput(f"distance must be one of: {', '.join(Distance.values)}.", code="invalid_distance")
    provider = app_settings().vector_database.provider
    check_language(language, provider=provider)
    with transaction.atomic():
        bound_waiting()
        claim_name(name)
        made = Collection.objects.create(
            name=name,
            metadata=dict(metadata or {}),
            distance=distance,
            language=language,
            chunking=dict(chunking or {}),
            store=provider,
        )
        record(
            "collection.created", made, after={"language": language, "distance": distance, "metadata": metadata or {}}
        )
        return made


def check_language(language: str, *, provider: str) -> None:
    """Raise InvalidInput where the store cannot index words of this language."""
    known = store(provider).languages
    if language not in known:
        raise InvalidInput(f"language: must be one of {', '.join(known)}.", code="unknown_language")


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


def get_or_plan_default(*, name: str) -> Collection:
    """As `get_or_create_default`, but the default one is not stored yet: what is asked may still be refused."""
    section = app_settings().vector_database
    if name == section.default_collection and not Collection.objects.filter(name=name).exists():
        return Collection(name=name, store=section.provider)
    return get_or_create_default(name=name)


def update_metadata(*, name: str, metadata: Mapping[str, Any], merge: bool = False) -> Collection:
    """Replace the metadata (A5.3) or, with `merge`, add and overwrite single keys (A8)."""
    with transaction.atomic():
        collection = lock_collection(collection_id=get_collection(name=name).pk)
        before = {"metadata": collection.metadata}
        collection.metadata = {**collection.metadata, **metadata} if merge else dict(metadata)
        collection.save(update_fields=["metadata", "updated_at"])
        record("collection.metadata_changed", collection, before=before, after={"metadata": collection.metadata})
        touch(collection=collection)
    return collection


def change_collection(
    *,
    name: str,
    new_name: str | None = None,
    keep_alias: bool = False,
    aliases: Sequence[str] | None = None,
    embedding_model: str | None = None,
) -> CollectionSummary:
    """Rename a collection, set its aliases, or say which model its callers' vectors were made with.

    With `keep_alias` calls under the old name go on to work. `aliases` replaces all of them before that.
    `embedding_model` must be the server's: then text is embedded for the collection from now on (README 7).
    Raises NotFound, Conflict for a name that is taken or a model that does not fit, InvalidInput.
    """
    with transaction.atomic():
        collection = lock_collection(collection_id=get_collection(name=name).pk)
        before = _described(collection)
        if aliases is not None:
            set_aliases(collection=collection, aliases=aliases)
        if new_name is not None:
            rename(collection=collection, name=new_name, keep_alias=keep_alias)
        if embedding_model is not None:
            _adopt_model(collection, embedding_model)
        record("collection.changed", collection, before=before, after=_described(collection))
        touch(collection=collection)
    return get_summary(name=collection.name)


def _described(collection: Collection) -> dict[str, Any]:
    """What `change_collection` can change, for the audit log."""
    generation = collection.active_generation
    return {
        "name": collection.name,
        "aliases": sorted(collection.alias_rows.values_list("name", flat=True)),
        "embedding_model": generation.embedding_model if generation else None,
    }


def _adopt_model(collection: Collection, model: str) -> None:
    source = embedder(collection.embedding_connection)
    if model != source.model:
        raise InvalidInput(
            f"embedding_model: this collection is embedded with '{source.model}' only. Send that, or change "
            f"{'its embedding connection' if collection.embedding_connection else 'Embedding:Model'}.",
            code="unknown_model",
        )
    generation = collection.active_generation
    if generation is None or (generation.embedding_connection, generation.embedding_model) == (
        source.connection,
        source.model,
    ):
        return  # the first text that is ingested fixes it
    if generation.embedding_model is not None or generation.dimension != source.dimension:
        raise Conflict(
            f"Collection '{collection.name}' holds vectors of {generation.embedding_model or 'its callers'} with "
            f"{generation.dimension} numbers; '{source.model}' makes {source.dimension}. Use another collection.",
            code="embedding_mismatch",
        )
    generation.embedding_connection, generation.embedding_model = source.connection, source.model
    generation.save(update_fields=["embedding_connection", "embedding_model"])


def delete_collection(*, name: str) -> None:
    """Drop a collection with its documents, chunks, vectors, words and jobs, in one transaction."""
    with transaction.atomic():
        collection = lock_collection(collection_id=get_collection(name=name).pk)
        if collection.name != name:
            raise Conflict(
                f"'{name}' is an alias of collection '{collection.name}'. Delete that, or take the alias away.",
                code="is_alias",
            )
        record("collection.deleted", collection, before={**_described(collection), "metadata": collection.metadata})
        collection.delete()


def lock_collection(*, collection_id: int) -> Collection:
    """Take the collection's write lock until the transaction ends.

    Every write holds it, so that merging, deleting and adding never see each other half done, and the
    dimension is settled once. Raises the database's LockNotAvailable when another write takes too long,
    and CollectionGone.
    """
    bound_waiting()
    collection = Collection.objects.select_for_update(no_key=True, of=("self",)).filter(pk=collection_id).first()
    if collection is None:
        raise CollectionGone
    return collection


def bound_waiting(*, seconds: float | None = None) -> None:
    """Have the rest of the transaction wait for no lock longer than so, or than the setting says."""
    timeout = int((app_settings().vector_database.lock_timeout_seconds if seconds is None else seconds) * 1000)
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "set_lock_timeout"), {"milliseconds": f"{timeout}ms"})


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
