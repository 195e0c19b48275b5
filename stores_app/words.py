"""The word index in Postgres as it is written: segments with packed postings, and tombstones.

Writers hold the lock on their collection's row. Segments are locked as well, so that an unlocked
writer waits instead of bringing deleted chunks back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, is_

import numpy as np
from django.db import connection

from core_app.copying import copy
from core_app.ports import IndexedChunk, Prepared
from core_app.sql import statement
from stores_app.lexical.analysing import analyse
from stores_app.lexical.analysis import VERSION
from stores_app.lexical.postings import CHUNK_ID, LENGTH, Members, pack_bitmap
from stores_app.lexical.worker import Analysis
from stores_app.transfer import ROOM, binary_cursor

#: Fewer chunks than this are not worth a job that reclaims their space.
_DELETED_AT_ONCE = 1000


@dataclass(frozen=True, kw_only=True)
class NewSegment:
    """A segment that is not written yet."""

    language: str
    members: Members
    blocks: Sequence[tuple[str, bytes]]


def segment(*, language: str, chunks: Sequence[IndexedChunk], prepared: Prepared | None = None) -> NewSegment:
    """The chunks as a segment that `add` takes, `prepared` or not. Raises InvalidInput for an unknown language."""
    ordered = sorted(chunks, key=attrgetter("chunk_id"))
    ids = np.fromiter((chunk.chunk_id for chunk in ordered), CHUNK_ID, len(ordered))
    is_in_order = all(map(is_, ordered, chunks))
    if isinstance(prepared, Analysis) and is_in_order and (prepared.language, len(prepared)) == (language, len(ids)):
        found = prepared.result()
    else:
        found = analyse(language=language, texts=[chunk.text for chunk in ordered])
    members = Members(chunk_ids=ids, lengths=found.lengths, dead=np.zeros(len(ids), np.bool_))
    return NewSegment(language=language, members=members, blocks=found.blocks)


def in_language(*, language: str, texts: Mapping[int, str]) -> NewSegment:
    """The words of stored chunks, whose texts are given by their ids, as a segment. Raises InvalidInput."""
    ids = sorted(texts)
    found = analyse(language=language, texts=[texts[chunk_id] for chunk_id in ids])
    members = Members(chunk_ids=np.asarray(ids, CHUNK_ID), lengths=found.lengths, dead=np.zeros(len(ids), np.bool_))
    return NewSegment(language=language, members=members, blocks=found.blocks)


def last_chunk(*, collection_id: int, language: str) -> int:
    """The largest id of a chunk whose words are indexed in the language; 0 where none is."""
    with connection.cursor() as cursor:
        cursor.execute(
            statement(ROOM, "last_chunk_in_language"), {"collection_id": collection_id, "language": language}
        )
        return int(cursor.fetchone()[0])


def add(new: NewSegment, *, collection_id: int) -> None:
    """Write one segment."""
    add_postings(
        segment_id=add_segment(collection_id=collection_id, language=new.language, members=new.members),
        blocks=new.blocks,
    )


def add_segment(*, collection_id: int, language: str, members: Members) -> int:
    """Write a segment without deleted chunks and return its id."""
    with connection.cursor() as cursor:
        cursor.execute(
            statement(ROOM, "add_segment"),
            {
                "collection_id": collection_id,
                "language": language,
                "analysis": VERSION,
                "size": members.size,
                "live_length": members.live_length,
                "first_chunk_id": int(members.chunk_ids[0]),
                "last_chunk_id": int(members.chunk_ids[-1]),
                "chunk_ids": members.chunk_ids.astype(CHUNK_ID, copy=False).tobytes(),
                "lengths": members.lengths.astype(LENGTH, copy=False).tobytes(),
            },
        )
        return int(cursor.fetchone()[0])


def add_postings(*, segment_id: int, blocks: Iterable[tuple[str, bytes]]) -> None:
    """Write postings of a segment in blocks, each given with its first term."""
    copy(
        ROOM,
        "add_postings",
        types=("int8", "text", "bytea"),
        rows=((segment_id, first_term, data) for first_term, data in blocks),
    )


def remove(*, collection_id: int, chunk_ids: Sequence[int]) -> None:
    """Set the tombstones of these chunks; segments left without a live chunk are dropped."""
    emptied: list[int] = []
    with binary_cursor() as cursor:
        cursor.execute(statement(ROOM, "lock_segments"), {"collection_id": collection_id, "chunk_ids": list(chunk_ids)})
        for segment_id, ids, lengths, dead in cursor.fetchall():
            before = Members.unpack(chunk_ids=ids, lengths=lengths, dead=dead)
            after = before.without(chunk_ids)
            if after.live == 0:
                emptied.append(segment_id)
            elif after.live < before.live:
                bury(segment_id=segment_id, members=after)
    drop_segments(emptied)


def bury(*, segment_id: int, members: Members) -> None:
    """Write a segment's tombstones."""
    with connection.cursor() as cursor:
        cursor.execute(
            statement(ROOM, "bury_chunks"),
            {
                "segment_id": segment_id,
                "dead": pack_bitmap(members.dead),
                "live": members.live,
                "live_length": members.live_length,
            },
        )


def drop_segments(segment_ids: Sequence[int]) -> None:
    """Delete segments and their postings."""
    if segment_ids:
        with connection.cursor() as cursor:
            cursor.execute(statement(ROOM, "drop_segments"), {"segment_ids": list(segment_ids)})


def forget(*, collection_id: int, keep: Collection[str] = ()) -> int:
    """Put the collection's segments out of sight, but those of the languages in `keep`; how many chunks they have.

    They are deleted when space is reclaimed; few go at once.
    """
    with connection.cursor() as cursor:
        cursor.execute(statement(ROOM, "segment_sizes"), {"collection_id": collection_id})
        found = [
            (segment_id, size) for segment_id, size, _, _, language, _ in cursor.fetchall() if language not in keep
        ]
    segment_ids = [segment_id for segment_id, _ in found]
    chunks: int = sum(size for _, size in found)
    if chunks < _DELETED_AT_ONCE:
        drop_segments(segment_ids)
    else:
        with connection.cursor() as cursor:
            cursor.execute(statement(ROOM, "retire_segments"), {"segment_ids": segment_ids})
    return chunks
