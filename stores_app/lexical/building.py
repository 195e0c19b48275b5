"""New segments: of chunks' terms, and of the live chunks of other segments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, count, pairwise

import numpy as np
from numpy.typing import NDArray

from stores_app.lexical.blocks import SegmentPostings
from stores_app.lexical.postings import FREQUENCY, LENGTH, MOST_FREQUENT, Members, Ordinals

#: Postings that are sorted at a time while segments are merged: some 100 MB.
_SORTED_AT_ONCE = 1 << 21


def build(documents: Sequence[Sequence[str]]) -> tuple[NDArray[np.uint32], SegmentPostings]:
    """Lengths and postings of chunks, given by their terms in the order of their ids."""
    lengths = np.fromiter(map(len, documents), LENGTH, len(documents))
    # Terms as numbers, in the order in which they were first met: looking one up then costs no Python.
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    occurrences = np.fromiter(
        map(numbers.__getitem__, chain.from_iterable(documents)), np.int64, int(lengths.sum(dtype=np.int64))
    )
    terms = sorted(numbers)
    rank = np.empty(len(terms), np.int64)
    rank[np.fromiter(map(numbers.__getitem__, terms), np.int64, len(terms))] = np.arange(len(terms))
    places = np.repeat(np.arange(len(documents), dtype=np.int64), lengths)
    size = max(len(documents), 1)
    pairs, counts = np.unique(rank[occurrences] * size + places, return_counts=True)
    frequencies = np.minimum(counts, MOST_FREQUENT).astype(FREQUENCY)
    return lengths, _of_pairs(terms, pairs, frequencies, size=size)


def merge(parts: Sequence[tuple[Members, SegmentPostings]]) -> tuple[Members, Iterator[SegmentPostings]]:
    """One segment of what is live in others; its postings in some portions, each with later terms than the one before.

    Postings whose chunks are all deleted leave nothing.
    """
    members, renumbered = _joined([members for members, _ in parts])
    return members, _merged([postings for _, postings in parts], renumbered, size=max(members.size, 1))


def _joined(parts: Sequence[Members]) -> tuple[Members, list[Ordinals]]:
    """The live chunks of all, and for each part its old ordinals' new ones, -1 for the deleted."""
    alive = [~part.dead for part in parts]
    ids = np.concatenate([part.chunk_ids[live] for part, live in zip(parts, alive, strict=True)])
    lengths = np.concatenate([part.lengths[live] for part, live in zip(parts, alive, strict=True)])
    order = np.argsort(ids, kind="stable")
    place = np.empty(len(ids), np.int64)
    place[order] = np.arange(len(ids))
    renumbered, start = [], 0
    for live in alive:
        count = int(np.count_nonzero(live))
        new = np.full(len(live), -1, np.int64)
        new[live] = place[start : start + count]
        renumbered.append(new)
        start += count
    return Members(chunk_ids=ids[order], lengths=lengths[order], dead=np.zeros(len(ids), np.bool_)), renumbered


def _merged(
    parts: Sequence[SegmentPostings], renumbered: Sequence[Ordinals], *, size: int
) -> Iterator[SegmentPostings]:
    terms = sorted({term for part in parts for term in part.terms})
    ranks_by_term = {term: rank for rank, term in enumerate(terms)}
    ranks = [np.fromiter(map(ranks_by_term.__getitem__, part.terms), np.int64, len(part.terms)) for part in parts]
    for low, high in _portions(parts, ranks, len(terms)):
        pairs, frequencies = [], []
        for part, rank, new in zip(parts, ranks, renumbered, strict=True):
            first, end = np.searchsorted(rank, [low, high])
            chosen = slice(part.bounds[first], part.bounds[end])
            places = new[part.ordinals[chosen]]
            found = np.repeat(rank[first:end], np.diff(part.bounds[first : end + 1])) * size + places
            pairs.append(found[places >= 0])
            frequencies.append(part.frequencies[chosen][places >= 0])
        together = np.concatenate(pairs)
        order = np.argsort(together, kind="stable")
        yield _of_pairs(terms, together[order], np.concatenate(frequencies)[order], size=size)


def _portions(parts: Sequence[SegmentPostings], ranks: Sequence[Ordinals], terms: int) -> Iterator[tuple[int, int]]:
    """Ranges of ranks that have about so many postings as are sorted at once; of one term always all."""
    counts = np.zeros(terms, np.int64)
    for part, rank in zip(parts, ranks, strict=True):
        counts[rank] += np.diff(part.bounds)
    portion = (np.cumsum(counts) - counts) // _SORTED_AT_ONCE
    yield from pairwise([*np.flatnonzero(np.diff(portion, prepend=-1)).tolist(), terms])


def _of_pairs(
    terms: Sequence[str], pairs: NDArray[np.int64], frequencies: NDArray[np.uint16], *, size: int
) -> SegmentPostings:
    """Postings given as `rank of the term * size + ordinal`, ascending, with the frequency of each."""
    ranks, ordinals = np.divmod(pairs, size)
    starts = np.flatnonzero(np.diff(ranks, prepend=-1))
    return SegmentPostings(
        terms=[terms[rank] for rank in ranks[starts].tolist()],
        bounds=np.append(starts, len(pairs)),
        ordinals=ordinals.astype(np.uint32),
        frequencies=frequencies,
    )
