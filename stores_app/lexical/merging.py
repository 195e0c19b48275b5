"""Which segments of a collection are worth writing anew.

Segments of similar size are merged eight at a time, so that a chunk is rewritten only as often as its
segment grows eightfold, and a collection of n chunks keeps few small ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

#: Segments of one tier at which they are merged; also the ratio between tiers.
FANOUT = 8
#: Segments with this many live chunks are left as they are: merging more of them takes longer than
#: other writers to the collection should wait, and makes a search hardly faster.
LARGE = 8192
#: And so are those with so many terms, each counted as often as it occurs: a merge holds its segments in memory.
LONG = 2_000_000
#: Deleted share from which a segment is written anew on its own.
MOST_DEAD = 0.3


@dataclass(frozen=True, kw_only=True)
class SegmentSize:
    segment_id: int
    #: Chunks, deleted ones included, and without them.
    size: int
    live: int
    #: Terms of the live chunks.
    live_length: int


def groups_to_merge(segments: Iterable[SegmentSize]) -> list[list[SegmentSize]]:
    """Groups that are each to become one segment, smallest first; no segment is in two of them."""
    tiers: defaultdict[int, list[SegmentSize]] = defaultdict(list)
    alone: list[SegmentSize] = []
    for segment in sorted(segments, key=lambda segment: segment.segment_id):
        if segment.live < LARGE and segment.live_length < LONG:
            tiers[_tier(segment.live)].append(segment)
        else:
            alone.append(segment)
    groups = []
    for _, tier in sorted(tiers.items()):
        full = len(tier) - len(tier) % FANOUT
        groups += [tier[start : start + FANOUT] for start in range(0, full, FANOUT)]
        alone += tier[full:]
    groups += [[segment] for segment in alone if _is_mostly_dead(segment)]
    return groups


def _tier(live: int) -> int:
    """The integer part of log8, without floating point."""
    return (max(live, 1).bit_length() - 1) // (FANOUT.bit_length() - 1)


def _is_mostly_dead(segment: SegmentSize) -> bool:
    return segment.size - segment.live > MOST_DEAD * segment.size
