"""Rows of single terms, as they were before 0005, become blocks that are read today."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stores_app.lexical.blocks import SegmentPostings, find

regrouped = import_module("stores_app.migrations.0005_posting_blocks")._blocks

TERMS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=20)
PLACES = st.dictionaries(
    st.integers(0, 2**32 - 1), st.tuples(st.integers(1, 65535), st.integers(1, 2**32 - 1)), min_size=1, max_size=120
)


def old_row(segment_id: int, term: str, places: dict[int, tuple[int, int]]) -> tuple[int, str, memoryview]:
    ordinals = sorted(places)
    data = np.array(ordinals, "<u4").tobytes()
    data += np.array([places[ordinal][0] for ordinal in ordinals], "<u2").tobytes()
    data += np.array([places[ordinal][1] for ordinal in ordinals], "<u4").tobytes()
    return segment_id, term, memoryview(data)


@given(st.lists(st.dictionaries(TERMS, PLACES, min_size=1, max_size=30), max_size=3))
def test_everything_is_found_again(segments: list[dict[str, dict[int, tuple[int, int]]]]) -> None:
    rows = [
        old_row(segment_id, term, places)
        for segment_id, terms in enumerate(segments)
        for term, places in sorted(terms.items())
    ]
    blocks = list(regrouped(rows))
    for segment_id, terms in enumerate(segments):
        own = [(first, data) for found, first, data in blocks if found == segment_id]
        assert [first for first, _ in own] == sorted(first for first, _ in own)
        assert list(SegmentPostings.of(data for _, data in own).terms) == sorted(terms)
        for term, places in terms.items():
            postings = find(term, [data for first, data in own if first <= term][-1])
            assert postings is not None
            found = zip(postings.frequencies.tolist(), postings.lengths.tolist(), strict=True)
            assert dict(zip(postings.ordinals.tolist(), found, strict=True)) == places
