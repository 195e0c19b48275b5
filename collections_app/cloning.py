"""Copying a collection, with its vectors as they are: nothing is embedded again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import connection, transaction

from access_app.audit import record
from collections_app.disabling import keep_vector
from collections_app.models import Chunk, Collection, Document, NamedFilter
from collections_app.naming import claim_name
from collections_app.reading import kept_vectors
from collections_app.selectors import CollectionSummary, get_collection, get_summary, indexed_texts
from collections_app.services import bound_waiting, lock_collection, space_of, touch, writable_space
from core_app.errors import Conflict, TooLarge
from core_app.ports import IndexedChunk
from core_app.sql import statement
from core_app.wiring import store

ROOM = "collections_app"
#: As many as one add may bring: the copy is one transaction, and writes to the original wait for its end.
MOST_CHUNKS = 10_000
MOST_DOCUMENTS = 10_000
#: Settings that the copy has, too. Other names and connectors stay with the original.
_KEPT = ("metadata", "store", "distance", "language", "chunking", "search", "k1", "b")


def clone_collection(*, name: str, new_name: str) -> CollectionSummary:
    """Copy a collection with its documents, chunks, vectors and words under a new name: all of it or nothing.

    Raises NotFound, InvalidInput for what is no name, Conflict for a name that is taken or chunks without vectors,
    TooLarge for more than `MOST_CHUNKS` chunks or `MOST_DOCUMENTS` documents.
    """
    with transaction.atomic():
        bound_waiting()
        source = lock_collection(collection_id=get_collection(name=name).pk)
        _check_size(source)
        claim_name(new_name)
        target = Collection.objects.create(name=new_name, **{field: getattr(source, field) for field in _KEPT})
        copies = _copy_rows(source, target)
        _index(source, target, copies)
        _copy_filters(source, target)
        touch(collection=target)
        record(
            "collection.cloned", target, after={"from": source.name, "chunks": len(copies.found) + len(copies.disabled)}
        )
    return get_summary(name=target.name)


def _copy_filters(source: Collection, target: Collection) -> None:
    kept = NamedFilter.objects.filter(collection=source)
    NamedFilter.objects.bulk_create(
        NamedFilter(collection=target, name=row.name, where=row.where, description=row.description) for row in kept
    )


def _check_size(source: Collection) -> None:
    if Chunk.objects.filter(collection=source)[: MOST_CHUNKS + 1].count() > MOST_CHUNKS:
        raise TooLarge(
            f"Collection '{source.name}' has more than {MOST_CHUNKS:,} chunks, the most that are copied at once. "
            "Make a new collection and send it the same files.",
            code="too_large_to_clone",
        )
    if Document.objects.filter(collection=source)[: MOST_DOCUMENTS + 1].count() > MOST_DOCUMENTS:
        raise TooLarge(
            f"Collection '{source.name}' has more than {MOST_DOCUMENTS:,} documents, the most that are copied at once. "
            "Make a new collection and send it the same files.",
            code="too_large_to_clone",
        )


@dataclass(frozen=True, kw_only=True)
class _Copies:
    """The keys of copied chunks by those of the originals, in the collection's order."""

    found: Mapping[int, int]
    #: Those that no search finds.
    disabled: Mapping[int, int]

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, bool]]) -> _Copies:
        kinds: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for original, copied, is_disabled in rows:
            kinds[is_disabled][original] = copied
        return cls(found=kinds[False], disabled=kinds[True])


def _copy_rows(source: Collection, target: Collection) -> _Copies:
    both = {"source": source.pk, "target": target.pk}
    with connection.cursor() as cursor:
        for name in ("clone_documents", "clone_texts", "clone_chunks"):
            cursor.execute(statement(ROOM, name), both)
        cursor.execute(statement(ROOM, "cloned_chunks"), both)
        return _Copies.of(cursor.fetchall())


def _index(source: Collection, target: Collection, copies: _Copies) -> None:
    generation, keys = source.active_generation, copies.found
    if generation is None:
        if keys or copies.disabled:
            raise _without_vectors(source)
        return
    space = writable_space(
        collection=target,
        embedding_connection=generation.embedding_connection,
        embedding_model=generation.embedding_model,
        dimension=generation.dimension,
    )
    vectors = store(source.store).vectors(space=space_of(generation), chunk_ids=list(keys))
    if len(vectors) < len(keys):
        raise _without_vectors(source)
    texts = indexed_texts(chunk_ids=list(keys.values()))
    store(target.store).add(
        space=space,
        language=target.language,
        chunks=[
            IndexedChunk(chunk_id=copied, text=texts[copied], embedding=vectors[original])
            for original, copied in keys.items()
        ],
    )
    kept = kept_vectors(collection=source, chunk_ids=list(copies.disabled))
    for original, vector in kept.items():
        keep_vector(collection=target, chunk_id=copies.disabled[original], vector=vector)


def _without_vectors(source: Collection) -> Conflict:
    return Conflict(
        f"Chunks of '{source.name}' have no vectors, so they cannot be copied. Ingest their documents again first.",
        code="chunks_without_vectors",
    )
