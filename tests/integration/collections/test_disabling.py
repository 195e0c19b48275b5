"""Passages that are disabled: stored, shown, and found by no search until they are enabled again."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from django.test import Client

from collections_app.adding import NewChunk, add_chunks
from collections_app.disabling import set_disabled
from collections_app.models import Chunk, Collection, Document, KeptVector
from collections_app.reading import get_chunk, list_chunks, metadata_values
from collections_app.removing import delete_chunks
from collections_app.services import create_collection
from core_app.errors import NotFound
from core_app.where import parse_where
from ingest_app.rewording import set_language
from search_app.asking import Expansion
from search_app.nearest import nearest
from search_app.services import search, search_collections
from stores_app.models import Vector
from tests.integration.ingest.filling import ingest

pytestmark = pytest.mark.django_db

TEXTS = ("Ducks eat small fish.", "Geese eat grass and ducks do not.", "Foxes eat ducks, and ducks know it.")
ALWAYS = parse_where({"source": {"$in": ["s0", "s1", "s2"]}})
ONLY_S2 = parse_where({"source": "s2"})


@pytest.fixture
def pond() -> Collection:
    made = create_collection(name="pond")
    ingest("pond", *TEXTS)
    return made


def of(source: str, collection: str = "pond") -> Chunk:
    return Chunk.objects.get(collection__name=collection, document__source=source)


def disable(source: str, disabled: bool = True) -> Chunk:
    return set_disabled(collection_name="pond", external_id=of(source).external_id, disabled=disabled)


def found(query: str = "ducks", **more: Any) -> dict[str, float]:
    """What a search finds: ids and scores."""
    given: dict[str, Any] = {"collection_name": "pond", "query": query, "top_k": 10, **more}
    return {hit.id: hit.score for hit in search(**given).hits}


WAYS: list[dict[str, Any]] = [
    {"mode": "fast"},
    {"mode": "balanced"},
    {"legs": "lexical"},
    {"legs": "dense"},
    {"mode": "balanced", "where": ALWAYS},
    {"legs": "lexical", "where": ALWAYS},
    {"legs": "dense", "where": ALWAYS},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_no_search_finds_it_until_it_is_enabled(pond: Collection, way: dict[str, Any]) -> None:
    before = found(**way)
    assert len(before) == 3
    gone = disable("s2").external_id
    assert found(**way).keys() == before.keys() - {gone}
    disable("s2", False)
    assert found(**way) == pytest.approx(before)


def test_the_nearest_of_a_vector_are_others(pond: Collection) -> None:
    vector = get_chunk(collection_name="pond", external_id=of("s2").external_id, with_embedding=True).embedding
    assert vector is not None
    ((first, *_),) = nearest(collection_name="pond", queries=[vector])
    assert first.id == of("s2").external_id
    disable("s2")
    (hits,) = nearest(collection_name="pond", queries=[vector])
    assert {hit.id for hit in hits} == {of("s0").external_id, of("s1").external_id}
    kept = get_chunk(collection_name="pond", external_id=of("s2").external_id, with_embedding=True)
    assert kept.is_disabled
    assert kept.embedding is not None
    assert np.array_equal(kept.embedding, vector), "it is kept, and shown to who asks for it"


def test_nor_does_a_search_of_several_collections_find_it(pond: Collection) -> None:
    create_collection(name="lake")
    ingest("lake", *TEXTS[:1])
    disable("s2")
    hits = search_collections(collection_names=["pond", "lake"], query="ducks", top_k=10, facets=("source",))
    assert {(hit.collection, hit.metadata["source"]) for hit in hits.hits} == {
        ("pond", "s0"),
        ("pond", "s1"),
        ("lake", "s0"),
    }
    assert {count.value for count in hits.facets["source"]} == {"s0", "s1"}


def test_bm25_counts_as_if_it_had_never_been_there(pond: Collection) -> None:
    disable("s2")
    fresh = create_collection(name="fresh")
    ingest("fresh", *TEXTS[:2])
    assert fresh.language == pond.language
    here = [hit.explanation for hit in search(collection_name="pond", query="ducks eat", explain=True).hits]
    there = [hit.explanation for hit in search(collection_name="fresh", query="ducks eat", explain=True).hits]
    assert len(here) == len(there) == 2
    for one, other in zip(here, there, strict=True):
        assert one is not None
        assert other is not None
        assert repr(one).replace("pond", "fresh") == repr(other)


def test_a_search_that_finds_nothing_says_what_is_disabled(pond: Collection) -> None:
    disable("s2")
    result = search(collection_name="pond", query="foxes", legs="lexical", where=ONLY_S2, explain=True)
    assert result.hits == []
    assert result.explanation is not None
    counted = [(one.condition, one.alone, one.together) for one in result.explanation.survivors or ()]
    assert counted[:3] == [("in the collection", 3, 3), ("not disabled", 2, 2), (counted[2][0], 1, 0)]


def test_it_stays_out_when_the_words_are_indexed_in_another_language(pond: Collection) -> None:
    disable("s2")
    set_language(name="pond", language="german")
    assert len(found(legs="lexical")) == 2
    disable("s2", False)
    assert len(found(legs="lexical")) == 3


def test_it_is_listed_counted_and_deleted_as_others_are(pond: Collection) -> None:
    disable("s2")
    listed = list_chunks(collection_name="pond")
    assert (listed.total, [chunk.is_disabled for chunk in listed.chunks]) == (3, [False, False, True])
    assert metadata_values(collection_name="pond", key="source").values == ["s0", "s1", "s2"]
    assert delete_chunks(collection_name="pond", where=parse_where({"source": "s2"})) == 1
    assert not KeptVector.objects.exists(), "its vector goes with it"


def test_twice_is_as_once(pond: Collection) -> None:
    first, second = disable("s2"), disable("s2")
    assert first.disabled_at == second.disabled_at
    assert KeptVector.objects.count() == 1
    key = disable("s2", False).pk
    assert disable("s2", False).pk == key
    assert Vector.objects.count() == 3
    with pytest.raises(NotFound):
        set_disabled(collection_name="pond", external_id="none", disabled=True)


def test_a_store_that_fails_changes_nothing(pond: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("the disk is full")

    before = found()
    with monkeypatch.context() as patch:
        patch.setattr("stores_app.pgvector.dense.remove", fails)
        with pytest.raises(RuntimeError):
            disable("s2")
    assert (of("s2").disabled_at, KeptVector.objects.count()) == (None, 0)
    assert found() == pytest.approx(before)
    disable("s2")
    with monkeypatch.context() as patch:
        patch.setattr("stores_app.pgvector.words.add", fails)
        with pytest.raises(RuntimeError):
            disable("s2", False)
    assert of("s2").disabled_at is not None
    assert KeptVector.objects.count() == 1
    assert len(found()) == 2


def test_the_vectors_of_callers_come_back_as_they_were() -> None:
    create_collection(name="mine")
    vectors = np.eye(3, dtype=np.float32)
    chunks = [NewChunk(external_id=f"d{n}", text=f"word {n}", metadata={}) for n in range(3)]
    add_chunks(collection_name="mine", chunks=chunks, embeddings=lambda: vectors)
    set_disabled(collection_name="mine", external_id="d1", disabled=True)
    (hits,) = nearest(collection_name="mine", queries=[vectors[1]])
    assert [hit.id for hit in hits] == ["d0", "d2"]

    # Sent again as it was it stays out; another text is another passage.
    add_chunks(collection_name="mine", chunks=chunks, embeddings=lambda: vectors)
    (hits,) = nearest(collection_name="mine", queries=[vectors[1]])
    assert [hit.id for hit in hits] == ["d0", "d2"]
    set_disabled(collection_name="mine", external_id="d1", disabled=False)
    (hits,) = nearest(collection_name="mine", queries=[vectors[1]])
    assert hits[0].id == "d1"
    assert hits[0].distance == pytest.approx(0)
    set_disabled(collection_name="mine", external_id="d1", disabled=True)
    other = [NewChunk(external_id="d1", text="another", metadata={})]
    add_chunks(collection_name="mine", chunks=other, embeddings=lambda: vectors[1:2])
    assert Chunk.objects.get(external_id="d1").disabled_at is None


class TestIngestingAgain:
    def test_an_unchanged_document_leaves_it_alone(self, pond: Collection) -> None:
        gone = disable("s2")
        ingest("pond", *TEXTS)
        assert of("s2").pk == gone.pk
        assert gone.external_id not in found()

    def test_the_same_text_in_a_changed_document_stays_disabled(self) -> None:
        create_collection(name="pond", chunking={"size": 16, "overlap": 0})
        parts = [f"## Part {n}\n\nHere is sentence {n} about ducks and nothing else at all." for n in range(3)]
        ingest("pond", "\n\n".join(parts))
        chunks = list(Chunk.objects.order_by("ordinal"))
        assert len(chunks) == 3
        for chunk in chunks[1:]:
            set_disabled(collection_name="pond", external_id=chunk.external_id, disabled=True)
        at = Chunk.objects.get(ordinal=1).disabled_at

        new = "## First\n\nSomething that stands before it all, about swans and their like."
        ingest("pond", "\n\n".join([new, *parts[:2]]))
        after = {chunk.text: chunk.disabled_at for chunk in Chunk.objects.all()}
        assert after[chunks[1].text] == at
        assert [text for text, when in after.items() if when is not None] == [chunks[1].text]
        assert len(found("sentence about ducks")) == 2
        for chunk in Chunk.objects.filter(disabled_at__isnull=False):
            set_disabled(collection_name="pond", external_id=chunk.external_id, disabled=False)
        assert len(found("sentence about ducks")) == 3

    def test_of_a_text_that_occurs_twice_as_many_stay_disabled_as_were(self) -> None:
        create_collection(name="pond", chunking={"size": 16, "overlap": 0})
        same = "Here is a sentence about ducks that stands in many places of it."
        ingest("pond", "\n\n".join([same] * 3))
        texts = list(Chunk.objects.order_by("ordinal").values_list("text", flat=True))
        assert len(texts) == 3
        set_disabled(collection_name="pond", external_id=Chunk.objects.get(ordinal=1).external_id, disabled=True)
        ingest("pond", "\n\n".join([*[same] * 3, "A last sentence of another kind, to be sure of it."]))
        disabled = Chunk.objects.filter(disabled_at__isnull=False)
        assert list(disabled.values_list("ordinal", flat=True)) == [1]
        assert Document.objects.get().chunk_count == 4


class TestAround:
    """What is shown around a passage never shows one that is disabled."""

    SENTENCES = tuple(
        f"Here is sentence {n} about {word} and nothing else." for n, word in enumerate(("a1", "b2", "c3"))
    )

    def fill(self, **chunking: int) -> None:
        create_collection(name="pond", chunking={"size": 16, "overlap": 0, **chunking})
        ingest("pond", "\n\n".join(self.SENTENCES))
        assert Chunk.objects.count() == 3

    def shown(self, **more: Any) -> str:
        return search(collection_name="pond", query="a1", legs="lexical", top_k=1, **more).hits[0].content

    def middle(self, disabled: bool) -> None:
        chunk = Chunk.objects.get(ordinal=1)
        set_disabled(collection_name="pond", external_id=chunk.external_id, disabled=disabled)

    def test_not_within_a_parent(self) -> None:
        self.fill(parent_size=200)
        before = self.shown()
        assert "b2" in before
        self.middle(True)
        assert self.shown() == self.SENTENCES[0]
        self.middle(False)
        assert self.shown() == before

    @pytest.mark.parametrize("asked", ["window:2", "section", "document"])
    def test_not_in_what_is_expanded(self, asked: str) -> None:
        self.fill()
        more = Expansion.parse(asked)
        before = self.shown(expand=more)
        assert "b2" in before
        self.middle(True)
        assert self.shown(expand=more) == self.SENTENCES[0]
        self.middle(False)
        assert self.shown(expand=more) == before


def test_over_http(client: Client, pond: Collection) -> None:
    path = f"/collections/pond/documents/{of('s2').external_id}"

    def patch(body: Any) -> Any:
        return client.patch(path, json.dumps(body), content_type="application/json")

    assert patch({"disabled": "yes"}).json()["code"] == "invalid"
    answer = patch({"disabled": True, "metadata": {"why": "wrong"}})
    assert (answer.status_code, answer.json()["disabled"], answer.json()["metadata"]["why"]) == (200, True, "wrong")
    assert client.get(path).json()["disabled"] is True
    assert [found.get("disabled") for found in client.get("/collections/pond/documents").json()["documents"]] == [
        None,
        None,
        True,
    ]
    assert len(found()) == 2
    assert "disabled" not in patch({"disabled": False}).json()
    assert len(found()) == 3
