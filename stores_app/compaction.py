"""Merging segments of the word index within the caller's transaction and lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter

from django.db.backends.utils import CursorWrapper

from core_app.sql import statement
from stores_app import words
from stores_app.lexical.merging import SegmentSize, groups_to_merge
from stores_app.lexical.postings import Members, Merger, Postings
from stores_app.transfer import ROOM, binary_cursor, binary_stream

#: Terms held in memory at a time while their postings are written anew.
_TERMS_AT_ONCE = 5000

#: Chunks from which a call ends and lets other writers in: a few seconds.
_CHUNKS_AT_ONCE = 30_000


def compact(*, collection_id: int) -> int:
    """Merge segments, as many as other writers can be made to wait for; the number that were replaced.

    0 means that nothing is left to do; otherwise call again, in a new transaction. A merge may complete
    the eight of the next tier, hence the loop; each leaves fewer segments or fewer deleted chunks.
    """
    replaced = written = 0
    while written < _CHUNKS_AT_ONCE and (groups := groups_to_merge(_sizes(collection_id))):
        group = groups[0]
        _merge(collection_id, [segment.segment_id for segment in group])
        replaced += len(group)
        written += sum(segment.live for segment in group)
    return replaced


def is_due(*, collection_id: int) -> bool:
    """Whether there is something to merge."""
    return bool(groups_to_merge(_sizes(collection_id)))


def _sizes(collection_id: int) -> list[SegmentSize]:
    with binary_cursor() as cursor:
        cursor.execute(statement(ROOM, "segment_sizes"), {"collection_id": collection_id})
        return [
            SegmentSize(segment_id=segment_id, size=size, live=live) for segment_id, size, live in cursor.fetchall()
        ]


def _merge(collection_id: int, segment_ids: Sequence[int]) -> None:
    merger = Merger(_members(segment_ids))
    new_id = words.add_segment(collection_id=collection_id, members=merger.members)
    with binary_stream() as cursor:
        cursor.execute(statement(ROOM, "segment_postings"), {"segment_ids": list(segment_ids)})
        merged = _merged(merger, _rows(cursor))
        # Collected before they are sent: while a COPY runs the cursor cannot be read.
        while packed := list(islice(merged, _TERMS_AT_ONCE)):
            words.add_postings(collection_id=collection_id, segment_id=new_id, packed=packed)
    words.drop_segments(segment_ids)


def _members(segment_ids: Sequence[int]) -> dict[int, Members]:
    with binary_cursor() as cursor:
        cursor.execute(statement(ROOM, "segment_members"), {"segment_ids": list(segment_ids)})
        return {
            segment_id: Members.unpack(chunk_ids=chunk_ids, lengths=lengths, dead=dead)
            for segment_id, chunk_ids, lengths, dead in cursor.fetchall()
        }


def _rows(cursor: CursorWrapper) -> Iterator[tuple[str, int, bytes]]:
    while rows := cursor.fetchmany(_TERMS_AT_ONCE):
        yield from rows


def _merged(merger: Merger, rows: Iterable[tuple[str, int, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Each term that a live chunk still has, with its packed postings."""
    for term, found in groupby(rows, key=itemgetter(0)):
        postings = merger.merged((segment_id, Postings.unpack(data)) for _, segment_id, data in found)
        if len(postings.ordinals):
            yield term, postings.pack()
