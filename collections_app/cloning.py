"""Copying a collection, with its vectors as they are: nothing is embedded again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from access_app.audit import record
from collections_app.models import Chunk, Collection, Document, NamedFilter
from collections_app.naming import claim_name
from collections_app.selectors import CollectionSummary, get_held, get_summary, indexed_texts
from collections_app.services import CollectionGone, bound_waiting, lock_collection, space_of, touch, writable_space
from core_app.errors import Conflict, TooLarge
from core_app.ports import IndexedChunk, Space
from core_app.snapshot import writing_snapshot
from core_app.sql import statement
from core_app.wiring import copy_test_cases, store

ROOM = "collections_app"
#: As many as one add may bring: the copy is one transaction, and writes to the original wait for its end.
MOST_CHUNKS = 10_000
MOST_DOCUMENTS = 10_000
CHUNKS_AT_A_TIME = 5000
#: Settings that the copy has, too. Other names and connectors stay with the original.
_KEPT = ("metadata", "distance", "language", "embedding_connection", "chunking", "search", "k1", "b")


@dataclass(frozen=True, kw_only=True)
class Along:
    """What a copy gets beside the content and the settings."""

    filters: bool = True
    test_cases: bool = True


ALL = Along()
#: Told how many chunks are copied; may raise, and nothing is left of the copy then.
Told = Callable[[int], None]


def is_large(*, name: str) -> bool:
    """Whether a collection has more than `clone_collection` copies. Raises NotFound."""
    return _excess(get_held(name=name)) is not None


def clone_collection(*, name: str, new_name: str, along: Along = ALL) -> CollectionSummary:
    """Copy a collection with its documents, chunks, vectors and words under a new name: all of it or nothing.

    Raises NotFound, InvalidInput for what is no name, Conflict for a name that is taken or chunks without vectors,
    TooLarge for more than `MOST_CHUNKS` chunks or `MOST_DOCUMENTS` documents.
    """
    with transaction.atomic():
        bound_waiting()
        source = lock_collection(collection_id=get_held(name=name).pk)
        excess = _excess(source)
        if excess is not None:
            raise TooLarge(
                f"Collection '{source.name}' has more than {excess}, the most that are copied at once.",
                code="too_large_to_clone",
            )
        _copy(source, new_name, along=along, told=lambda _: None)
    return get_summary(name=new_name)


def copy_in_one_snapshot(
    *, source_id: int, target_id: int, new_name: str, along: Along, told: Told, fence: Callable[[], None] | None = None
) -> int:
    """Copy a collection of any size, all of it or nothing, while others go on to write to it; how many chunks.

    The copy is what the original was at the beginning. It gets the key `target_id`, so that whoever does this a second
    time finds that it was done. The `fence` is called last before the commit; where it raises, nothing is committed.
    Raises as `clone_collection`, but TooLarge, and CollectionGone.
    """
    with writing_snapshot():
        # The name first: whoever waits for it waits with nothing done.
        bound_waiting()
        source = Collection.objects.select_related("active_generation").filter(pk=source_id).first()
        if source is None:
            raise CollectionGone
        copied = _copy(source, new_name, along=along, told=told, key=target_id)
        if fence is not None:
            # What takes as long as there are rows comes before: between the fence and the commit others wait.
            connection.check_constraints()
            fence()
        return copied


def clone_any(*, name: str, new_name: str, along: Along, told: Told) -> int:
    """Copy a collection of any size while the caller waits; how many chunks. Raises as the above."""
    source = get_held(name=name)
    return copy_in_one_snapshot(source_id=source.pk, target_id=next_key(), new_name=new_name, along=along, told=told)


def next_key() -> int:
    """A key that no other collection gets."""
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "next_collection_id"))
        return int(cursor.fetchone()[0])


def _excess(source: Collection) -> str | None:
    """What it has too much of to be copied at once."""
    if Chunk.objects.filter(collection=source)[: MOST_CHUNKS + 1].count() > MOST_CHUNKS:
        return f"{MOST_CHUNKS:,} chunks"
    if Document.objects.filter(collection=source)[: MOST_DOCUMENTS + 1].count() > MOST_DOCUMENTS:
        return f"{MOST_DOCUMENTS:,} documents"
    return None


def _copy(source: Collection, new_name: str, *, along: Along, told: Told, key: int | None = None) -> int:
    claim_name(new_name)
    home = store(source.store).home
    target = Collection(pk=key, name=new_name, store=home, **{field: getattr(source, field) for field in _KEPT})
    target.save(force_insert=True)
    both = {"source": source.pk, "target": target.pk}
    for name in ("clone_documents", "clone_texts"):
        _run(name, both)
    copied = last = 0
    while rows := _run("clone_chunks", {**both, "after": last, "limit": CHUNKS_AT_A_TIME}):
        last = rows[-1][3]
        _index(source, target, _Copies.of(rows))
        copied += len(rows)
        told(copied)
    if source.active_generation is not None and target.active_generation is None:
        _space(source, target)
    if along.filters:
        _copy_filters(source, target)
    if along.test_cases:
        copy_test_cases(source_id=source.pk, target_id=target.pk)
    touch(collection=target)
    record("collection.cloned", target, after={"from": source.name, "chunks": copied})
    return copied


def _run(name: str, given: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, name), given)
        return [] if cursor.description is None else cursor.fetchall()


def _copy_filters(source: Collection, target: Collection) -> None:
    kept = NamedFilter.objects.filter(collection=source)
    NamedFilter.objects.bulk_create(
        NamedFilter(collection=target, name=row.name, where=row.where, description=row.description) for row in kept
    )


@dataclass(frozen=True, kw_only=True)
class _Copies:
    """The keys of copied chunks by those of the originals, in the collection's order."""

    found: Mapping[int, int]
    #: Those that no search finds.
    disabled: Mapping[int, int]

    @classmethod
    def of(cls, rows: list[tuple[Any, ...]]) -> _Copies:
        kinds: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for original, copied, is_disabled, _position in rows:
            kinds[is_disabled][original] = copied
        return cls(found=kinds[False], disabled=kinds[True])


def _space(source: Collection, target: Collection) -> Space:
    generation = source.active_generation
    if generation is None:
        raise _without_vectors(source)
    return writable_space(
        collection=target,
        embedding_connection=generation.embedding_connection,
        embedding_model=generation.embedding_model,
        dimension=generation.dimension,
    )


def _index(source: Collection, target: Collection, copies: _Copies) -> None:
    space, keys, generation = _space(source, target), copies.found, source.active_generation
    assert generation is not None, "a collection with a space has a generation"
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
    if copies.disabled:
        pairs = {"originals": list(copies.disabled), "copies": list(copies.disabled.values())}
        _run("clone_kept_vectors", {**pairs, "old": generation.pk, "new": target.active_generation_id})


def _without_vectors(source: Collection) -> Conflict:
    return Conflict(
        f"Chunks of '{source.name}' have no vectors, so they cannot be copied. Ingest their documents again first.",
        code="chunks_without_vectors",
    )
