"""Segments of a word index as packed arrays.

A segment numbers its chunks by ordinals, in ascending order of chunk ids, and never changes except for
its tombstones. Everything is little-endian and planar, so that numpy reads it without copying.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

ORDINAL = np.dtype("<u4")
FREQUENCY = np.dtype("<u2")
LENGTH = np.dtype("<u4")
CHUNK_ID = np.dtype("<i8")

#: A term that occurs more often in a chunk counts this often: BM25 is flat long before.
MOST_FREQUENT = int(np.iinfo(FREQUENCY).max)

_POSTING_BYTES = ORDINAL.itemsize + FREQUENCY.itemsize + LENGTH.itemsize

Ordinals = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Postings:
    """Where one term occurs in one segment; three arrays of one length, by ascending ordinal."""

    ordinals: NDArray[np.uint32]
    frequencies: NDArray[np.uint16]
    #: Terms of the whole chunk, repeated here so that scoring needs no second look-up.
    lengths: NDArray[np.uint32]

    def pack(self) -> bytes:
        """n ordinals (uint32), n frequencies (uint16), n lengths (uint32)."""
        return b"".join(
            (
                self.ordinals.astype(ORDINAL, copy=False).tobytes(),
                self.frequencies.astype(FREQUENCY, copy=False).tobytes(),
                self.lengths.astype(LENGTH, copy=False).tobytes(),
            )
        )

    @classmethod
    def unpack(cls, data: bytes) -> Postings:
        """The reverse of `pack`; the arrays are views of `data`. Raises ValueError for other bytes."""
        count, rest = divmod(len(data), _POSTING_BYTES)
        if rest:
            raise ValueError(f"Packed postings come in {_POSTING_BYTES} bytes each, these are {len(data)}.")
        frequencies_at = count * ORDINAL.itemsize
        lengths_at = frequencies_at + count * FREQUENCY.itemsize
        return cls(
            ordinals=np.frombuffer(data, ORDINAL, count),
            frequencies=np.frombuffer(data, FREQUENCY, count, frequencies_at),
            lengths=np.frombuffer(data, LENGTH, count, lengths_at),
        )

    def where(self, chosen: Mask) -> Postings:
        """Those at which `chosen` is true."""
        return Postings(
            ordinals=self.ordinals[chosen], frequencies=self.frequencies[chosen], lengths=self.lengths[chosen]
        )


@dataclass(frozen=True, kw_only=True)
class Members:
    """The chunks of one segment: ids ascending, their lengths in terms, and which are deleted."""

    chunk_ids: NDArray[np.int64]
    lengths: NDArray[np.uint32]
    dead: Mask

    @property
    def size(self) -> int:
        return len(self.chunk_ids)

    @property
    def live(self) -> int:
        return self.size - int(np.count_nonzero(self.dead))

    @property
    def live_length(self) -> int:
        return int(self.lengths[~self.dead].sum(dtype=np.int64))

    @classmethod
    def unpack(cls, *, chunk_ids: bytes, lengths: bytes, dead: bytes) -> Members:
        """From a segment's three packed columns."""
        ids = np.frombuffer(chunk_ids, CHUNK_ID)
        return cls(
            chunk_ids=ids,
            lengths=np.frombuffer(lengths, LENGTH),
            dead=unpack_bitmap(dead, size=len(ids)),
        )

    def without(self, chunk_ids: Sequence[int]) -> Members:
        """The same with these chunks deleted; ids that are unknown or deleted already change nothing."""
        return Members(
            chunk_ids=self.chunk_ids,
            lengths=self.lengths,
            dead=self.dead | np.isin(self.chunk_ids, np.asarray(chunk_ids, CHUNK_ID)),
        )


def pack_bitmap(bits: Mask) -> bytes:
    """One bit per ordinal, lowest first; empty where none is set."""
    return np.packbits(bits, bitorder="little").tobytes() if bits.any() else b""


def unpack_bitmap(data: bytes, *, size: int) -> Mask:
    """`size` booleans; all false for an empty bitmap."""
    if not data:
        return np.zeros(size, np.bool_)
    return np.unpackbits(np.frombuffer(data, np.uint8), count=size, bitorder="little").astype(np.bool_)


@dataclass(frozen=True, kw_only=True)
class NewPostings:
    """The postings of a new segment, all terms one after the other in arrays of one length.

    Those of `terms[n]` are between `bounds[n]` and `bounds[n + 1]`; terms are sorted.
    """

    terms: Sequence[str]
    bounds: Sequence[int]
    ordinals: NDArray[np.uint32]
    frequencies: NDArray[np.uint16]
    lengths: NDArray[np.uint32]

    def packed(self) -> Iterator[tuple[str, bytes]]:
        """Each term with its postings as `Postings.pack` has them: slices of bytes, no arrays of their own."""
        ordinals, frequencies, lengths = (part.tobytes() for part in (self.ordinals, self.frequencies, self.lengths))
        for term, (start, end) in zip(self.terms, pairwise(self.bounds), strict=True):
            yield term, ordinals[4 * start : 4 * end] + frequencies[2 * start : 2 * end] + lengths[4 * start : 4 * end]


def build(chunks: Iterable[tuple[int, Sequence[str]]]) -> tuple[Members, NewPostings]:
    """A segment of new chunks, each given as its id and its terms."""
    ordered = sorted(chunks, key=lambda chunk: chunk[0])
    lengths = np.fromiter((len(terms) for _, terms in ordered), LENGTH, len(ordered))
    members = Members(
        chunk_ids=np.fromiter((chunk_id for chunk_id, _ in ordered), CHUNK_ID, len(ordered)),
        lengths=lengths,
        dead=np.zeros(len(ordered), np.bool_),
    )
    # Terms as numbers, in the order in which they were first met: looking one up then costs no Python.
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    occurrences = np.fromiter(
        map(numbers.__getitem__, chain.from_iterable(terms for _, terms in ordered)), np.int64, int(lengths.sum())
    )
    terms = sorted(numbers)
    rank = np.empty(len(terms), np.int64)
    rank[np.fromiter(map(numbers.__getitem__, terms), np.int64, len(terms))] = np.arange(len(terms))
    places = np.repeat(np.arange(len(ordered), dtype=np.int64), lengths)
    # One number for each pair of term and chunk: sorted, they are the postings one after the other.
    size = max(len(ordered), 1)
    pairs, counts = np.unique(rank[occurrences] * size + places, return_counts=True)
    ordinals = (pairs % size).astype(ORDINAL)
    return members, NewPostings(
        terms=terms,
        bounds=np.searchsorted(pairs, np.arange(len(terms) + 1) * size).tolist(),
        ordinals=ordinals,
        frequencies=np.minimum(counts, MOST_FREQUENT).astype(FREQUENCY),
        lengths=lengths[ordinals],
    )


class Merger:
    """Brings the live chunks of several segments into one new segment, one term at a time."""

    def __init__(self, parts: Mapping[int, Members]) -> None:
        """`parts` by segment id."""
        ids = np.concatenate([part.chunk_ids[~part.dead] for part in parts.values()])
        lengths = np.concatenate([part.lengths[~part.dead] for part in parts.values()])
        order = np.argsort(ids, kind="stable")
        self.members = Members(chunk_ids=ids[order], lengths=lengths[order], dead=np.zeros(len(ids), np.bool_))
        #: Old ordinal to new one, by segment id; -1 for deleted chunks.
        self._renumbered: dict[int, Ordinals] = {}
        place = np.empty(len(ids), np.int64)
        place[order] = np.arange(len(ids))
        start = 0
        for key, part in parts.items():
            renumbered = np.full(part.size, -1, np.int64)
            renumbered[~part.dead] = place[start : start + part.live]
            self._renumbered[key] = renumbered
            start += part.live

    def merged(self, postings: Iterable[tuple[int, Postings]]) -> Postings:
        """One term's postings of the old segments as postings of the new one; possibly none are left."""
        ordinals, frequencies = zip(*self._moved(postings), strict=True)
        places = np.concatenate(ordinals)
        order = np.argsort(places)
        order = order[np.count_nonzero(places < 0) :]
        return Postings(
            ordinals=places[order].astype(ORDINAL),
            frequencies=np.concatenate(frequencies)[order],
            lengths=self.members.lengths[places[order]],
        )

    def _moved(self, postings: Iterable[tuple[int, Postings]]) -> Iterator[tuple[Ordinals, NDArray[np.uint16]]]:
        for key, found in postings:
            yield self._renumbered[key][found.ordinals], found.frequencies
