"""Statements that name an index, and what may become part of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core_app.ports import DistanceName, Space
from stores_app.hnsw import VectorIndex, composed, newest

SPACE = Space(collection_id=1, generation_id=12, dimension=384, distance="cosine")


@pytest.mark.parametrize(
    ("distance", "order"),
    [
        ("cosine", "l2_normalize(embedding)::halfvec(384) <#> l2_normalize(%(query)s::vector)::halfvec(384)"),
        ("l2", "embedding::halfvec(384) <-> %(query)s::vector::halfvec(384)"),
        ("ip", "embedding::halfvec(384) <#> %(query)s::vector::halfvec(384)"),
    ],
)
def test_keys_are_written_out_so_that_a_partial_index_is_recognised(distance: DistanceName, order: str) -> None:
    query = composed("nearest_indexed", space=replace(SPACE, distance=distance), watermark=3456).as_string()
    assert "generation_id = 12 AND chunk_id <= 3456\n" in query
    assert order in query
    assert composed("nearest_indexed", space=SPACE, watermark=2**62).as_string().count(f"{2**62}") == 2


@pytest.mark.parametrize("generation", [-1, 2**63])
def test_what_is_no_key_is_refused(generation: int) -> None:
    with pytest.raises(ValueError, match="no key"):
        composed("nearest", space=replace(SPACE, generation_id=generation))


def test_text_is_no_key_whatever_the_types_say() -> None:
    text: Any = "1 OR TRUE"
    with pytest.raises(TypeError):
        composed("nearest", space=replace(SPACE, generation_id=text))


def test_the_name_tells_generation_watermark_and_number() -> None:
    assert VectorIndex(generation_id=12, watermark=3456, rows=789).name == "stores_hnsw_g12_w3456_n789"
    longest = VectorIndex(generation_id=10**15, watermark=10**15, rows=10**12).name
    assert len(longest) < 64, "Postgres cuts longer names"


def test_of_two_whole_indexes_the_later_is_the_newest_and_then_the_one_with_less_gone() -> None:
    old, worn, new = (
        VectorIndex(generation_id=1, watermark=watermark, rows=rows, is_valid=True)
        for watermark, rows in ((5, 5), (9, 9), (9, 8))
    )
    unfinished = replace(new, watermark=20, is_valid=False)
    assert newest([old, new, worn, unfinished]) == new
    assert newest([unfinished]) is None
