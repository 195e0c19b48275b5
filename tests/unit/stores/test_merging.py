from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from stores_app.lexical.merging import FANOUT, LARGE, MOST_TERMS, SegmentSize, groups_to_merge


def sizes(*live: int) -> list[SegmentSize]:
    return [
        SegmentSize(segment_id=index, size=count, live=count, length=count) for index, count in enumerate(live, start=1)
    ]


def ids(segments: list[SegmentSize]) -> list[list[int]]:
    return [[segment.segment_id for segment in group] for group in groups_to_merge(segments)]


def test_eight_segments_of_one_tier_are_merged_and_seven_are_not() -> None:
    assert ids(sizes(*[1] * 7)) == []
    assert ids(sizes(*[1] * 8)) == [[1, 2, 3, 4, 5, 6, 7, 8]]
    assert ids(sizes(*[7] * 4, *[8] * 4)) == []
    assert ids(sizes(*[8] * 4, *[63] * 4)) == [[1, 2, 3, 4, 5, 6, 7, 8]]
    assert [len(group) for group in ids(sizes(*[1] * 23))] == [8, 8]


def test_large_segments_are_left_as_they_are() -> None:
    assert ids(sizes(*[LARGE] * 20)) == []


def long_segments(*lengths: int, dead: int = 0) -> list[SegmentSize]:
    return [
        SegmentSize(segment_id=index, size=1000 + dead, live=1000, length=length)
        for index, length in enumerate(lengths, start=1)
    ]


def test_no_more_is_merged_at_a_time_than_other_writers_wait_for() -> None:
    eighth = MOST_TERMS // FANOUT
    assert [len(group) for group in ids(long_segments(*[eighth] * 20))] == [8, 8]
    assert ids(long_segments(*[eighth + 1] * 20)) == []


def test_long_segments_keep_no_shorter_ones_from_being_merged() -> None:
    assert ids(long_segments(*[MOST_TERMS] * 8, *[10] * 8)) == [[9, 10, 11, 12, 13, 14, 15, 16]]


def test_a_long_segment_is_not_written_anew_however_much_of_it_is_dead() -> None:
    """Deleted chunks count: their postings are read all the same."""
    assert ids(long_segments(MOST_TERMS, dead=9000)) == [[1]]
    assert ids(long_segments(MOST_TERMS + 1, dead=9000)) == []
    assert ids(long_segments(*[MOST_TERMS] * 8, dead=9000)) == [[n] for n in range(1, 9)]


def test_mostly_dead_segments_are_written_anew_on_their_own() -> None:
    segments = [
        SegmentSize(segment_id=1, size=10, live=7, length=70),
        SegmentSize(segment_id=2, size=10, live=6, length=60),
        SegmentSize(segment_id=3, size=100_000, live=60_000, length=60_000),
    ]
    assert ids(segments) == [[3], [2]]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 100_000), st.floats(0, 1)), max_size=80))
def test_no_segment_is_merged_twice_and_few_remain(shapes: list[tuple[int, float]]) -> None:
    segments = [
        SegmentSize(segment_id=index, size=size, live=max(1, int(size * share)), length=size)
        for index, (size, share) in enumerate(shapes)
    ]
    groups = groups_to_merge(segments)
    merged = [segment.segment_id for group in groups for segment in group]
    assert len(merged) == len(set(merged))
    assert {len(group) for group in groups} <= {1, FANOUT}
    small = sum(segment.live < LARGE for segment in segments)
    assert small - sum(len(group) for group in groups if len(group) == FANOUT) <= 5 * (FANOUT - 1)
