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
        counts = np.concatenate([np.zeros(1, np.int64), *(part.counts for part in parts)])
        return cls(
            terms=[name.decode() for part in parts for name in part.names],
            bounds=np.cumsum(counts),
            ordinals=np.concatenate([np.empty(0, ORDINAL), *(part.all.ordinals for part in parts)]),
            frequencies=np.concatenate([np.empty(0, FREQUENCY), *(part.all.frequencies for part in parts)]),
        )


def find(term: str, block: bytes) -> Postings | None:
    """The term's postings if they are in the block, as views of its bytes. Raises ValueError for other bytes."""
    found = _Block(block)
    name = term.encode()
    try:
        place = found.names.index(name)
    except ValueError:
        return None
    start = int(found.counts[:place].sum())
    return found.all.between(start, start + int(found.counts[place]))


class _Block:
    """A block taken apart, without copying its postings."""

    def __init__(self, data: bytes) -> None:
        terms = int.from_bytes(data[: _COUNT.itemsize], "little")
        ordinals_at = _COUNT.itemsize * (1 + terms)
        self.counts = np.frombuffer(data, _COUNT, terms, _COUNT.itemsize)
        count = int(self.counts.sum())
        lengths_at = ordinals_at + ORDINAL.itemsize * count
        frequencies_at = lengths_at + LENGTH.itemsize * count
        names_at = frequencies_at + FREQUENCY.itemsize * count
        self.names = data[names_at:].split(_SEPARATOR)
        if names_at > len(data) or len(self.names) != terms:
            raise ValueError(f"These {len(data)} bytes are no block of postings.")
        self.all = Postings(
            ordinals=np.frombuffer(data, ORDINAL, count, ordinals_at),
            frequencies=np.frombuffer(data, FREQUENCY, count, frequencies_at),
            lengths=np.frombuffer(data, LENGTH, count, lengths_at),
        )


def _firsts(sizes: NDArray[np.int64]) -> list[int]:
    """Of each block its first term, by index. A term that fills a block has it for itself."""
    gathered = (np.cumsum(sizes) - sizes) // BLOCK_BYTES
    alone = sizes >= BLOCK_BYTES
    begins = np.ones(len(sizes), np.bool_)
    begins[1:] = (np.diff(gathered) > 0) | alone[1:] | alone[:-1]
    firsts: list[int] = np.flatnonzero(begins).tolist()
    return firsts
