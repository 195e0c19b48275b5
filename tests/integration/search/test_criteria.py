"""Requirements of specs A, B, D and E that are about the search call as a whole, one by one."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from collections_app.models import Collection
from collections_app.selectors import get_collection
from core_app.wiring import embedder, store
from inference_app.services import embed_query, query_cache
from search_app import legs
from search_app.services import hybrid_search_enabled, search, search_collections
from stores_app.models import Segment, Vector
from tests.integration.search.asked import JSON, break_call, codes, filled, look, post, sources
from tests.integration.search.asking import configure

pytestmark = pytest.mark.django_db

TEXTS = {
    "a": "The quick brown fox.",
    "b": "A lazy dog sleeps.",
    "c": "Foxes hunt at night.",
    "d": "Cooking for two.",
    "e": "Bread and salt.",
    "f": "A fox is no dog.",
    "g": "The night is long.",
}
METADATA = {name: {"content_type": "prose" if name < "d" else "note"} for name in TEXTS}


@pytest.fixture
def collection(db: None) -> Collection:
    return filled("c", TEXTS, metadata=METADATA)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[dict[str, Any]]]:
    """What each leg was asked."""
    asked: dict[str, list[dict[str, Any]]] = {"dense": [], "lexical": []}
    for leg, heard in asked.items():
        watch(monkeypatch, leg, heard)
    return asked


def watch(monkeypatch: pytest.MonkeyPatch, leg: str, heard: list[dict[str, Any]]) -> None:
    original = getattr(store("pgvector"), leg)

    def seen(**arguments: Any) -> Any:
        heard.append(arguments)
        return original(**arguments)

    monkeypatch.setattr(store("pgvector"), leg, seen)


def add_directly(client: Client, name: str, *texts: str) -> None:
    """With the embeddings that the server would make."""
    vectors = embedder().embed_documents(texts).tolist()
    documents = [{"text": text, "embedding": vector} for text, vector in zip(texts, vectors, strict=True)]
    answer = client.post(f"/collections/{name}/documents", {"documents": documents}, JSON)
    assert answer.status_code == 201, answer.content
    Collection.objects.get(name=name).generations.update(
        embedding_connection=embedder().connection, embedding_model=embedder().model
    )


class TestB1:
    @pytest.mark.parametrize("language", ["english", "german"])
    def test_b1_1_a_collection_is_made_and_found_with_its_words(self, language: str) -> None:
        filled("made", {"a": "Foxes hunt. Katzen schlafen."}, language=language)
        assert get_collection(name="made").language == language
        query = {"english": "hunting", "german": "Katze"}[language]
        assert sources(look(query, name="made", legs="lexical")) == ["a"]

    def test_b1_2_b1_3_what_is_ingested_has_a_vector_and_words(self, collection: Collection) -> None:
        assert Vector.objects.filter(generation__collection=collection).count() == len(TEXTS)
        assert sum(Segment.objects.filter(collection=collection).values_list("live", flat=True)) == len(TEXTS)

    def test_b1_3_so_has_what_is_added_with_an_embedding(self, client: Client) -> None:
        client.post("/collections", {"name": "direct"}, JSON)
        add_directly(client, "direct", "The quick brown fox.", "A lazy dog.")
        (hit,) = look("foxes", name="direct", legs="lexical").hits
        assert hit.content == "The quick brown fox."
        assert len(look("foxes", name="direct", legs="dense").hits) == 2

    @pytest.mark.parametrize("hybrid", [True, False])
    def test_b1_4_the_default_collection_has_words_from_its_first_use(
        self, client: Client, settings: Any, hybrid: bool
    ) -> None:
        configure(settings, "search", use_hybrid_search=hybrid)
        assert post(client, "fox", name="content_chunks")["count"] == 0
        add_directly(client, "content_chunks", "The quick brown fox.")
        assert post(client, "foxes", name="content_chunks", legs="lexical")["count"] == 1

    def test_b1_5_where_words_cannot_be_indexed_collections_are_made_and_searched_by_meaning(
        self, collection: Collection, client: Client, caplog: pytest.LogCaptureFixture
    ) -> None:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE stores_segment RENAME TO elsewhere")
        assert client.post("/collections", {"name": "new"}, JSON).status_code == 201
        found = look("fox", top_k=10)
        assert {*sources(found)} == {*TEXTS}
        assert codes(found) == ["lexical_search_failed"]
        assert [record for record in caplog.records if record.levelno == logging.ERROR and record.exc_info]


class TestB2AndB6:
    @pytest.mark.parametrize("enabled", [True, False])
    def test_b2_5_the_state_can_be_asked_for(self, settings: Any, enabled: bool) -> None:
        configure(settings, "search", use_hybrid_search=enabled)
        assert hybrid_search_enabled() is enabled

    def test_b2_3_b3_1_b3_2_both_legs_look_the_one_for_the_embedding_the_other_for_the_text(
        self, collection: Collection, calls: dict[str, list[dict[str, Any]]]
    ) -> None:
        look("fox at night")
        (dense,), (lexical,) = calls["dense"], calls["lexical"]
        assert dense["query"].tolist() == embedder().embed_query("fox at night").tolist()
        assert lexical["query"] == "fox at night"

    @pytest.mark.parametrize("top_k", [1, 5, 80])
    def test_b3_4_each_is_asked_for_twice_as_many(
        self, collection: Collection, calls: dict[str, list[dict[str, Any]]], top_k: int
    ) -> None:
        look("fox", top_k=top_k)
        assert min(asked["limit"] for leg in calls.values() for asked in leg) >= max(10, 2 * top_k)

    def test_b3_3_results_are_those_of_both(self, collection: Collection) -> None:
        hits = {hit.metadata["source"]: hit for hit in look("salt", fusion="rrf", top_k=7, explain=True).hits}
        (by_words,) = [name for name, hit in hits.items() if hit.explanation and hit.explanation.lexical.rank]
        assert by_words == "e"
        assert len([name for name, hit in hits.items() if hit.explanation and hit.explanation.dense.rank]) == 7

    def test_b2_2_b6_1_without_hybrid_it_is_the_search_by_meaning(
        self, collection: Collection, calls: dict[str, list[dict[str, Any]]], settings: Any
    ) -> None:
        by_meaning = [(hit.id, hit.score) for hit in look("fox night", legs="dense").hits]
        configure(settings, "search", use_hybrid_search=False)
        assert [(hit.id, hit.score) for hit in look("fox night").hits] == by_meaning
        assert calls["lexical"] == []

    def test_b6_2_b6_3_parameters_and_results_are_the_same_with_and_without(
        self, collection: Collection, client: Client, settings: Any
    ) -> None:
        """Those of hybrid search are null where there is none."""
        shapes = []
        for enabled in (True, False):
            configure(settings, "search", use_hybrid_search=enabled)
            found = post(client, "fox", top_k=2, min_score=0.0, where={"content_type": "prose"})
            assert found["count"] == 2
            assert {hit["metadata"]["content_type"] for hit in found["results"]} == {"prose"}
            shapes.append([{*found}, *({*hit} | {*hit["metadata"]} for hit in found["results"])])
        assert shapes[0] == shapes[1]

    def test_b6_5_a_collection_without_words_is_searched_by_meaning_without_errors(
        self, collection: Collection, caplog: pytest.LogCaptureFixture
    ) -> None:
        Segment.objects.filter(collection=collection).delete()
        found = look("fox", top_k=10)
        assert {*sources(found)} == {*TEXTS}
        assert codes(found) == []
        assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


class TestB5:
    def test_b5_1_the_order_is_that_of_the_rrf_scores(self, collection: Collection) -> None:
        found = [hit.metadata["rrf_score"] for hit in look("the fox at night", fusion="rrf", top_k=7).hits]
        assert found == sorted(found, reverse=True)
        assert len({*found}) > 3

    @pytest.mark.parametrize("fusion", ["rrf", "calibrated"])
    def test_b5_2_b5_3_the_threshold_comes_before_the_limit(self, collection: Collection, fusion: Any) -> None:
        query = "salt the the the"
        every = look(query, fusion=fusion, top_k=7).hits
        assert every[0].metadata["source"] == "e", "by its word"
        least = sorted(hit.score for hit in every)[-2]
        similar = [hit.id for hit in every if hit.score >= least]
        assert every[0].score < least
        for top_k in (1, 2):
            kept = look(query, fusion=fusion, top_k=top_k, min_score=least).hits
            assert [hit.id for hit in kept] == similar[:top_k]
            assert len(kept) == top_k

    @pytest.mark.parametrize("fusion", ["rrf", "calibrated"])
    def test_b5_4_both_scores_are_in_the_metadata(self, collection: Collection, fusion: Any) -> None:
        for hit in look("the fox at night", fusion=fusion, top_k=7).hits:
            assert hit.metadata["similarity_score"] == hit.score
            assert 0 < hit.metadata["rrf_score"] <= 2 / 61

    def test_b5_5_nothing_similar_enough_is_an_empty_list(self, collection: Collection) -> None:
        assert look("fox", min_score=0.999).hits == []


class TestB8:
    def test_b8_3_a_store_that_cannot_search_words_is_searched_by_meaning(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lexical(**_: Any) -> Any:
            raise NotImplementedError

        monkeypatch.setattr(store("pgvector"), "lexical", lexical)
        found = look("fox", top_k=10)
        assert {*sources(found)} == {*TEXTS}
        assert codes(found) == ["lexical_search_failed"]

    @pytest.mark.parametrize("top_k", [0, -1, -100])
    def test_b8_4_a_limit_below_one_counts_as_five(self, collection: Collection, top_k: int) -> None:
        assert len(look("fox", top_k=top_k).hits) == 5


class TestA3:
    """Which text is embedded and looked for, what is logged of it, and how often it is embedded."""

    @pytest.fixture(autouse=True)
    def embedded(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        texts: list[str] = []
        embed = embed_query

        def heard(*, text: str, **_: Any) -> Any:
            texts.append(text)
            return embed(text=text)

        monkeypatch.setattr(legs, "embed_query", heard)
        return texts

    def strategy(self, caplog: pytest.LogCaptureFixture, query: str, topic: str) -> str:
        """As it was logged, once."""
        caplog.clear()
        with caplog.at_level(logging.INFO):
            found = search(collection_name="c", query=query, topic=topic)
        (said,) = [r.getMessage() for r in caplog.records if r.getMessage().startswith("query strategy: ")]
        assert said == f"query strategy: {found.query_strategy}"
        return found.query_strategy

    def test_a3_1_a_first_message_is_searched_for_as_it_is(
        self, collection: Collection, caplog: pytest.LogCaptureFixture, embedded: list[str]
    ) -> None:
        assert self.strategy(caplog, "Who  hunts?", "") == "first message (raw query)"
        assert embedded == ["Who  hunts?"]

    def test_a3_2_a_later_one_by_the_topic(
        self,
        collection: Collection,
        caplog: pytest.LogCaptureFixture,
        calls: dict[str, list[dict[str, Any]]],
        embedded: list[str],
    ) -> None:
        said = self.strategy(caplog, "and when?", "foxes that hunt")
        assert said == "follow-up (contextualized topic)"
        assert embedded == ["foxes that hunt"]
        assert [asked["query"] for asked in calls["lexical"]] == ["foxes that hunt"]

    def test_a3_3_a_pronoun_finds_what_it_stands_for(self, collection: Collection, client: Client) -> None:
        assert post(client, "does it?", legs="lexical")["results"] == []
        for leg in ("lexical", "dense"):
            found = post(client, "does it?", topic="dog sleep lazy", legs=leg)
            assert found["results"][0]["metadata"]["source"] == "b"

    @pytest.mark.parametrize(
        ("topic", "text"), [("", "fox"), (" \t\n", "fox"), ("\u2003", "fox"), ("  lazy \n dog ", "lazy dog")]
    )
    def test_a3_4_a_topic_of_white_space_is_none_and_another_is_evened_out(
        self, collection: Collection, caplog: pytest.LogCaptureFixture, embedded: list[str], topic: str, text: str
    ) -> None:
        said = self.strategy(caplog, " fox ", topic)
        assert embedded == [text]
        assert ("first message" in said) is (text == "fox")

    def test_a3_5_several_collections_and_the_next_search_use_one_embedding(
        self, collection: Collection, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        filled("d", TEXTS)
        texts: list[str] = []
        original = embedder().embed_query

        def counted(text: str) -> Any:
            texts.append(text)
            return original(text)

        monkeypatch.setattr(embedder(), "embed_query", counted)
        hits = query_cache().statistics().hits
        query = f"a question that nobody has asked {uuid.uuid4()}"
        with caplog.at_level(logging.INFO):
            search_collections(collection_names=["c", "d"], query=query)
            assert not [record for record in caplog.records if record.getMessage() == "embedding cache hit"]
            for name in ("c", "d"):
                search(collection_name=name, query=query)
        assert texts == [query]
        said = [vars(record) for record in caplog.records if record.getMessage() == "embedding cache hit"]
        assert [found["cache_key"] for found in said] == [f"{embedder().connection}:{embedder().model}"] * 2
        assert query_cache().statistics().hits == hits + 2


class TestDAndE:
    def test_fr_001_to_fr_006_a_search_over_http(self, collection: Collection, client: Client) -> None:
        """FR-008: what it is from is always there."""
        filled("other", {"x": "Another fox."})
        found = post(client, "fox", top_k=3, min_score=0.0)
        assert found["count"] == len(found["results"]) == 3
        for hit in found["results"]:
            assert isinstance(hit["content"], str)
            assert isinstance(hit["score"], float)
            assert hit["content"] == TEXTS[hit["metadata"]["source"]], "of the collection in the address"
            assert hit["metadata"]["chunk_index"] == 0
            assert hit["metadata"]["page_number"] is None

    def test_fr_006_fr_008_readme_3_what_is_from_no_document_has_nulls(self, client: Client) -> None:
        client.post("/collections", {"name": "direct"}, JSON)
        add_directly(client, "direct", "The quick brown fox.")
        metadata = post(client, "fox", name="direct")["results"][0]["metadata"]
        assert {key: metadata[key] for key in ("source", "page_number", "chunk_index")} == {
            "source": None,
            "page_number": None,
            "chunk_index": None,
        }

    @pytest.mark.parametrize("top_k", [5, 10, 50])
    def test_req_rag_008_from_5_to_50_passages_can_be_asked_for(self, client: Client, top_k: int) -> None:
        filled("many", {f"s{n}": f"Fox number {n}." for n in range(55)})
        assert post(client, "fox", name="many", top_k=top_k)["count"] == top_k

    def test_req_rag_009_a_passage_has_its_document_text_score_and_place(self, client: Client) -> None:
        """C-REQ-005: and the section it stands in."""
        filled("guide", {"guide.md": "# Guide\n\nHello.\n\n## Animals\n\n### Wild\n\nThe fox hunts.\n"})
        hit = post(client, "fox hunts", name="guide")["results"][0]
        assert hit["id"]
        assert hit["content"].endswith("The fox hunts.")
        assert 0 < hit["score"] <= 1
        assert (hit["metadata"]["source"], hit["metadata"]["section"]) == ("guide.md", "Animals > Wild")
        assert hit["metadata"]["chunk_index"] >= 1

    @pytest.mark.parametrize("leg", ["dense", "lexical"])
    def test_readme_2_a_hit_of_words_alone_has_its_similarity_too(
        self, collection: Collection, monkeypatch: pytest.MonkeyPatch, leg: str
    ) -> None:
        expected = {hit.id: hit.score for hit in look("fox", legs="dense", top_k=7).hits}
        if leg == "lexical":
            break_call(monkeypatch, "dense")
        found = look("fox", top_k=7)
        assert found.hits
        assert all(hit.score == pytest.approx(expected[hit.id], abs=1e-6) for hit in found.hits)
