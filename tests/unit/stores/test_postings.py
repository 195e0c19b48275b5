from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stores_app.lexical.postings import (
    MOST_FREQUENT,
    Members,
    Merger,
    Postings,
    build,
    pack_bitmap,
    unpack_bitmap,
)


def built(chunks: Iterable[tuple[int, Sequence[str]]]) -> tuple[Members, dict[str, Postings]]:
    """A new segment as it is read back."""
    members, postings = build(chunks)
    return members, {term: Postings.unpack(data) for term, data in postings.packed()}


def test_packing_is_reversed_by_unpacking() -> None:
    postings = Postings(
        ordinals=np.array([0, 7, 4_294_967_295], "<u4"),
        frequencies=np.array([1, 2, 65535], "<u2"),
        lengths=np.array([9, 8, 4_294_967_295], "<u4"),
    )
    packed = postings.pack()
    assert len(packed) == 30
    again = Postings.unpack(packed)
    assert again.ordinals.tolist() == [0, 7, 4_294_967_295]
    assert again.frequencies.tolist() == [1, 2, 65535]
    assert again.lengths.tolist() == [9, 8, 4_294_967_295]


def test_the_layout_is_little_endian_and_planar() -> None:
    postings = Postings(
        ordinals=np.array([1, 2], "<u4"), frequencies=np.array([3, 4], "<u2"), lengths=np.array([5, 6], "<u4")
    )
    assert postings.pack() == bytes.fromhex("01000000 02000000 0300 0400 05000000 06000000")


def test_bytes_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="10 bytes each"):
        Postings.unpack(b"123")


@settings(deadline=None)
@given(st.lists(st.booleans(), max_size=70))
def test_bitmaps_survive_packing(bits: list[bool]) -> None:
    mask = np.array(bits, np.bool_)
    packed = pack_bitmap(mask)
    assert (packed == b"") == (not any(bits))
    assert unpack_bitmap(packed, size=len(bits)).tolist() == bits


def test_a_segment_is_ordered_by_chunk_id_and_term() -> None:
    members, postings = built([(30, ["b", "a", "b"]), (10, ["b"]), (20, [])])
    assert members.chunk_ids.tolist() == [10, 20, 30]
    assert members.lengths.tolist() == [1, 0, 3]
    assert (members.size, members.live, members.live_length) == (3, 3, 4)
    assert list(postings) == ["a", "b"]
    assert postings["b"].ordinals.tolist() == [0, 2]
    assert postings["b"].frequencies.tolist() == [1, 2]
    assert postings["b"].lengths.tolist() == [1, 3]


def test_frequencies_saturate_and_lengths_do_not() -> None:
    _, postings = built([(1, ["a"] * (MOST_FREQUENT + 10))])
    assert postings["a"].frequencies.tolist() == [MOST_FREQUENT]
    assert postings["a"].lengths.tolist() == [MOST_FREQUENT + 10]


def test_removing_twice_or_the_unknown_changes_nothing() -> None:
    members, _ = built([(1, ["a"]), (2, ["a", "b"])])
    once = members.without([2, 99])
    assert (once.live, once.live_length) == (1, 1)
    twice = once.without([2])
    assert twice.dead.tolist() == once.dead.tolist()
    assert members.live == 2


def test_merging_keeps_order_and_leaves_the_dead_behind() -> None:
    first, of_first = built([(1, ["a"]), (5, ["a", "a"]), (9, ["b"])])
    second, of_second = built([(3, ["a", "b"]), (7, ["c"])])
    parts = {11: first.without([1]), 12: second.without([7])}
    merger = Merger(parts)
    assert merger.members.chunk_ids.tolist() == [3, 5, 9]
    merged = merger.merged([(12, of_second["a"]), (11, of_first["a"])])
    assert merged.ordinals.tolist() == [0, 1]
    assert merged.frequencies.tolist() == [1, 2]
    assert merged.lengths.tolist() == [2, 2]
    assert merger.merged([(12, of_second["c"])]).ordinals.tolist() == []


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(0, 60), st.lists(st.sampled_from("abcd"), max_size=6), min_size=2),
    st.data(),
)
def test_a_merge_equals_a_segment_built_of_the_survivors(texts: dict[int, list[str]], data: st.DataObject) -> None:
    part_of = {key: data.draw(st.integers(0, 2)) for key in texts}
    gone = data.draw(st.sets(st.sampled_from(sorted(texts)), max_size=len(texts) - 1))
    parts: dict[int, Members] = {}
    found: dict[str, list[tuple[int, Postings]]] = {}
    for part in set(part_of.values()):
        members, postings = built((key, texts[key]) for key in texts if part_of[key] == part)
        parts[part] = members.without(sorted(gone))
        for term, of_term in postings.items():
            found.setdefault(term, []).append((part, of_term))
    merger = Merger(parts)
    merged = {term: merger.merged(of_term) for term, of_term in sorted(found.items())}

    members, expected = built((key, terms) for key, terms in texts.items() if key not in gone)
    assert merger.members.chunk_ids.tolist() == members.chunk_ids.tolist()
    assert merger.members.lengths.tolist() == members.lengths.tolist()
    packed = {term: postings.pack() for term, postings in merged.items() if len(postings.ordinals)}
    assert packed == {term: postings.pack() for term, postings in expected.items()}
