"""Segments of a word index as packed arrays.

A segment numbers its chunks by ordinals, in ascending order of chunk ids, and never changes except for
its tombstones. Everything is little-endian and planar, so that numpy reads it without copying.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ORDINAL = np.dtype("<u4")
FREQUENCY = np.dtype("<u2")
LENGTH = np.dtype("<u4")
CHUNK_ID = np.dtype("<i8")

#: A term that occurs more often in a chunk counts this often: BM25 is flat long before.
MOST_FREQUENT = int(np.iinfo(FREQUENCY).max)

Ordinals = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Postings:
    """Where one term occurs in one segment; three arrays of one length, by ascending ordinal."""

    ordinals: NDArray[np.uint32]
    frequencies: NDArray[np.uint16]
    #: Terms of the whole chunk, repeated here so that scoring needs no second look-up.
    lengths: NDArray[np.uint32]

    @classmethod
    def joined(cls, parts: Sequence[Postings]) -> Postings:
        """One after the other."""
        return cls(
            ordinals=np.concatenate([np.empty(0, ORDINAL), *(part.ordinals for part in parts)]),
            frequencies=np.concatenate([np.empty(0, FREQUENCY), *(part.frequencies for part in parts)]),
            lengths=np.concatenate([np.empty(0, LENGTH), *(part.lengths for part in parts)]),
        )

    def alone(self) -> Postings:
        """The same without the bytes around them, which views of them hold in memory."""
        return Postings(ordinals=self.ordinals.copy(), frequencies=self.frequencies.copy(), lengths=self.lengths.copy())

    @property
    def size(self) -> int:
        """In bytes."""
        return self.ordinals.nbytes + self.frequencies.nbytes + self.lengths.nbytes

    def between(self, start: int, end: int) -> Postings:
        """Those at `start` and after it, before `end`."""
        return Postings(
            ordinals=self.ordinals[start:end], frequencies=self.frequencies[start:end], lengths=self.lengths[start:end]
        )

    def at(self, ordinal: int) -> Postings | None:
        """The one of this ordinal."""
        place = int(np.searchsorted(self.ordinals, ordinal))
        is_there = place < len(self.ordinals) and self.ordinals[place] == ordinal
        return self.between(place, place + 1) if is_there else None

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
