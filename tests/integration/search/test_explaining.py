"""Why a passage is where it is, and why nothing was found."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from collections_app.models import Collection
from collections_app.services import create_collection
from core_app.where import And, Compare
from search_app.explaining import HitExplanation
from search_app.fusion import RRF_K
from search_app.results import Hit, SearchResult
from search_app.tuning import set_search_settings
from tests.integration.search.asked import break_call, codes, filled, look, post

pytestmark = pytest.mark.django_db

TEXTS = {
    "a": "The fox hunts at night, and the fox sleeps by day.",
    "b": "call snake_case_name to hunt a fox",
    "c": "A case of a name.",
    "d": "Cooking for two.",
    "e": "Night after night.",
}
METADATA = {name: {"letter": name, "early": name < "c"} for name in TEXTS}
QUERIES = ("fox night", "snake_case_name", "case", "the fox and snake_case_name by night")


@pytest.fixture
def collection(db: None) -> Collection:
    return filled("c", TEXTS, metadata=METADATA)


def explained(query: str, **options: Any) -> SearchResult:
    return look(query, explain=True, top_k=10, **options)


def why(hit: Hit) -> HitExplanation:
    assert hit.explanation is not None
    return hit.explanation


@pytest.mark.parametrize("fusion", ["rrf", "calibrated"])
@pytest.mark.parametrize("legs", ["hybrid", "dense", "lexical"])
def test_the_parts_add_up_to_the_score(collection: Collection, fusion: Any, legs: Any) -> None:
    for query in QUERIES:
        found = explained(query, fusion=fusion, legs=legs)
        scores = [why(hit).score for hit in found.hits]
        assert scores == sorted(scores, reverse=True)
        for place, hit in enumerate(found.hits, start=1):
            about = why(hit)
            assert about.rank == place
            assert about.dense.share + about.lexical.share == pytest.approx(about.score, abs=1e-9)
            terms = sum(share.share for share in about.terms)
            assert (about.lexical.score or 0.0) == pytest.approx(terms, abs=1e-9)
            assert about.dense.score == hit.metadata["similarity_score"]


def test_b4_2_the_arithmetic_of_ranks_is_shown(collection: Collection) -> None:
    """C-REQ-003"""
    for hit in explained("fox night", fusion="rrf").hits:
        about = why(hit)
        for leg in (about.dense, about.lexical):
            assert leg.share == (0.0 if leg.rank is None else 1 / (RRF_K + leg.rank))
            assert leg.normalised is None
        assert about.score == hit.metadata["rrf_score"]


def test_readme_8_the_arithmetic_of_a_calibrated_fusion_is_shown(collection: Collection) -> None:
    set_search_settings(name="c", own={"lexical_weight": 0.3})
    found = explained("fox night")
    assert found.explanation is not None
    assert found.explanation.lexical_weight == 0.3
    for hit in found.hits:
        about = why(hit)
        assert about.lexical.share == pytest.approx(0.3 * (about.lexical.normalised or 0.0))
        assert about.dense.share == pytest.approx(0.7 * (about.dense.normalised or 0.0))
        assert hit.metadata["rrf_score"] > 0, "B5.4"


def test_each_leg_says_its_rank_and_score(collection: Collection) -> None:
    found = {hit.metadata["source"]: why(hit) for hit in explained("cooking two").hits}
    assert (found["d"].dense.rank, found["d"].lexical.rank) == (1, 1)
    assert {share.term for share in found["d"].terms} == {"cook", "two"}
    assert (found["a"].lexical.rank, found["a"].lexical.score, found["a"].terms) == (None, None, ())
    assert {about.dense.rank for about in found.values()} == {1, 2, 3, 4, 5}


def test_the_query_s_terms_and_how_it_was_looked(collection: Collection) -> None:
    """C-REQ-002"""
    found = explained("snake_case_name absent").explanation
    assert found is not None
    terms = {term.term: term for term in found.terms}
    assert terms["snake_case_name"].rarity == 1.0
    assert terms["case"].rarity == 0.0
    assert (terms["absent"].chunks, terms["absent"].weight) == (0, 0.0)
    assert found.ways == {"words in english": "all scored", "meaning in c": "all compared"}
    filtered = explained("fox", where=Compare("early", "$eq", True)).explanation
    assert filtered is not None
    assert filtered.ways["words in english"] == "best first, then filtered"
    assert filtered.ways["meaning in c"] in {"filter first", "all compared, then filtered"}


def test_the_stages_are_named_and_timed(collection: Collection) -> None:
    found = explained("fox", diversity=0.5).explanation
    assert found is not None
    assert [stage.name for stage in found.stages] == [
        "words", "embedding", "meaning", "similarities", "fusion", "diversity", "passages", "explanation", "texts",
    ]  # fmt: skip
    assert found.survivors == ()


class TestEmpty:
    def survivors(self, query: str = "fox", **options: Any) -> list[tuple[str, int | None, int]]:
        found = explained(query, **options)
        assert found.hits == []
        assert found.explanation is not None
        return [(one.condition, one.alone, one.together) for one in found.explanation.survivors]

    def test_each_condition_says_how_many_it_leaves(self, collection: Collection) -> None:
        where = And(
            (Compare("early", "$eq", True), Compare("letter", "$in", ("c", "d")), Compare("letter", "$eq", "d"))
        )
        assert self.survivors(where=where) == [
            ("in the collection", 5, 5),
            ('"early" is true', 2, 2),
            ('"letter" is one of "c", "d"', 2, 0),
            ('"letter" is "d"', 1, 0),
        ]

    def test_one_condition_and_a_least_score(self, collection: Collection) -> None:
        """FR-010"""
        assert self.survivors(where=Compare("letter", "$eq", "d"), min_score=0.9) == [
            ("in the collection", 5, 5),
            ('"letter" is "d"', 1, 1),
            ("similarity at least 0.9", None, 0),
        ]

    def test_words_that_no_passage_has(self, collection: Collection) -> None:
        assert self.survivors("xqxq", legs="lexical") == [("in the collection", 5, 5), ("a word of the query", 0, 0)]
        assert self.survivors(legs="lexical", where=Compare("letter", "$eq", "z")) == [
            ("in the collection", 5, 5),
            ('"letter" is "z"', 0, 0),
            ("a word of the query", None, 0),
        ]

    def test_a_collection_with_nothing_in_it(self) -> None:
        create_collection(name="c")
        assert self.survivors() == [("in the collection", 0, 0)]


def test_b3_5_an_explanation_that_fails_leaves_the_results(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_call(monkeypatch, "term_shares")
    found = explained("fox")
    assert codes(found) == ["explanation_failed"]
    assert len(found.hits) == 5
    assert all(why(hit).terms == () for hit in found.hits)


@pytest.mark.parametrize("broken", ["dense", "lexical"])
def test_b3_5_what_one_leg_found_is_explained(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    break_call(monkeypatch, broken)
    found = explained("fox night")
    assert codes(found) == [f"{broken}_search_failed"]
    for hit in found.hits:
        about = why(hit)
        assert about.dense.share + about.lexical.share == pytest.approx(about.score, abs=1e-9)


def test_over_http(collection: Collection, client: Client) -> None:
    found = post(client, "fox night", explain=True, top_k=10)
    for hit in found["results"]:
        about = hit["explain"]
        assert about["dense"]["share"] + about["lexical"]["share"] == pytest.approx(about["score"], abs=1e-9)
        assert all(len(share) == 6 for share in about["terms"])
    assert {"terms", "ways", "lexical_weight", "stages", "survivors"} == {*found["explain"]}
    plain = post(client, "fox")
    assert "explain" not in plain
    assert "explain" not in plain["results"][0]
    empty = post(client, "fox", explain=True, where={"letter": "z"})
    assert empty["explain"]["survivors"][1] == {"condition": '"letter" is "z"', "alone": 0, "together": 0}
