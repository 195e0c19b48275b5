"""What a collection's own search settings decide, and what comes before them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.test import Client

from collections_app.models import Collection
from core_app.errors import InvalidInput, NotFound
from search_app.tuning import Tuning, get_search_settings, set_search_settings, tuning_of
from tests.integration.access.conftest import ClientWith, client_with, keys_required
from tests.integration.search.asked import JSON, SMALL, filled, look, post, sentence

__all__ = ["client_with", "keys_required"]

pytestmark = pytest.mark.django_db

TEXTS = {"a": "The fox hunts.", "b": "A dog sleeps.", "c": "A fox and a dog."}


@pytest.fixture
def collection(db: None) -> Collection:
    return filled("c", TEXTS)


def tuned(**own: Any) -> Tuning:
    return set_search_settings(name="c", own=own)[1]


@pytest.mark.parametrize(
    ("own", "asked", "expected"),
    [
        ({}, {}, ("balanced", "calibrated", None)),
        ({"mode": "fast"}, {}, ("fast", "rrf", None)),
        ({"mode": "fast", "fusion": "calibrated"}, {}, ("fast", "calibrated", None)),
        ({"fusion": "rrf"}, {"mode": "thorough"}, ("thorough", "rrf", None)),
        ({"fusion": "rrf"}, {"fusion": "calibrated"}, ("balanced", "calibrated", None)),
        ({"mode": "thorough"}, {"mode": "fast"}, ("fast", "rrf", None)),
        ({"mode": "fast"}, {"fusion": "calibrated"}, ("fast", "calibrated", None)),
        ({"min_score": 0.5}, {}, ("balanced", "calibrated", 0.5)),
        ({"min_score": 0.5}, {"min_score": 0.25}, ("balanced", "calibrated", 0.25)),
        ({"min_score": 0.5}, {"min_score": 0.0}, ("balanced", "calibrated", 0.0)),
    ],
)
def test_readme_8_the_request_comes_before_the_collection_and_that_before_the_mode(
    collection: Collection, own: dict[str, Any], asked: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    tuned(**own)
    collection.refresh_from_db()
    found = tuning_of([collection], **asked)
    assert (found.mode, found.fusion, found.min_score) == expected
    result = look("fox", **asked)
    assert (result.mode, result.fusion) == expected[:2]


def test_fr_010_the_collections_least_score_holds_unless_another_is_asked_for(collection: Collection) -> None:
    tuned(min_score=1.0)
    assert look("fox").hits == []
    assert len(look("fox", min_score=0.0).hits) == 3


def test_the_collections_weight_of_words_decides_the_order(collection: Collection) -> None:
    for weight, leg in ((0.0, "dense"), (1.0, "lexical")):
        tuned(lexical_weight=weight)
        alone = [hit.id for hit in look("the fox hunts a dog", legs=leg).hits]
        assert [hit.id for hit in look("the fox hunts a dog").hits if hit.id in alone] == alone


def test_several_collections_must_agree() -> None:
    one, two = Collection(search={"mode": "fast", "min_score": 0.2}), Collection(search={"mode": "fast"})
    assert tuning_of([one, two]) == Tuning(mode="fast", fusion="rrf")
    assert tuning_of([two, one]) == tuning_of([one, two])
    other = Collection(search={"mode": "thorough", "min_score": 0.2})
    assert tuning_of([one, other]) == Tuning(mode="balanced", fusion="calibrated", min_score=0.2)
    assert tuning_of([one, Collection(search={})]) == Tuning(mode="balanced", fusion="calibrated")
    assert tuning_of([]) == Tuning(mode="balanced", fusion="calibrated")


def test_settings_are_replaced_and_null_is_none(collection: Collection) -> None:
    tuned(mode="fast", min_score=0.5)
    own, found = set_search_settings(name="c", own={"fusion": "rrf", "mode": None})
    assert own == {"fusion": "rrf"}
    assert found == Tuning(mode="balanced", fusion="rrf")
    assert get_search_settings(name="c") == (own, found)
    assert set_search_settings(name="c", own={})[0] == {}


@pytest.mark.parametrize(
    "own",
    [
        {"mode": "slow"}, {"fusion": "sum"}, {"lexical_weight": 1.1}, {"lexical_weight": -0.1}, {"min_score": "1"},
        {"min_score": True}, {"min_score": float("nan")}, {"min_score": float("inf")}, {"depth": 3}, {"mode": ["fast"]},
    ],
)  # fmt: skip
def test_what_is_no_setting_is_told_and_changes_nothing(collection: Collection, own: dict[str, Any]) -> None:
    tuned(mode="fast")
    with pytest.raises(InvalidInput) as caught:
        tuned(**own)
    assert caught.value.code == "invalid_search_settings"
    assert get_search_settings(name="c")[0] == {"mode": "fast"}


def test_an_unknown_collection_has_no_settings() -> None:
    with pytest.raises(NotFound):
        get_search_settings(name="none")
    with pytest.raises(NotFound):
        set_search_settings(name="none", own={})


def test_a_change_moves_the_collections_version(collection: Collection) -> None:
    before = Collection.objects.get(pk=collection.pk).version
    tuned(mode="fast")
    assert Collection.objects.get(pk=collection.pk).version > before


def test_over_http(collection: Collection, client: Client) -> None:
    address = "/api/rag/collections/c/search-settings"
    plain: dict[str, Any] = {
        "mode": "balanced",
        "fusion": "calibrated",
        "lexical_weight": None,
        "min_score": None,
        "own": {},
    }
    assert client.get(address).json() == plain
    answer = client.put(address, {"mode": "fast", "lexical_weight": 0.25}, JSON)
    assert answer.status_code == 200
    assert answer.json() == {
        "mode": "fast",
        "fusion": "rrf",
        "lexical_weight": 0.25,
        "min_score": None,
        "own": {"mode": "fast", "lexical_weight": 0.25},
    }
    assert post(client, "fox")["mode"] == "fast"
    mistakes: list[Any] = [{"mode": "slow"}, {"min_score": 2}, {"other": 1}, [], {"lexical_weight": "0.5"}]
    for wrong in mistakes:
        assert client.put(address, wrong, JSON).status_code == 400
    assert client.put(address, {}, JSON).json() == plain
    assert client.get("/api/rag/collections/none/search-settings").status_code == 404


@pytest.mark.usefixtures("keys_required")
def test_reading_them_and_changing_them_are_two_verbs(collection: Collection, client_with: ClientWith) -> None:
    address = "/api/rag/collections/c/search-settings"
    assert client_with("read").get(address).status_code == 200
    assert client_with("read").put(address, {}, JSON).status_code == 403
    assert client_with("write").put(address, {}, JSON).status_code == 200
    assert client_with("search").get(address).status_code == 403


def test_readme_8_the_order_is_the_same_however_many_results_are_wanted(db: None) -> None:
    chance = random.Random(5)
    words = ("fox", "dog", "cat", "runs", "sleeps", "night", "day", "tree", "river", "stone")
    passages = [sentence(" ".join(chance.choices(words, k=chance.randint(1, 6)))) for _ in range(260)]
    filled("many", {"all": "\n\n".join(passages)}, chunking=SMALL)
    for _ in range(8):
        query = " ".join(chance.sample(words, 3))
        few, many = (look(query, name="many", mode="balanced", top_k=top_k, explain=True).hits for top_k in (10, 100))
        # Those that are as good as each other may change places.
        scores = [[hit.explanation.score for hit in hits[:10] if hit.explanation] for hits in (few, many)]
        assert scores[0] == pytest.approx(scores[1])
