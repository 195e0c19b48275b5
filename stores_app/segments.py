"""The word index as one snapshot has it: read from the database, or remembered from an earlier search.

What a snapshot sees decides: each search first asks which segments are in use. Segments never change but for their
tombstones, so what was read of one stays true for as long as its `identity` and the digest of its tombstones
(`buried`) are the same. Neither comes back with another content: not after a rollback, and not after the
database was restored from a backup, which hands out the same ids once more.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from functools import cache
from itertools import count
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_app.cursors import Preparing
from core_app.errors import Unavailable
from core_app.ports import Bm25
from core_app.sql import statement
from core_app.wiring import app_settings
from stores_app.lexical import bm25 as scoring
from stores_app.lexical.blocks import find
from stores_app.lexical.memory import Memory
from stores_app.lexical.postings import CHUNK_ID, Mask, Postings, unpack_bitmap
from stores_app.transfer import ROOM, binary_cursor

#: Of a term by the identity of the segment; None where the segment does not have it.
_BySegment = dict[bytes, Postings | None]

_numbers = count(1)


class _Segment(NamedTuple):
    """A segment in use, as it is packed by the statement."""

    segment_id: int
    collection_id: int
    identity: bytes
    buried: bytes
    size: int
    live: int
    live_length: int


_PACKED = Struct(">qq16s32siiq")


@cache
def memory() -> Memory:
    """The process's one memory, sized by the settings."""
    return Memory(limit=app_settings().vector_database.word_cache_bytes)


class _State:
    """Which segments were in use, and what follows from that."""

    def __init__(self, segments: Sequence[_Segment]) -> None:
        #: Of this state alone, in this process.
        self.number = next(_numbers)
        self.segments = segments
        #: At which place each begins, and where the last one ends.
        self.starts = np.cumsum([0, *(segment.size for segment in segments)])
        self.corpus = scoring.Corpus(
            chunks=sum(segment.live for segment in segments),
            length=sum(segment.live_length for segment in segments),
        )

    @property
    def size(self) -> int:
        return int(self.starts[-1])

    @property
    def buried(self) -> list[_Segment]:
        """Those with deleted chunks."""
        return [segment for segment in self.segments if segment.live < segment.size]


class Segments:
    """The segments in use of some collections, in the snapshot in which they were read.

    Chunks are counted by places: those of one segment after those of another, deleted ones too.
    """

    def __init__(self, state: _State) -> None:
        self._state = state
        self._memory = memory()

    @classmethod
    def in_use(cls, collection_ids: Sequence[int], *, language: str) -> Segments:
        """Those of the language's words, in the snapshot that the caller has."""
        # As text: of a list psycopg makes as much work as of all the rest.
        listed = f"{{{','.join(map(str, collection_ids))}}}"
        with binary_cursor(Preparing) as cursor:
            cursor.execute(statement(ROOM, "segments_in_use"), {"collection_ids": listed, "language": language})
            packed: bytes = cursor.fetchone()[0] or b""
        key = ("state", packed)
        (state,) = memory().find([key])
        if state is None:
            state = _State([_Segment._make(found) for found in _PACKED.iter_unpack(packed)])
            memory().keep(key, state, size=10 * len(packed))
        return cls(state)

    @property
    def size(self) -> int:
        """How many places there are."""
        return self._state.size

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first place of each segment."""
        return self._state.starts[:-1]

    @property
    def corpus(self) -> scoring.Corpus:
        return self._state.corpus

    def impacts(self, terms: Sequence[str], bm25: Bm25) -> dict[str, scoring.Impacts]:
        """Of each term that a chunk has, where it is and what it adds there. Raises Unavailable."""
        number, k1, b = self._state.number, bm25.k1, bm25.b
        keys: list[Hashable] = [("term", number, k1, b, term) for term in terms]
        found = dict(zip(terms, self._memory.find(keys), strict=True))
        missing = [term for term, impacts in found.items() if impacts is None]
        if missing:
            postings, alive = self._read(missing)
            for term in missing:
                made = scoring.impacts(
                    [
                        (int(start), of_segment)
                        for start, segment in zip(self.starts, self._state.segments, strict=True)
                        if (of_segment := postings[term][segment.identity]) is not None
                    ],
                    alive=alive,
                    average=self.corpus.average,
                    k1=k1,
                    b=b,
                )
                found[term] = made
                self._memory.keep(("term", number, k1, b, term), made, size=made.size)
        return {term: impacts for term, impacts in found.items() if impacts.chunks}

    def postings_at(self, terms: Sequence[str], places: Iterable[int]) -> dict[int, dict[str, Postings]]:
        """Of each of these places the posting of each term that its chunk has. Raises Unavailable."""
        postings, alive = self._read(terms)
        found: dict[int, dict[str, Postings]] = {}
        for place in places:
            if alive is not None and not alive[place]:
                continue
            at = int(np.searchsorted(self._state.starts, place, side="right")) - 1
            ordinal = place - int(self._state.starts[at])
            identity = self._state.segments[at].identity
            for term in terms:
                of_segment = postings[term][identity]
                one = None if of_segment is None else of_segment.at(ordinal)
                if one is not None:
                    found.setdefault(place, {})[term] = one
        return found

    def _read(self, terms: Sequence[str]) -> tuple[dict[str, _BySegment], Mask | None]:
        """The postings of these terms in every segment, and which places have a chunk that is not deleted."""
        segments = self._state.segments
        collections = dict.fromkeys(segment.collection_id for segment in segments)
        pairs = [(collection_id, term) for term in terms for collection_id in collections]
        known: dict[str, _BySegment] = {term: {} for term in terms}
        for (_, term), some in zip(pairs, self._memory.find([("postings", *pair) for pair in pairs]), strict=True):
            known[term].update(some or {})
        buried = self._state.buried
        masks = dict(zip(buried, self._memory.find([_dead_key(segment) for segment in buried]), strict=True))
        without_mask = {segment for segment, mask in masks.items() if mask is None}
        new_terms = [term for term, some in known.items() if any(one.identity not in some for one in segments)]
        incomplete = {one.identity for one in segments for term in new_terms if one.identity not in known[term]}
        asked = [one for one in segments if one.identity in incomplete or one in without_mask]
        if asked:
            masks |= self._fetch(asked, new_terms, without_mask, known)
            for collection_id in collections:
                self._keep_postings(collection_id, new_terms, known)
        if not buried:
            return known, None
        dead = [masks[one] if one in masks else np.zeros(one.size, np.bool_) for one in segments]
        return known, ~np.concatenate(dead)

    def _fetch(
        self,
        segments: Sequence[_Segment],
        terms: Sequence[str],
        without_mask: Collection[_Segment],
        known: dict[str, _BySegment],
    ) -> dict[_Segment, Mask]:
        """Add the postings of the terms in these segments to `known`; the tombstones of those `without_mask`."""
        by_id = {segment.segment_id: segment for segment in segments}
        for segment in segments:
            for term in terms:
                known[term].setdefault(segment.identity, None)
        seen, masks = 0, {}
        with binary_cursor(Preparing) as cursor:
            cursor.execute(
                statement(ROOM, "lexical"),
                {
                    "segment_ids": list(by_id),
                    "with_dead": [segment.segment_id for segment in without_mask],
                    "terms": list(terms),
                },
            )
            for term, segment_id, data, buried in cursor.fetchall():
                segment = by_id[segment_id]
                if term is not None:
                    known[term][segment.identity] = _kept(find(term, data), data)
                elif buried == segment.buried:
                    seen += 1
                    if data is not None:
                        masks[segment] = unpack_bitmap(data, size=segment.size)
        if seen < len(segments):
            raise _changed()
        for segment, mask in masks.items():
            self._memory.keep(_dead_key(segment), mask, size=mask.nbytes)
        return masks

    def _keep_postings(self, collection_id: int, terms: Sequence[str], known: dict[str, _BySegment]) -> None:
        """Those of segments that are in use: of others nobody will ask."""
        own = [segment.identity for segment in self._state.segments if segment.collection_id == collection_id]
        for term in terms:
            some = {identity: known[term][identity] for identity in own}
            size = sum(100 if postings is None else 500 + postings.size for postings in some.values())
            self._memory.keep(("postings", collection_id, term), some, size=size)

    def chunk_ids(self, places: NDArray[np.signedinteger[Any]]) -> NDArray[np.int64]:
        """Which chunks are at these places. Raises Unavailable."""
        if not len(places):
            return np.empty(0, np.int64)
        if not self._memory.takes(self.size * CHUNK_ID.itemsize):
            return self._few_chunk_ids(places)
        found: NDArray[np.int64] = self.all_chunk_ids()[places]
        return found

    def all_chunk_ids(self) -> NDArray[np.int64]:
        """The chunk at each place. Raises Unavailable."""
        key = ("chunk ids", self._state.number)
        (joined,) = self._memory.find([key])
        if joined is None:
            segments = self._state.segments
            found = dict(zip(segments, self._memory.find([_ids_key(one) for one in segments]), strict=True))
            missing = [segment for segment, ids in found.items() if ids is None]
            if missing:
                found.update(self._whole(missing))
            joined = np.concatenate([np.empty(0, CHUNK_ID), *found.values()])
            joined.setflags(write=False)
            self._memory.keep(key, joined, size=joined.nbytes)
        whole: NDArray[np.int64] = joined
        return whole

    def _whole(self, segments: Sequence[_Segment]) -> dict[_Segment, NDArray[np.int64]]:
        by_id = {segment.segment_id: segment for segment in segments}
        with binary_cursor() as cursor:
            cursor.execute(statement(ROOM, "segment_ids"), {"segment_ids": list(by_id)})
            found = {by_id[segment_id]: np.frombuffer(data, CHUNK_ID) for segment_id, data in cursor.fetchall()}
        if len(found) < len(segments):
            raise _changed()
        for segment, ids in found.items():
            self._memory.keep(_ids_key(segment), ids, size=ids.nbytes)
        return found

    def _few_chunk_ids(self, places: NDArray[np.signedinteger[Any]]) -> NDArray[np.int64]:
        at = np.searchsorted(self._state.starts, places, side="right") - 1
        segment_ids = [self._state.segments[number].segment_id for number in at.tolist()]
        ordinals = (places - self._state.starts[at]).tolist()
        with binary_cursor() as cursor:
            cursor.execute(statement(ROOM, "chunk_ids"), {"segment_ids": segment_ids, "ordinals": ordinals})
            ids = {
                (segment_id, ordinal): int.from_bytes(data, "little", signed=True)
                for segment_id, ordinal, data in cursor.fetchall()
            }
        if len(ids) < len(places):
            raise _changed()
        pairs = zip(segment_ids, ordinals, strict=True)
        return np.fromiter((ids[pair] for pair in pairs), CHUNK_ID, len(places))


def _kept(postings: Postings | None, block: bytes) -> Postings | None:
    """Without the rest of a block of which they are only a part: it would stay in memory, and not be counted."""
    return postings.alone() if postings is not None and 5 * postings.size < 4 * len(block) else postings


def _dead_key(segment: _Segment) -> Hashable:
    return "dead", segment.identity, segment.buried


def _ids_key(segment: _Segment) -> Hashable:
    return "chunk ids of", segment.identity


def _changed() -> Unavailable:
    return Unavailable("The collection was changed while it was searched. Try again.", code="index_changed")
