"""What Milvus is asked for lets through at least what the filter does, and no text of a user ends an expression."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core_app.errors import Conflict
from core_app.providers import HeldChunk
from core_app.where import And, Compare, Not, Or, Where, parse_where

pytest.importorskip("pymilvus", reason="the extra `milvus` is not installed")
from connections_app.providers.milvus import MilvusProvider, MilvusSettings
from connections_app.providers.milvus_filters import literal, narrowed, one_of

ATTACKS = [
    'a" or id != "',
    "a' or id != '",
    '\\" or id != "',
    "\\",
    '\\\\"',
    "line\nend\r\ttab",
    "{x}",
    "%_",
    "ä 🫖",
    "\x00\x1f\x7f",
    "\u2028\u202e",
]


@pytest.fixture
def provider(tmp_path: Path, settings: Any) -> Any:
    settings.DATA_DIR = tmp_path
    made = MilvusProvider(MilvusSettings(folder="filters"))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("where", "expression"),
    [
        ({"lang": "de"}, 'metadata["lang"] == "de"'),
        ({"draft": True}, 'metadata["draft"] == true'),
        ({"year": 2024}, 'metadata["year"] >= 2024 and metadata["year"] <= 2024'),
        ({"year": {"$gt": 1.5}}, 'metadata["year"] > 1.5'),
        ({"lang": {"$in": ["a", "b"]}}, '(metadata["lang"] == "a") or (metadata["lang"] == "b")'),
        # Left to the filter: what holds without the key, dates, lists, patterns, texts, large numbers.
        ({"lang": {"$ne": "de"}}, None),
        ({"lang": {"$nin": ["de"]}}, None),
        ({"lang": {"$exists": True}}, None),
        ({"published": {"$gt": "2024-05-31"}}, None),
        ({"tags": {"$contains": "a"}}, None),
        ({"lang": {"$regex": "^d"}}, None),
        ({"#document": {"$contains": "a"}}, None),
        ({"n": 2**60}, None),
        ({"n": 1e300}, None),
        ({'a"] or 1 == 1 or metadata["b': "x"}, None),
        ({"a.b": "x"}, None),
        ({"lang": 'a" or id != "'}, 'metadata["lang"] == "a\\" or id != \\""'),
        ({"lang": "line\nend"}, None),
    ],
)
def test_a_condition_is_asked_for_only_where_it_means_the_same(where: Any, expression: str | None) -> None:
    assert narrowed(parse_where(where), field="metadata") == expression


def test_what_is_joined_leaves_out_only_what_may_be_left_out() -> None:
    known, unknown = Compare("a", "$eq", "x"), Compare("a", "$ne", "x")
    assert narrowed(And((known, unknown)), field="m") == '(m["a"] == "x")'
    assert narrowed(Or((known, unknown)), field="m") is None
    assert narrowed(Or((known, known)), field="m") == '(m["a"] == "x") or (m["a"] == "x")'
    assert narrowed(Not(known), field="m") is None
    assert narrowed(None, field="m") is None


@given(st.text())
def test_nothing_in_a_string_ends_it(text: str) -> None:
    written = literal(text)
    assert written[0] == written[-1] == '"'
    inner = written[1:-1]
    assert "\n" not in inner
    assert '"' not in inner.replace("\\\\", "").replace('\\"', "")
    assert not inner.replace("\\\\", "").endswith("\\")


def test_keys_of_an_expression() -> None:
    assert one_of("id", ['a"', "b"]) == 'id in ["a\\"", "b"]'
    assert one_of("pk", [1, -2]) == "pk in [1, -2]"


def test_ids_and_values_of_any_text_name_what_they_are(provider: Any) -> None:
    """On the real thing: an id or a value that looks like an expression touches nothing else."""
    provider.create_collection(name="attacks", metadata={}, distance="l2")
    vector = np.ones(3, dtype=np.float32)
    chunks = [HeldChunk(id=text, text=text, metadata={"k": text}, embedding=vector) for text in [*ATTACKS, "plain"]]
    provider.add(name="attacks", chunks=chunks)
    for text in ATTACKS:
        assert provider.get_chunk(name="attacks", chunk_id=text, with_embedding=False).text == text
        where: Where = Compare("k", "$eq", text)
        found = provider.list_chunks(name="attacks", where=where, limit=10, offset=0, with_embeddings=False)
        assert [one.id for one in found.chunks] == [text]
        assert provider.delete_chunks(name="attacks", ids=[text], where=None) == 1
    assert provider.get_collection(name="attacks").count == 1


def test_names_of_any_text_are_kept(provider: Any) -> None:
    names = ["ragsite_x", "ragsite_collections", "1 a", "ä", "a-b", 'q"', "x" * 512, "documents"]
    for name in names:
        provider.create_collection(name=name, metadata={"n": name}, distance="cosine")
        provider.add(
            name=name, chunks=[HeldChunk(id=name, text="", metadata={}, embedding=np.ones(2, dtype=np.float32))]
        )
    listed = provider.list_collections(limit=None, offset=0).collections
    assert {one.name: (one.metadata["n"], one.count) for one in listed} == {name: (name, 1) for name in names}


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable()))
def test_a_literal_is_read_as_it_was_meant(provider: Any, text: str) -> None:
    with suppress(Conflict):  # there from the example before
        provider.create_collection(name="literals", metadata={}, distance="l2")
    vector = np.ones(2, dtype=np.float32)
    provider.add(name="literals", chunks=[HeldChunk(id=text, text="", metadata={"k": text}, embedding=vector)])
    found = provider.list_chunks(
        name="literals", where=Compare("k", "$eq", text), limit=10, offset=0, with_embeddings=False
    )
    assert [one.id for one in found.chunks] == [text]
