"""Statements that name an index, and what may become part of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core_app.ports import DistanceName, Space
from stores_app.hnsw import VectorIndex, composed

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


def test_the_name_tells_generation_and_watermark() -> None:
    assert VectorIndex(generation_id=12, watermark=3456).name == "stores_vector_hnsw_g12_w3456"
    longest = VectorIndex(generation_id=2**63 - 1, watermark=2**63 - 1).name
    assert len(longest) < 64, "Postgres cuts longer names"
