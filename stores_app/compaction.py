"""Merging segments of the word index within the caller's transaction and lock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from collections_app.context import indexed_text
from collections_app.models import Chunk
from core_app.sql import statement
from stores_app import words
from stores_app.lexical.analysis import VERSION
from stores_app.lexical.blocks import SegmentPostings
from stores_app.lexical.building import merge
from stores_app.lexical.merging import MOST_TERMS, SegmentSize, groups_to_merge, terms
from stores_app.lexical.postings import Members
from stores_app.transfer import ROOM, binary_cursor

#: Chunks from which a call ends and lets other writers in, if their terms did not end it before.
_CHUNKS_AT_ONCE = 30_000
#: Chunks, and about their terms, that are analysed anew in one call.
_CHUNKS_ANEW, _TERMS_ANEW = 1000, 500_000


@dataclass(frozen=True, kw_only=True)
class _Segments:
    """Those of one collection."""

    #: By language: words of two languages are never put together.
    current: Mapping[str, Sequence[SegmentSize]]
    #: Ids and languages of those whose terms an older version of the analysis gave.
    outdated: Sequence[tuple[int, str]]

    @property
    def groups(self) -> list[tuple[str, list[SegmentSize]]]:
        """What is to be merged, with its language."""
        return [(language, group) for language, sizes in self.current.items() for group in groups_to_merge(sizes)]


def compact(*, collection_id: int) -> int:
    """Merge segments, as many as other writers can be made to wait for; the number that were replaced.

    0 means that nothing is left to do; otherwise call again, in a new transaction. A merge may complete
    the eight of the next tier, hence the loop; each leaves fewer segments or fewer deleted chunks. Words that an older
    version analysed are analysed anew first.
    """
    if outdated := _segments(collection_id).outdated:
        _renew(collection_id, *outdated[0])
        return 1
    replaced = chunks_written = terms_written = 0
    while chunks_written < _CHUNKS_AT_ONCE and (groups := _segments(collection_id).groups):
        language, group = groups[0]
        terms_written += terms(group)
        if replaced and terms_written > MOST_TERMS:
            break
        _merge(collection_id, language, [segment.segment_id for segment in group])
        replaced += len(group)
        chunks_written += sum(segment.live for segment in group)
    return replaced


def fragments(*, collection_id: int) -> int:
    """How many segments are to be merged, or analysed anew, now."""
    found = _segments(collection_id)
    return sum(len(group) for _, group in found.groups) + len(found.outdated)


def _segments(collection_id: int) -> _Segments:
    current: defaultdict[str, list[SegmentSize]] = defaultdict(list)
    outdated = []
    with binary_cursor() as cursor:
        cursor.execute(statement(ROOM, "segment_sizes"), {"collection_id": collection_id})
        for segment_id, size, live, length, language, analysis in cursor.fetchall():
            if analysis == VERSION:
                current[language].append(SegmentSize(segment_id=segment_id, size=size, live=live, length=length))
            else:
                outdated.append((segment_id, language))
    return _Segments(current=current, outdated=outdated)


def _renew(collection_id: int, segment_id: int, language: str) -> None:
    """Analyse the words of some chunks of a segment anew; they leave it for a segment of their own."""
    ((_, members),) = _members([segment_id])
    before = np.cumsum(members.lengths[~members.dead], dtype=np.int64) - members.lengths[~members.dead]
    chunk_ids = members.chunk_ids[~members.dead][before < _TERMS_ANEW][:_CHUNKS_ANEW].tolist()
    chunks = Chunk.objects.select_related("document").filter(pk__in=chunk_ids)
    texts = {chunk.pk: indexed_text(chunk) for chunk in chunks}
    if texts:
        words.add(words.in_language(language=language, texts=texts), collection_id=collection_id)
    left = members.without(chunk_ids)
    if left.live:
        words.bury(segment_id=segment_id, members=left)
    else:
        words.drop_segments([segment_id])


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
