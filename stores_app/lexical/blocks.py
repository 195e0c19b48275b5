"""Postings in blocks: one row of the database holds a frequent term alone, or a few rare terms.

Most terms are in one or two chunks of a segment. With a row each, rows and their index entries were many times as
large as the postings in them, and took longer to write than to make.

A block of n terms with p postings, little-endian, one part after the other:

    uint32        n
    uint32[n]     postings of each term
    uint32[p]     ordinals, term by term, ascending within each
    uint32[p]     lengths in terms of the chunks at these ordinals
    uint16[p]     frequencies
    the rest      the terms in UTF-8, ascending, NUL between them
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from struct import unpack_from

import numpy as np
from numpy.typing import NDArray

from stores_app.lexical.postings import FREQUENCY, LENGTH, ORDINAL, Postings

#: Terms are gathered up to this size, so that a block is less than twice as large. Postgres moves values of
#: 2,000 bytes and more out of their rows.
BLOCK_BYTES = 900

_COUNT = np.dtype("<u4")
_POSTING_BYTES = ORDINAL.itemsize + LENGTH.itemsize + FREQUENCY.itemsize
_SEPARATOR = b"\0"


@dataclass(frozen=True, kw_only=True)
class SegmentPostings:
    """Postings of many terms of one segment, one after the other in arrays of one length.

    Those of `terms[i]` are between `bounds[i]` and `bounds[i + 1]`; terms are sorted and distinct.
    """

    terms: Sequence[str]
    bounds: NDArray[np.int64]
    ordinals: NDArray[np.uint32]
    frequencies: NDArray[np.uint16]

    def blocks(self, lengths: NDArray[np.uint32]) -> Iterator[tuple[str, bytes]]:
        """Each block with its first term; `lengths` are those of all the segment's chunks, by ordinal."""
        names = [term.encode() for term in self.terms]
        counts = np.diff(self.bounds)
        sizes = counts * _POSTING_BYTES + _COUNT.itemsize + [len(name) + 1 for name in names]
        packed_counts, packed_ordinals = counts.astype(_COUNT), self.ordinals.astype(ORDINAL, copy=False)
        for first, end in pairwise([*_firsts(sizes), len(names)]):
            low, high = self.bounds[first], self.bounds[end]
            ordinals = packed_ordinals[low:high]
            yield (
                self.terms[first],
                b"".join(
                    (
                        (end - first).to_bytes(_COUNT.itemsize, "little"),
                        packed_counts[first:end].tobytes(),
                        ordinals.tobytes(),
                        lengths[ordinals].astype(LENGTH, copy=False).tobytes(),
                        self.frequencies[low:high].astype(FREQUENCY, copy=False).tobytes(),
                        _SEPARATOR.join(names[first:end]),
                    )
                ),
            )

    @classmethod
    def of(cls, blocks: Iterable[bytes]) -> SegmentPostings:
        """The reverse of `blocks`, given in the order of their terms. Raises ValueError for other bytes."""
        parts = [_Block(data) for data in blocks]
        postings = [part.all for part in parts]
        counts = np.concatenate([np.zeros(1, np.int64), *(part.counts for part in parts)])
        return cls(
            terms=[name.decode() for part in parts for name in part.names],
            bounds=np.cumsum(counts),
            ordinals=np.concatenate([np.empty(0, ORDINAL), *(found.ordinals for found in postings)]),
            frequencies=np.concatenate([np.empty(0, FREQUENCY), *(found.frequencies for found in postings)]),
        )


def find(term: str, block: bytes) -> Postings | None:
    """The term's postings if they are in the block, as views of its bytes. Raises ValueError for other bytes."""
    found = _Block(block)
    name = term.encode()
    if found.names == [name]:
        return found.all
    try:
        place = found.names.index(name)
    except ValueError:
        return None
    return found.postings(sum(found.counts[:place]), found.counts[place])


class _Block:
    """A block taken apart, without copying its postings."""

    def __init__(self, data: bytes) -> None:
        terms = int.from_bytes(data[: _COUNT.itemsize], "little")
        self._data = data
        self._ordinals_at = _COUNT.itemsize * (1 + terms)
        if self._ordinals_at > len(data):
            raise _no_block(data)
        # Of so few numbers numpy is slower.
        self.counts = unpack_from(f"<{terms}I", data, _COUNT.itemsize)
        self._count = sum(self.counts)
        names_at = self._ordinals_at + _POSTING_BYTES * self._count
        self.names = data[names_at:].split(_SEPARATOR)
        if names_at > len(data) or len(self.names) != terms:
            raise _no_block(data)

    @property
    def all(self) -> Postings:
        return self.postings(0, self._count)

    def postings(self, start: int, count: int) -> Postings:
        """So many of them, in the order of the terms."""
        lengths_at = self._ordinals_at + ORDINAL.itemsize * self._count
        frequencies_at = lengths_at + LENGTH.itemsize * self._count
        return Postings(
            ordinals=np.frombuffer(self._data, ORDINAL, count, self._ordinals_at + ORDINAL.itemsize * start),
            frequencies=np.frombuffer(self._data, FREQUENCY, count, frequencies_at + FREQUENCY.itemsize * start),
            lengths=np.frombuffer(self._data, LENGTH, count, lengths_at + LENGTH.itemsize * start),
        )


def _no_block(data: bytes) -> ValueError:
    return ValueError(f"These {len(data)} bytes are no block of postings.")


def _firsts(sizes: NDArray[np.int64]) -> list[int]:
    """Of each block its first term, by index. A term that fills a block has it for itself."""
    gathered = (np.cumsum(sizes) - sizes) // BLOCK_BYTES
    alone = sizes >= BLOCK_BYTES
    begins = np.ones(len(sizes), np.bool_)
    begins[1:] = (np.diff(gathered) > 0) | alone[1:] | alone[:-1]
    firsts: list[int] = np.flatnonzero(begins).tolist()
    return firsts
