"""Segments: their chunks, their postings in blocks, and merging them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stores_app.lexical import blocks, building
from stores_app.lexical.blocks import SegmentPostings, find
from stores_app.lexical.building import build, merge
from stores_app.lexical.postings import MOST_FREQUENT, Members, pack_bitmap, unpack_bitmap

Packed = list[tuple[str, bytes]]


def built(chunks: Iterable[tuple[int, Sequence[str]]]) -> tuple[Members, Packed]:
    """A new segment as it is written."""
    ordered = sorted(chunks)
    lengths, postings = build([terms for _, terms in ordered])
    ids = np.array([chunk_id for chunk_id, _ in ordered], "<i8")
    return Members(chunk_ids=ids, lengths=lengths, dead=np.zeros(len(ids), np.bool_)), list(postings.blocks(lengths))


def shown(packed: Packed, term: str) -> tuple[list[int], list[int], list[int]] | None:
    """Ordinals, frequencies and lengths of a term."""
    found = [postings for _, data in packed if (postings := find(term, data))]
    assert len(found) < 2
    return (found[0].ordinals.tolist(), found[0].frequencies.tolist(), found[0].lengths.tolist()) if found else None


def merged(*parts: tuple[Members, Packed]) -> tuple[Members, Packed]:
    members, portions = merge([(members, SegmentPostings.of(data for _, data in packed)) for members, packed in parts])
    return members, [block for postings in portions for block in postings.blocks(members.lengths)]


def test_a_block_is_little_endian_and_planar() -> None:
    _, [(first, data)] = built([(1, ["b", "ab", "b"]), (2, []), (3, ["b"])])
    assert first == "ab"
    assert (
        data
        == bytes.fromhex(
            "02000000  01000000 02000000  00000000 00000000 02000000  03000000 03000000 01000000  0100 0200 0100"
        )
        + b"ab\0b"
    )


def test_rare_terms_share_a_block_and_a_frequent_one_has_its_own() -> None:
    rare = [f"rare{number:03d}" for number in range(100)]
    _, packed = built((number, ["frequent", rare[number % 100]]) for number in range(300))
    (own,) = [data for first, data in packed if first == "frequent"]
    assert shown([("", own)], "rare000") is None
    assert len(own) > 3000
    others = [len(data) for first, data in packed if first != "frequent"]
    assert len(others) == 5
    assert max(others) < 2 * blocks.BLOCK_BYTES
    assert [first for first, _ in packed] == sorted(first for first, _ in packed)
    assert all(shown(packed, term) is not None for term in rare)


def test_a_term_that_would_be_in_a_block_and_is_not() -> None:
    _, packed = built([(1, ["a", "ccc", "e"])])
    for absent in ("", "b", "c", "cc", "cccc", "f", "a\0ccc"):
        assert shown(packed, absent) is None


@pytest.mark.parametrize("data", [b"", b"\x01\0\0\0", bytes(12), b"\x02\0\0\0" + bytes(8) + b"one"])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"buffer|no block of postings"):
        find("a", data)


@settings(deadline=None)
@given(st.lists(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1)), max_size=8))
def test_all_terms_are_read_as_they_were_written(documents: list[list[str]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blocks, "BLOCK_BYTES", 60)
        lengths, postings = build(documents)
        packed = list(postings.blocks(lengths))
    again = SegmentPostings.of(data for _, data in packed)
    assert list(again.terms) == sorted({term for terms in documents for term in terms}, key=str.encode)
    assert (again.bounds.tolist(), again.ordinals.tolist()) == (postings.bounds.tolist(), postings.ordinals.tolist())
    for term in again.terms:
        expected = [(at, terms.count(term), len(terms)) for at, terms in enumerate(documents) if term in terms]
        found = shown(packed, term)
        assert found is not None
        assert list(zip(*found, strict=True)) == expected


@settings(deadline=None)
@given(st.lists(st.booleans(), max_size=70))
def test_bitmaps_survive_packing(bits: list[bool]) -> None:
    mask = np.array(bits, np.bool_)
    packed = pack_bitmap(mask)
    assert (packed == b"") == (not any(bits))
    assert unpack_bitmap(packed, size=len(bits)).tolist() == bits


def test_a_segment_knows_its_chunks() -> None:
    members, packed = built([(30, ["b", "a", "b"]), (10, ["b"]), (20, [])])
    assert members.chunk_ids.tolist() == [10, 20, 30]
    assert members.lengths.tolist() == [1, 0, 3]
    assert (members.size, members.live, members.live_length) == (3, 3, 4)
    assert shown(packed, "a") == ([2], [1], [3])
    assert shown(packed, "b") == ([0, 2], [1, 2], [1, 3])


def test_a_segment_without_words_has_no_block() -> None:
    members, packed = built([(1, []), (2, [])])
    assert (members.size, packed) == (2, [])
    assert merged((members, packed), built([]))[1] == []


def test_frequencies_saturate_and_lengths_do_not() -> None:
    _, packed = built([(1, ["a"] * (MOST_FREQUENT + 10))])
    assert shown(packed, "a") == ([0], [MOST_FREQUENT], [MOST_FREQUENT + 10])


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
    members, packed = merged((first.without([1]), of_first), (second.without([7]), of_second))
    assert members.chunk_ids.tolist() == [3, 5, 9]
    assert shown(packed, "a") == ([0, 1], [1, 2], [2, 2])
    assert shown(packed, "b") == ([0, 2], [1, 1], [2, 1])
    assert shown(packed, "c") is None


@settings(deadline=None)
@given(
    st.dictionaries(st.integers(0, 60), st.lists(st.sampled_from("abcd"), max_size=6), min_size=2),
    st.integers(1, 5),
    st.data(),
)
def test_a_merge_equals_a_segment_built_of_the_survivors(
    texts: dict[int, list[str]], portion: int, data: st.DataObject
) -> None:
    part_of = {key: data.draw(st.integers(0, 2)) for key in texts}
    gone = data.draw(st.sets(st.sampled_from(sorted(texts)), max_size=len(texts) - 1))
    parts = []
    for part in set(part_of.values()):
        members, packed = built((key, texts[key]) for key in texts if part_of[key] == part)
        parts.append((members.without(sorted(gone)), packed))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(building, "_SORTED_AT_ONCE", portion)
        members, found = merged(*parts)
    expected_members, expected = built((key, terms) for key, terms in texts.items() if key not in gone)
    assert members.chunk_ids.tolist() == expected_members.chunk_ids.tolist()
    assert members.lengths.tolist() == expected_members.lengths.tolist()
    assert {term: shown(found, term) for term in "abcd"} == {term: shown(expected, term) for term in "abcd"}
