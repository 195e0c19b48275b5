"""What every provider does with chunks (A4, A7): the same calls, the same answers, the same errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core_app.errors import InvalidInput, NotFound
from core_app.json_values import is_same_json
from core_app.providers import Capability, HeldChunk, Provider
from core_app.where import Compare
from tests.contracts.calls import DIMENSION, GENERATOR, Collections, chunk, ids, listed, nearest

ONES = np.ones(DIMENSION, dtype=np.float32)


def test_a_4_what_is_added_is_found_as_it_was(provider: Provider, collection: Collections) -> None:
    name = collection().name
    sent = chunk("ä b", "Text with\nlines, “quotes” and 🫖", lang="de", year=2024, draft=False, price=1.5)
    provider.add(name=name, chunks=[sent, chunk("b")])
    found = provider.get_chunk(name=name, chunk_id="ä b", with_embedding=True)
    assert (found.text, dict(found.metadata)) == (sent.text, dict(sent.metadata))
    assert found.embedding is not None
    assert np.allclose(found.embedding, np.asarray(sent.embedding), rtol=1e-6)
    assert provider.get_collection(name=name).count in {2, None}
    with pytest.raises(NotFound):
        provider.get_chunk(name=name, chunk_id="c", with_embedding=False)


def test_nested_metadata_stay_as_they_are(provider: Provider, collection: Collections) -> None:
    if Capability.NESTED_METADATA not in provider.capabilities:
        pytest.skip("the provider declares no nested metadata")
    name = collection().name
    metadata: dict[str, Any] = {"deep": {"list": [1, {"a": None}], "empty": []}, "none": None}
    provider.add(name=name, chunks=[chunk("a", **metadata)])
    assert dict(provider.get_chunk(name=name, chunk_id="a", with_embedding=False).metadata) == metadata


def test_a_chunk_is_changed(provider: Provider, collection: Collections) -> None:
    """Metadata are merged, a text comes with its embedding."""
    name = collection().name
    provider.add(name=name, chunks=[chunk("a", "old", n=1, m=2)])

    def change(**more: Any) -> HeldChunk:
        return provider.change_chunk(
            name=name, chunk_id="a", **{"metadata": None, "text": None, "embedding": None} | more
        )

    assert dict(change(metadata={"m": 3, "k": "v"}).metadata) == {"n": 1, "m": 3, "k": "v"}
    assert change(text="new", embedding=np.ones(DIMENSION, dtype=np.float32)).text == "new"
    found = provider.get_chunk(name=name, chunk_id="a", with_embedding=True)
    assert (found.text, dict(found.metadata)) == ("new", {"n": 1, "m": 3, "k": "v"})
    assert found.embedding is not None
    assert np.allclose(found.embedding, 1.0)
    with pytest.raises(NotFound):
        provider.change_chunk(name=name, chunk_id="b", metadata={"m": 3}, text=None, embedding=None)


def test_an_id_that_is_sent_again_is_replaced(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk("a", "old", n=1), chunk("b", "other")])
    provider.add(name=name, chunks=[chunk("a", "new", m=2)])
    found = {one.id: (one.text, dict(one.metadata)) for one in listed(provider, name)}
    assert found == {"a": ("new", {"m": 2}), "b": ("other", {})}


def test_another_dimension_is_refused_and_nothing_is_kept(provider: Provider, collection: Collections) -> None:
    """A4.4."""
    name = collection().name
    provider.add(name=name, chunks=[chunk("a")])
    with pytest.raises(InvalidInput):
        provider.add(name=name, chunks=[chunk("b"), chunk("c", embedding=[1.0, 2.0])])
    assert ids(listed(provider, name)) == ["a"]
    with pytest.raises(InvalidInput):
        nearest(provider, name, np.ones(3, dtype=np.float32), 1)


def test_a_change_to_another_dimension_is_refused(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk("a", "old")])
    with pytest.raises(InvalidInput):
        provider.change_chunk(
            name=name, chunk_id="a", metadata={"n": 1}, text="new", embedding=np.ones(3, dtype=np.float32)
        )
    found = provider.get_chunk(name=name, chunk_id="a", with_embedding=True)
    assert (found.text, dict(found.metadata)) == ("old", {})
    assert found.embedding is not None
    assert len(found.embedding) == DIMENSION


ODD_IDS = [
    "a b", " a", "a/b", "a\\b", "..", "all", "%2F", "a?b#c&d=e", "'a\"b`", "{}", "$a", "a.b", "a,b", "[1]", "null", "0",
    "ä", "a\u0308", "🫖", "العربية", "a\tb", "a\nb", "A", "x" * 500,
]  # fmt: skip


def test_ids_are_taken_as_they_are(provider: Provider, collection: Collections) -> None:
    """Each names one chunk, and no other."""
    name = collection().name
    provider.add(name=name, chunks=[chunk(key, key, number=number) for number, key in enumerate(ODD_IDS)])
    assert [(one.id, one.text) for one in listed(provider, name)] == [(key, key) for key in ODD_IDS]
    left = list(ODD_IDS)
    for key in ODD_IDS[::2]:
        assert provider.delete_chunks(name=name, ids=[key], where=None) == 1
        left.remove(key)
        assert ids(listed(provider, name)) == left
    provider.add(name=name, chunks=[chunk(key, "new") for key in left])
    assert [(one.id, one.text) for one in listed(provider, name)] == [(key, "new") for key in left]


@pytest.mark.parametrize(
    "metadata",
    [
        {"number": 2**53 + 1},
        {"number": 2**63 - 1},
        {"number": -(2**63)},
        {"number": 0.1},
        {"number": 1.7e308},
        {"number": -5e-324},
        {"number": 1e22},
        {"flag": True, "number": 1, "real": 1.5},
        {"schlüssel": "a\u0308", "鍵": "العربية", "🫖": "🧑‍🌾", "a.b": "", "$a": "'\"\\", " ": "\ufeff\u2028\x7f"},
    ],
    ids=repr,
)
def test_metadata_stay_as_they_are(provider: Provider, collection: Collections, metadata: dict[str, Any]) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk("a"), HeldChunk(id="b", text="", metadata=metadata, embedding=ONES)])
    found = provider.get_chunk(name=name, chunk_id="b", with_embedding=False).metadata
    # A large real number without a fraction may come back as a whole one.
    read = {key: float(value) if type(metadata[key]) is float else value for key, value in found.items()}
    assert is_same_json(read, metadata)
    assert {key: type(value) is bool for key, value in found.items()} == {
        key: type(value) is bool for key, value in metadata.items()
    }


#: Labels of providers that hold no megabyte of text.
SHORT_OF_BREATH = {"Milvus"}


@pytest.mark.parametrize(
    "text",
    ["Tee \u00e4 a\u0308 🧑‍🌾 العربية \u202e \ufeff\r\n\t\x7f\u2028", "", " ", "Wörter " * 150_000],
    ids=["signs", "empty", "blank", "megabyte"],
)
def test_texts_stay_as_they_are(provider: Provider, collection: Collections, text: str) -> None:
    """Up to a megabyte; a store that cannot hold so much says so, and keeps nothing."""
    name = collection().name
    sent = [chunk("a", text), chunk("b", "beside")]
    if len(text) > 10_000 and provider.label in SHORT_OF_BREATH:
        with pytest.raises(InvalidInput, match="bytes"):
            provider.add(name=name, chunks=sent)
        assert listed(provider, name) == []
        return
    provider.add(name=name, chunks=sent)
    assert provider.get_chunk(name=name, chunk_id="a", with_embedding=False).text == text
    assert [one.text for one in listed(provider, name)] == [text, "beside"]


def test_chunks_come_in_the_order_in_which_they_were_added(provider: Provider, collection: Collections) -> None:
    name = collection().name
    order = [f"{number:02}" for number in GENERATOR.permutation(30)]
    provider.add(name=name, chunks=[chunk(key) for key in order[:20]])
    provider.add(name=name, chunks=[chunk(key) for key in order[20:]])
    pages = [
        provider.list_chunks(name=name, where=None, limit=7, offset=offset, with_embeddings=False)
        for offset in range(0, 30, 7)
    ]
    assert [one.id for page in pages for one in page.chunks] == order
    assert {page.total for page in pages} == {30}


def test_a_scan_finds_every_chunk_once(provider: Provider, collection: Collections) -> None:
    """What was there at its beginning, and stays."""
    name = collection().name
    sent = {f"{number}": chunk(f"{number}", f"text {number}", n=number) for number in range(25)}
    provider.add(name=name, chunks=list(sent.values()))
    part = provider.scan(name=name, after=None, limit=10)
    found = list(part.chunks)
    provider.delete_chunks(name=name, ids=[found[0].id, found[3].id], where=None)
    provider.add(name=name, chunks=[chunk("late")])
    while part.after is not None:
        part = provider.scan(name=name, after=part.after, limit=10)
        assert len(part.chunks) <= 10
        found += part.chunks
    assert sorted(set(ids(found)) | {"late"}) == sorted([*sent, "late"])
    assert len(found) == len(set(ids(found)))
    for one in found:
        if one.id != "late":
            assert (one.text, dict(one.metadata)) == (sent[one.id].text, dict(sent[one.id].metadata))
            assert one.embedding is not None
            np.testing.assert_allclose(one.embedding, np.asarray(sent[one.id].embedding), rtol=1e-6)


def test_a_scan_of_nothing_is_over(provider: Provider, collection: Collections) -> None:
    name = collection().name
    part = provider.scan(name=name, after=None, limit=10)
    assert (list(part.chunks), part.after) == ([], None)


def test_a_7_values_of_a_key(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk("a", lang="de"), chunk("b", lang="en"), chunk("c", lang="de"), chunk("d")])
    assert list(provider.metadata_values(name=name, key="lang").values) == ["de", "en"]
    assert not provider.metadata_values(name=name, key="nowhere").values


def test_chunks_are_deleted_by_id_and_by_filter(provider: Provider, collection: Collections) -> None:
    name = collection().name
    provider.add(name=name, chunks=[chunk(f"{number}", n=number) for number in range(10)])
    assert provider.delete_chunks(name=name, ids=["1", "2", "nowhere"], where=None) == 2
    assert provider.delete_chunks(name=name, ids=None, where=Compare("n", "$gte", 7)) == 3
    assert ids(listed(provider, name)) == ["0", "3", "4", "5", "6"]
    found = nearest(provider, name, np.ones(DIMENSION, dtype=np.float32), 20)
    assert sorted(one.chunk.id for one in found) == ["0", "3", "4", "5", "6"]
