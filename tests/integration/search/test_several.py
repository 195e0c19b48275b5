"""Several collections searched as if they were one."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from collections_app.models import Collection
from collections_app.services import change_collection, create_collection
from core_app.errors import InvalidInput, NotFound
from core_app.ports import Bm25
from core_app.wiring import store
from search_app.results import SearchResult
from search_app.services import MOST_COLLECTIONS, search_collections
from search_app.tuning import set_search_settings
from tests.integration.access.conftest import ClientWith, client_with, keys_required
from tests.integration.search.asked import JSON, add, codes, filled, look, sources

__all__ = ["client_with", "keys_required"]

pytestmark = pytest.mark.django_db

CATS = {"cat1": "The cat sleeps in the sun.", "cat2": "A cat and a fox.", "cat3": "Nothing of interest."}
DOGS = {"dog1": "The dog hunts the fox.", "dog2": "A fox, a fox, another fox!", "dog3": "Dogs bark."}


@pytest.fixture
def both(db: None) -> tuple[Collection, Collection]:
    return filled("cats", CATS), filled("dogs", DOGS)


def together(query: str, *names: str, **options: Any) -> SearchResult:
    return search_collections(collection_names=names or ("cats", "dogs"), query=query, **options)


def ask(client: Client, names: Any, *, status: int = 200, **more: Any) -> Any:
    answer = client.post("/api/rag/search", {"query": "fox", "collections": names, **more}, JSON)
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.mark.parametrize("fusion", ["rrf", "calibrated"])
@pytest.mark.parametrize("legs", ["hybrid", "dense", "lexical"])
def test_the_order_is_that_of_one_collection_with_everything(
    both: tuple[Collection, Collection], fusion: Any, legs: Any
) -> None:
    """Scores mean the same whichever collection a passage is in."""
    filled("all", {**CATS, **DOGS})
    for query in ("fox", "the cat hunts", "dog sleeps sun"):
        apart = together(query, fusion=fusion, legs=legs, top_k=6)
        at_once = look(query, name="all", fusion=fusion, legs=legs, top_k=6)
        assert sources(at_once) == sources(apart)
        assert [hit.score for hit in at_once.hits] == pytest.approx([hit.score for hit in apart.hits])
        assert [hit.metadata["rrf_score"] for hit in apart.hits] == [hit.metadata["rrf_score"] for hit in at_once.hits]


def test_each_result_says_which_collection_it_is_from(both: tuple[Collection, Collection]) -> None:
    found = together("fox", top_k=6)
    assert {hit.collection for hit in found.hits} == {"cats", "dogs"}
    assert all(hit.metadata["source"].startswith(hit.collection[:3]) for hit in found.hits)
    assert len({(hit.collection, hit.id) for hit in found.hits}) == len(found.hits) == 6
    assert len(together("fox", top_k=2).hits) == 2, "top_k is of all together"


def test_the_same_source_in_two_collections_is_two_results(both: tuple[Collection, Collection]) -> None:
    add("cats", {"same": "One and the same quince."})
    add("dogs", {"same": "One and the same quince."})
    found = together("quince", legs="lexical")
    assert [hit.collection for hit in found.hits] == ["cats", "dogs"]


def test_a_collection_named_twice_or_by_an_alias_counts_once(both: tuple[Collection, Collection]) -> None:
    change_collection(name="dogs", aliases=["hounds"])
    once = together("fox", top_k=6)
    for names in (("cats", "dogs", "dogs"), ("cats", "dogs", "hounds"), ("cats", "hounds")):
        again = together("fox", *names, top_k=6)
        assert [(hit.collection, hit.id, hit.score) for hit in again.hits] == [
            (hit.collection, hit.id, hit.score) for hit in once.hits
        ]


def test_one_collection_is_as_by_its_own_address(both: tuple[Collection, Collection]) -> None:
    alone, named = look("fox", name="dogs"), together("fox", "dogs")
    assert [(hit.id, hit.score, hit.metadata) for hit in alone.hits] == [
        (hit.id, hit.score, hit.metadata) for hit in named.hits
    ]


def test_an_empty_collection_adds_nothing(both: tuple[Collection, Collection]) -> None:
    create_collection(name="empty")
    assert sources(together("fox", "empty", "dogs")) == sources(look("fox", name="dogs"))
    assert together("fox", "empty").hits == []


def test_collections_of_several_languages_are_searched_each_in_its_own(both: tuple[Collection, Collection]) -> None:
    filled("katzen", {"k": "Die Katzen schlafen."}, language="german")
    found = together("Katze cat", "cats", "katzen", legs="lexical", explain=True)
    assert {"k", "cat1", "cat2"} == {*sources(found)}
    assert found.explanation is not None
    assert {"words in english", "words in german"} <= {*found.explanation.ways}


@pytest.mark.parametrize("fusion", ["rrf", "calibrated"])
def test_the_parts_add_up_across_languages_and_weights(both: tuple[Collection, Collection], fusion: Any) -> None:
    filled("katzen", {"k": "Die Katze und der Fox."}, language="german")
    Collection.objects.filter(name="dogs").update(k1=0.5, b=0.1)
    found = together("Katze cat fox", "cats", "dogs", "katzen", fusion=fusion, explain=True, top_k=10)
    assert {*sources(found)} == {*CATS, *DOGS, "k"}
    for hit in found.hits:
        why = hit.explanation
        assert why is not None
        assert why.dense.share + why.lexical.share == pytest.approx(why.score, abs=1e-9)
        assert sum(share.share for share in why.terms) == pytest.approx(why.lexical.score or 0.0, abs=1e-9)
        assert bool(why.terms) is (why.lexical.rank is not None)


def test_a_collection_without_the_servers_vectors_is_searched_by_words(both: tuple[Collection, Collection]) -> None:
    """README 7"""
    generation = both[0].generations.get()
    generation.embedding_model = None
    generation.save()
    found = together("fox", top_k=6)
    assert codes(found) == ["no_embedder"]
    assert "'cats'" in found.warnings[0].detail
    assert {*sources(found)} == {"cat2", *DOGS}


def test_collections_whose_settings_differ_have_the_modes(both: tuple[Collection, Collection]) -> None:
    set_search_settings(name="cats", own={"mode": "fast", "min_score": 1.0})
    found = together("fox")
    assert (found.mode, found.fusion) == ("balanced", "calibrated")
    assert found.hits
    set_search_settings(name="dogs", own={"mode": "fast"})
    assert (together("fox").mode, together("fox").fusion) == ("fast", "rrf")


@pytest.mark.parametrize("names", [[], None, "cats", [3], [""], ["cats"] * (MOST_COLLECTIONS + 1)])
def test_what_is_no_list_of_names_is_400(both: tuple[Collection, Collection], client: Client, names: Any) -> None:
    ask(client, names, status=400)


def test_none_and_too_many_are_told(both: tuple[Collection, Collection]) -> None:
    for names in ([], [f"n{n}" for n in range(MOST_COLLECTIONS + 1)]):
        with pytest.raises(InvalidInput, match="1 to 100"):
            search_collections(collection_names=names, query="fox")


def test_readme_4_an_unknown_one_is_404_with_its_name(both: tuple[Collection, Collection], client: Client) -> None:
    assert ask(client, ["cats", "birds"], status=404)["detail"] == "Collection 'birds' not found"
    with pytest.raises(NotFound):
        together("fox", "cats", "birds")


def test_the_list_is_needed(both: tuple[Collection, Collection], client: Client) -> None:
    assert client.post("/api/rag/search", {"query": "fox"}, JSON).status_code == 400


def test_over_http(both: tuple[Collection, Collection], client: Client) -> None:
    found = ask(client, ["cats", "dogs"], top_k=6, facets=["kind"], explain=True, highlight=True)
    assert found["count"] == len(found["results"]) == 6
    assert {hit["collection"] for hit in found["results"]} == {"cats", "dogs"}
    assert {"meaning in cats", "meaning in dogs", "words in english"} == {*found["explain"]["ways"]}


@pytest.mark.usefixtures("keys_required")
class TestKeys:
    def test_a_key_that_reaches_one_of_two_is_403_and_names_neither(
        self, both: tuple[Collection, Collection], client_with: ClientWith
    ) -> None:
        one = client_with("search", collections=("cats",))
        assert ask(one, ["cats"])["count"] == 3
        for names in (["cats", "dogs"], ["dogs", "cats"], ["cats", "birds"]):
            assert ask(one, names, status=403)["code"] == "not_allowed"

    def test_a_key_without_the_verb_is_403(self, both: tuple[Collection, Collection], client_with: ClientWith) -> None:
        ask(client_with("read", "write"), ["cats"], status=403)

    def test_nobody_is_401(self, both: tuple[Collection, Collection], client: Client) -> None:
        ask(client, ["cats"], status=401)


def test_what_failed_in_one_collection_is_not_said_of_all(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, language in (("one", "english"), ("two", "german")):
        filled(name, CATS, language=language)
    real = store("pgvector").lexical

    def broken(*, bm25: Bm25, **given: Any) -> Any:
        if bm25.language == "german":
            raise IndexError("broken")
        return real(bm25=bm25, **given)

    monkeypatch.setattr(store("pgvector"), "lexical", broken)
    found = search_collections(collection_names=["one", "two"], query="fox")
    assert [warning.detail for warning in found.warnings] == [
        "The search by words failed in some collections: results are by meaning alone."
    ]


def test_each_way_of_counting_words_has_its_own_entry(db: None) -> None:
    for name in ("one", "two"):
        filled(name, CATS)
    Collection.objects.filter(name="two").update(k1=2.0)
    found = search_collections(collection_names=["one", "two"], query="fox", explain=True)
    assert found.explanation is not None
    assert {"words in english in one", "words in english in two"} <= set(found.explanation.ways)
