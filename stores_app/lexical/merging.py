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
#: Terms, each counted as often as it occurs, that are merged or written anew in one go. Where all of them are rare it
#: takes some 5 s, and other writers wait no longer than 10 (VectorDatabase:LockTimeoutSeconds).
MOST_TERMS = 1_500_000
#: Deleted share from which a segment is written anew on its own.
MOST_DEAD = 0.3


@dataclass(frozen=True, kw_only=True)
class SegmentSize:
    segment_id: int
    #: Chunks, deleted ones included, and without them.
    size: int
    live: int
    #: Terms of all chunks, of the deleted ones too: they have to be read to be left out.
    length: int


def groups_to_merge(segments: Iterable[SegmentSize]) -> list[list[SegmentSize]]:
    """Groups that are each to become one segment, smallest first; no segment is in two of them."""
    tiers: defaultdict[int, list[SegmentSize]] = defaultdict(list)
    alone: list[SegmentSize] = []
    for segment in sorted(segments, key=lambda segment: segment.segment_id):
        if segment.live < LARGE:
            tiers[_tier(segment.live)].append(segment)
        else:
            alone.append(segment)
    groups = []
    for _, tier in sorted(tiers.items()):
        # The shorter ones together: eight that are too long for a merge keep no others from theirs.
        tier.sort(key=lambda segment: segment.length)
        eights = [tier[start : start + FANOUT] for start in range(0, len(tier), FANOUT)]
        fit = [eight for eight in eights if len(eight) == FANOUT and terms(eight) <= MOST_TERMS]
        groups += fit
        alone += tier[len(fit) * FANOUT :]
    groups += [[segment] for segment in alone if _is_mostly_dead(segment) and segment.length <= MOST_TERMS]
    return groups


def terms(segments: Iterable[SegmentSize]) -> int:
    """Of all their chunks together."""
    return sum(segment.length for segment in segments)


def _tier(live: int) -> int:
    """The integer part of log8, without floating point."""
    return (max(live, 1).bit_length() - 1) // (FANOUT.bit_length() - 1)


def _is_mostly_dead(segment: SegmentSize) -> bool:
    return segment.size - segment.live > MOST_DEAD * segment.size
