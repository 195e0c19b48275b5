"""Which embedder a collection has: the server's own, or that of a connection (docs/connections.md)."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext as _

from access_app.audit import record
from collections_app.models import Chunk, Collection, Generation
from collections_app.selectors import get_collection
from collections_app.services import lock_collection, touch
from connections_app.opening import check_kind
from connections_app.services import BUILT_IN, get_connection
from core_app.errors import Conflict, RagsiteError
from core_app.model_providers import ProviderKind
from core_app.ports import Embedder
from core_app.wiring import app_settings, embedder


@dataclass(frozen=True, kw_only=True)
class EmbeddingChoice:
    """What embeds a collection's texts and the queries for it."""

    #: The connection's name; `built-in` for the server's own embedder.
    connection: str
    #: The model that it embeds with; empty where it cannot be used.
    model: str
    #: Components of the collection's vectors; None while it has none.
    dimension: int | None
    #: Why it cannot be used for this collection, and what to do; empty where it can.
    reason: str = ""


def embedder_of(collection: Collection) -> Embedder:
    """Raises Unavailable for a connection that is gone or cannot be used, and InvalidInput for one of another kind."""
    return embedder(collection.embedding_connection)


def chosen_connection(collection: Collection) -> str:
    """As its vectors keep it: the configured embedder has a name, too."""
    return collection.embedding_connection or app_settings().embedding.connection


def has_made_vectors(source: Embedder, generation: Generation) -> bool:
    """Whether the vectors of a generation are of this connection and model."""
    return (generation.embedding_connection, generation.embedding_model) == (source.connection, source.model)


def embedding_choice(*, name: str) -> EmbeddingChoice:
    """What a collection is embedded with. Asks no service. Raises NotFound."""
    return _choice(get_collection(name=name))


def choose_embedding(*, name: str, connection: str) -> EmbeddingChoice:
    """Embed a collection's texts, and the queries for it, by a connection from now on; `built-in` is the server's own.

    Asks the service for its dimension where the collection's callers sent vectors. Raises NotFound for a collection or
    a connection that is not there, InvalidInput for one of another kind, Unavailable for one that cannot be used, and
    Conflict where the collection holds vectors of another model (`embedding_mismatch`) or length
    (`dimension_mismatch`).
    """
    chosen = "" if connection == BUILT_IN else connection
    if chosen:
        check_kind(get_connection(name=chosen), ProviderKind.EMBEDDINGS)
    source = embedder(chosen)
    # Before the lock: a service may take its time.
    generation = get_collection(name=name).active_generation
    dimension = source.dimension if generation is not None and generation.embedding_model is None else None
    with transaction.atomic():
        collection = lock_collection(collection_id=get_collection(name=name).pk)
        _make_fit(collection, source, dimension)
        before = {"embedding_connection": collection.embedding_connection or BUILT_IN}
        collection.embedding_connection = chosen
        collection.save(update_fields=["embedding_connection", "active_generation", "updated_at"])
        record("collection.changed", collection, before=before, after={"embedding_connection": chosen or BUILT_IN})
        touch(collection=collection)
    return _choice(collection)


def _make_fit(collection: Collection, source: Embedder, dimension: int | None) -> None:
    """An empty set of vectors of another model is dropped. Raises Conflict where there are vectors that do not fit."""
    generation = collection.active_generation
    if generation is None or has_made_vectors(source, generation):
        return
    if not Chunk.objects.filter(collection=collection).exists():
        collection.active_generation = None
        Generation.objects.filter(collection=collection).delete()
        return
    if generation.embedding_model is not None:
        raise Conflict(
            f"Collection '{collection.name}' holds vectors of '{generation.embedding_model}' by "
            f"'{generation.embedding_connection}'. Empty it first, or use another collection.",
            code="embedding_mismatch",
        )
    if dimension != generation.dimension:
        raise Conflict(
            f"Collection '{collection.name}' holds its callers' vectors with {generation.dimension} numbers; "
            f"'{source.model}' makes {dimension}. Use another collection or another model.",
            code="dimension_mismatch",
        )


def _choice(collection: Collection) -> EmbeddingChoice:
    generation = collection.active_generation
    chosen = collection.embedding_connection or BUILT_IN
    dimension = generation.dimension if generation else None
    try:
        source = embedder_of(collection)
    except RagsiteError as error:
        return EmbeddingChoice(connection=chosen, model="", dimension=dimension, reason=error.detail)
    reason = ""
    if generation is not None and not has_made_vectors(source, generation):
        reason = _(
            "Its vectors are of %(model)s, and '%(ours)s' embeds for it. It is searched by words alone until it is "
            "emptied, or its model is named by `embedding_model` of PATCH /collections/{name}."
        ) % {"model": generation.embedding_model or _("its callers"), "ours": source.model}
    return EmbeddingChoice(connection=chosen, model=source.model, dimension=dimension, reason=reason)
