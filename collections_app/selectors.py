"""Reading collections, documents and chunks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from django.db import connection
from django.db.models import IntegerField, JSONField, Model, OuterRef, QuerySet, Subquery
from django.db.models.aggregates import Count
from django.db.models.functions import Coalesce
from psycopg import sql

from collections_app.context import indexed_text
from collections_app.models import Alias, Chunk, Collection, Document, Generation
from core_app.cursors import Preparing, server_side
from core_app.errors import InvalidInput, NotFound
from core_app.names import RULE, is_collection_name
from core_app.sql import statement
from core_app.wiring import store

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, kw_only=True)
class CollectionSummary:
    """A collection with the number of its chunks."""

    collection: Collection
    count: int
    aliases: Sequence[str] = ()

    @property
    def dimension(self) -> int | None:
        """Components of the vectors; None while there are none, although the model stays fixed."""
        generation = self.collection.active_generation
        return generation.dimension if generation and self.count else None


class ChunkTotal(TypedDict):
    """The number of chunks that a collection is annotated with."""

    chunk_total: int


def collection_not_found(name: str) -> NotFound:
    return NotFound(f"Collection '{name}' not found", code="collection_not_found")


def get_collections(*, names: Sequence[str]) -> list[Collection]:
    """As `get_collection` for each of them, in their order, in two statements at most."""
    if len(names) == 1 or not all(map(is_collection_name, names)):
        return [get_collection(name=name) for name in names]
    rows = Collection.objects.select_related("active_generation")
    found = {row.name: row for row in rows.filter(name__in=names)}
    if others := [name for name in names if name not in found]:
        aliases = Alias.objects.select_related("collection__active_generation").filter(name__in=others)
        found |= {alias.name: alias.collection for alias in aliases}
    for name in names:
        if name not in found:
            raise collection_not_found(name)
    return [found[name] for name in names]


def get_collection(*, name: str) -> Collection:
    """The collection of this name or alias, with its active generation.

    Raises NotFound, and InvalidInput for what cannot be a name.
    """
    if not is_collection_name(name):
        raise InvalidInput(RULE, code="invalid_name")
    # Written out: every search begins with it, and Django takes a millisecond to write it.
    with server_side(Preparing) as cursor:
        cursor.execute(_by_name(), {"name": name})
        row = cursor.fetchone()
    if row is None:
        raise collection_not_found(name)
    width = len(Collection._meta.concrete_fields)
    collection = _instance(Collection, row[:width])
    collection.active_generation = (
        None if collection.active_generation_id is None else _instance(Generation, row[width:])
    )
    return collection


def get_held(*, name: str) -> Collection:
    """The same for who wants its documents or chunks. Raises Conflict where another system holds them alone."""
    collection = get_collection(name=name)
    store(collection.store).check_rows(collection_id=collection.pk)
    return collection


@cache
def _by_name() -> str:
    columns = [
        sql.Identifier(table, field.attname)
        for table, model in (("collection", Collection), ("generation", Generation))
        for field in model._meta.concrete_fields
    ]
    asked = sql.SQL(statement("collections_app", "collection_by_name"))
    return asked.format(columns=sql.SQL(", ").join(columns)).as_string()


def _instance(model: type[Row], values: Sequence[Any]) -> Row:
    """A row as Django would make it of its columns, in the model's order."""
    fields = model._meta.concrete_fields
    given = zip(fields, values, strict=True)
    read = [json.loads(value) if isinstance(field, JSONField) else value for field, value in given]
    return model.from_db(connection.alias, [field.attname for field in fields], read)


def get_summary(*, name: str) -> CollectionSummary:
    """One collection with its count. Raises NotFound."""
    collection = get_collection(name=name)
    return CollectionSummary(
        collection=collection,
        count=Chunk.objects.filter(collection=collection).count(),
        aliases=list(Alias.objects.filter(collection=collection).values_list("name", flat=True)),
    )


def list_summaries() -> list[CollectionSummary]:
    """All collections by name, with their counts and aliases, in two statements."""
    aliases: dict[int, list[str]] = {}
    for collection_id, alias in Alias.objects.values_list("collection_id", "name"):
        aliases.setdefault(collection_id, []).append(alias)
    return [
        CollectionSummary(collection=collection, count=collection.chunk_total, aliases=aliases.get(collection.pk, []))
        for collection in with_chunk_totals(Collection.objects.select_related("active_generation"))
    ]


def list_names() -> list[str]:
    """The names of all collections, without counting anything."""
    return list(Collection.objects.order_by("name").values_list("name", flat=True))


def with_chunk_totals(collections: QuerySet[Collection]) -> QuerySet[WithAnnotations[Collection, ChunkTotal]]:
    """Each collection annotated with `chunk_total`."""
    counted = (
        Chunk.objects.filter(collection=OuterRef("pk"))
        .order_by()
        .values("collection")
        .annotate(total=Count("pk"))
        .values("total")
    )
    return collections.annotate(chunk_total=Coalesce(Subquery(counted, output_field=IntegerField()), 0))


def list_documents(*, collection: Collection) -> QuerySet[Document]:
    """The collection's documents by source."""
    return Document.objects.filter(collection=collection).order_by("source")


def indexed_texts(*, chunk_ids: Sequence[int]) -> dict[int, str]:
    """The texts that chunks are indexed by; those that are gone are missing from the result."""
    found = Chunk.objects.select_related("document").only("text", "section_path", "document__title")
    return {chunk.pk: indexed_text(chunk) for chunk in found.filter(pk__in=chunk_ids)}


def chunks_by_id(*, chunk_ids: Sequence[int]) -> dict[int, Chunk]:
    """Chunks, without their documents; those that are gone are missing from the result."""
    found = Chunk.objects.raw(statement("collections_app", "chunks_by_id"), {"chunk_ids": list(chunk_ids)})
    return {chunk.pk: chunk for chunk in found}
