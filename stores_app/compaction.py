"""Merging segments of the word index within the caller's transaction and lock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from core_app.sql import statement
from stores_app import words
from stores_app.lexical.blocks import SegmentPostings
from stores_app.lexical.building import merge
from stores_app.lexical.merging import MOST_TERMS, SegmentSize, groups_to_merge, terms
from stores_app.lexical.postings import Members
from stores_app.transfer import ROOM, binary_cursor

#: Chunks from which a call ends and lets other writers in, if their terms did not end it before.
_CHUNKS_AT_ONCE = 30_000


def compact(*, collection_id: int) -> int:
    """Merge segments, as many as other writers can be made to wait for; the number that were replaced.

    0 means that nothing is left to do; otherwise call again, in a new transaction. A merge may complete
    the eight of the next tier, hence the loop; each leaves fewer segments or fewer deleted chunks.
    """
    replaced = chunks_written = terms_written = 0
    while chunks_written < _CHUNKS_AT_ONCE and (groups := _groups(collection_id)):
        language, group = groups[0]
        terms_written += terms(group)
        if replaced and terms_written > MOST_TERMS:
            break
        _merge(collection_id, language, [segment.segment_id for segment in group])
        replaced += len(group)
        chunks_written += sum(segment.live for segment in group)
    return replaced


def fragments(*, collection_id: int) -> int:
    """How many segments are to be merged now."""
    return sum(len(group) for _, group in _groups(collection_id))


def _groups(collection_id: int) -> list[tuple[str, list[SegmentSize]]]:
    """What is to be merged, with its language: words of two languages are never put together."""
    by_language: defaultdict[str, list[SegmentSize]] = defaultdict(list)
    with binary_cursor() as cursor:
        cursor.execute(statement(ROOM, "segment_sizes"), {"collection_id": collection_id})
        for segment_id, size, live, length, language in cursor.fetchall():
            by_language[language].append(SegmentSize(segment_id=segment_id, size=size, live=live, length=length))
    return [(language, group) for language, sizes in by_language.items() for group in groups_to_merge(sizes)]


def _merge(collection_id: int, language: str, segment_ids: Sequence[int]) -> None:
    members, portions = merge([(found, _postings(segment_id)) for segment_id, found in _members(segment_ids)])
    new_id = words.add_segment(collection_id=collection_id, language=language, members=members)
    for postings in portions:
        words.add_postings(segment_id=new_id, blocks=postings.blocks(members.lengths))
    words.drop_segments(segment_ids)


def _members(segment_ids: Sequence[int]) -> list[tuple[int, Members]]:
    with binary_cursor() as cursor:
        cursor.execute(statement(ROOM, "segment_members"), {"segment_ids": list(segment_ids)})
        return [
            (segment_id, Members.unpack(chunk_ids=chunk_ids, lengths=lengths, dead=dead))
            for segment_id, chunk_ids, lengths, dead in cursor.fetchall()
        ]


def _postings(segment_id: int) -> SegmentPostings:
    with binary_cursor() as cursor:
        cursor.execute(statement(ROOM, "segment_postings"), {"segment_id": segment_id})
        return SegmentPostings.of(data for (data,) in cursor.fetchall())
