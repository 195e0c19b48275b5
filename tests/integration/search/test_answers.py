"""What is made of the passages that were found: groups of a document, marked words, counted values, variety."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from collections_app.models import Collection
from core_app.where import Compare
from search_app.facets import MOST_VALUES, count_values
from search_app.results import ValueCount
from tests.integration.search.asked import SMALL, break_call, codes, filled, look, passage, post, sentence, sources

pytestmark = pytest.mark.django_db

FRUITS = ("apple", "banana", "cherry", "damson")


class TestGroups:
    @pytest.fixture
    def collection(self, db: None) -> Collection:
        """Three documents of four passages, each of which has the word fruit."""
        texts = {f"d{n}": "\n\n".join(sentence(f"{fruit}{n} fruit") for fruit in FRUITS) for n in range(3)}
        return filled("c", texts, chunking=SMALL)

    @pytest.mark.parametrize(("top_k", "size"), [(1, 1), (2, 1), (2, 2), (3, 3), (2, 10), (5, 2)])
    def test_top_k_counts_documents_and_a_group_has_at_most_so_many(
        self, collection: Collection, top_k: int, size: int
    ) -> None:
        found = sources(look("fruit", legs="lexical", top_k=top_k, group_size=size))
        documents = list(dict.fromkeys(found))
        assert len(documents) == min(top_k, 3)
        assert found == [name for name in documents for _ in range(min(size, 4))], "those of one document together"

    def test_a_group_stands_in_the_place_of_its_best(self, collection: Collection) -> None:
        query = "cherry1 cherry1 banana2 apple1"
        plain = look(query, legs="lexical", top_k=12)
        grouped = look(query, legs="lexical", top_k=3, group_size=2)
        best = list(dict.fromkeys(sources(plain)))
        assert list(dict.fromkeys(sources(grouped))) == best
        for name in best:
            of_document = [hit.id for hit in plain.hits if hit.metadata["source"] == name]
            assert [hit.id for hit in grouped.hits if hit.metadata["source"] == name] == of_document[:2]

    def test_without_groups_top_k_counts_passages(self, collection: Collection) -> None:
        assert len(look("fruit", legs="lexical", top_k=7).hits) == 7

    def test_over_http(self, collection: Collection, client: Client) -> None:
        assert post(client, "fruit", top_k=2, group_size=3)["count"] == 6
        for wrong in (0, 11, -1, "2", 1.5):
            post(client, "fruit", group_size=wrong, status=400)


class TestHighlights:
    def test_the_words_that_matched_are_marked_in_what_is_shown(self) -> None:
        filled("c", {"a": "The quick foxes hunt; call moduleControllerCreate.", "b": "No such thing."})
        hit = look("fox controller", legs="lexical", highlight=True).hits[0]
        assert [hit.content[start:end] for start, end in hit.highlights or ()] == ["foxes", "Controller"]

    def test_they_are_of_the_whole_content_where_more_than_the_passage_is_shown(self) -> None:
        text = "\n\n".join(map(sentence, ("apple", "banana", "apple")))
        filled("c", {"a": text}, chunking={**SMALL, "parent_size": 100})
        hit = look("apple", legs="lexical", highlight=True).hits[0]
        assert [hit.content[start:end] for start, end in hit.highlights or ()] == ["apple", "apple"]
        assert hit.matched is not None

    def test_each_collection_is_marked_in_its_language(self) -> None:
        filled("c", {"k": "Eine Katze."}, language="german")
        hit = look("Katzen", highlight=True).hits[0]
        assert [hit.content[start:end] for start, end in hit.highlights or ()] == ["Katze"]

    def test_a3_the_topic_is_marked_where_it_is_searched_for(self) -> None:
        filled("c", {"a": "Foxes and dogs."})
        hit = look("dogs", topic="fox", highlight=True).hits[0]
        assert [hit.content[start:end] for start, end in hit.highlights or ()] == ["Foxes"]

    def test_unless_asked_for_there_are_none(self, client: Client) -> None:
        filled("c", {"a": "A fox."})
        assert look("fox").hits[0].highlights is None
        assert "highlights" not in post(client, "fox")["results"][0]
        assert post(client, "fox", highlight=True)["results"][0]["highlights"] == [[2, 5]]
        assert post(client, "absent", highlight=True)["results"][0]["highlights"] == []


class TestFacets:
    @pytest.fixture
    def collection(self, db: None) -> Collection:
        kinds = ["a", "b", "a", "c", "a", "b"]
        return filled(
            "c",
            {f"s{n}": f"A fox, number {n}." for n in range(6)} | {"other": "A dog."},
            metadata={f"s{n}": {"kind": kind, "n": n, "even": n % 2 == 0} for n, kind in enumerate(kinds)},
        )

    def counted(self, value: Any) -> list[ValueCount]:
        chunk = passage("number 0")
        chunk.metadata = {"v": value}
        chunk.save()
        return count_values(chunk_ids=[chunk.pk], fields=["v"])["v"]

    def test_values_are_counted_over_all_that_was_found(self, collection: Collection) -> None:
        """Not only over what is shown."""
        found = look("fox", legs="lexical", top_k=1, facets=["kind", "even", "none"])
        assert len(found.hits) == 1
        assert [(one.value, one.count) for one in found.facets["kind"]] == [("a", 3), ("b", 2), ("c", 1)]
        assert [(one.value, one.count) for one in found.facets["even"]] == [(False, 3), (True, 3)]
        assert found.facets["none"] == []

    def test_b6_4_the_filter_and_the_threshold_hold_for_them(self, collection: Collection) -> None:
        narrowed = look("fox", facets=["kind"], where=Compare("n", "$gte", 3))
        assert [(one.value, one.count) for one in narrowed.facets["kind"]] == [("a", 1), ("b", 1), ("c", 1)]
        assert look("fox", facets=["kind"], min_score=1.0).facets == {"kind": []}

    def test_lists_count_for_each_of_their_values_once(self, collection: Collection) -> None:
        values = [(one.value, one.count) for one in self.counted(["x", "y", "x", None, {"a": 1}, ["z"]])]
        assert values == [("x", 1), ("y", 1)]
        assert self.counted({"a": 1}) == self.counted(None) == self.counted([]) == []

    def test_one_and_true_are_two_values_and_one_and_1_0_are_one(self, collection: Collection) -> None:
        values = [(one.value, one.count) for one in self.counted([1, True, 1.0, "1", 2, 0.5, False])]
        assert [str(value) for value, _ in values] == ["False", "True", "0.5", "1", "2", "1"]

    def test_the_most_frequent_come_first_and_not_too_many(self, collection: Collection) -> None:
        assert len(self.counted([f"v{n}" for n in range(2 * MOST_VALUES)])) == MOST_VALUES

    def test_over_http(self, collection: Collection, client: Client) -> None:
        found = post(client, "fox", legs="lexical", top_k=1, facets=["kind"])
        assert found["facets"]["kind"][0] == {"value": "a", "count": 3}
        assert "facets" not in post(client, "fox")
        assert "facets" not in post(client, "fox", facets=[])
        post(client, "fox", facets=["kind"] * 21, status=400)


class TestDiversity:
    TEXTS = {
        "a1": "The fox hunts the hare in the night.",
        "a2": "The fox hunts the hare in the night!",
        "a3": "The fox hunts the hare in the night?",
        "b": "A fox may sleep all day long under old trees.",
    }

    @pytest.fixture
    def collection(self, db: None) -> Collection:
        return filled("c", self.TEXTS)

    def test_doubles_give_way_to_something_else(self, collection: Collection) -> None:
        plain = sources(look("fox hunts hare", top_k=4))
        assert plain[3] == "b"
        assert sources(look("fox hunts hare", top_k=4, diversity=0.8))[:2] == [plain[0], "b"]
        assert {*sources(look("fox hunts hare", top_k=4, diversity=0.8))} == {*self.TEXTS}
        assert sources(look("fox hunts hare", top_k=4, diversity=0.0)) == plain

    def test_a_failure_leaves_the_order(self, collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = sources(look("fox hunts hare"))
        break_call(monkeypatch, "vectors")
        found = look("fox hunts hare", diversity=0.5)
        assert codes(found) == ["diversity_failed"]
        assert sources(found) == plain

    def test_over_http(self, collection: Collection, client: Client) -> None:
        assert post(client, "fox", diversity=1, top_k=4)["count"] == 4
        for wrong in (-0.1, 1.1, "1", True):
            post(client, "fox", diversity=wrong, status=400)
