"""README 8, B5.3, C-REQ-004: what was found is put in order once more by a cross-encoder."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
import pytest
from django.test import Client

from core_app import wiring
from core_app.ports import PairScores
from core_app.wiring import pair_scorer
from search_app.clock import Clock
from search_app.results import SearchResult
from tests.integration.search.asked import filled, look, sources

JSON = "application/json"
#: Words of the model; all have the query's in a way that words and meaning like more or less.
TEXTS = {
    "none": "tea rye oak",
    "one": "fox tea rye oak sea map",
    "two": "ink fox",
    "more": "jam owl pie fox hat red",
}

pytestmark = pytest.mark.django_db


@pytest.fixture
def found_by_all(cross_encoder: None) -> None:
    filled("c", TEXTS)


class Scorer:
    """Says what it is told, of as many texts as it has time for."""

    model = "scripted"

    def __init__(self, **scores: float) -> None:
        self.scores_of = scores
        self.most = 100
        self.asked: list[tuple[str, int, float | None]] = []

    def scores(self, *, query: str, texts: Any, seconds: float | None = None, partial: bool = False) -> PairScores:
        self.asked.append((query, len(texts), seconds))
        found = np.array([self._score(text) for text in texts[: self.most]], np.float32)
        return PairScores(logits=found, values=found, tokens=0)

    def _score(self, text: str) -> float:
        return next((score for source, score in self.scores_of.items() if text.endswith(TEXTS[source])), 0.0)


@pytest.fixture
def scorer(found_by_all: None, monkeypatch: pytest.MonkeyPatch) -> Scorer:
    scorer = Scorer(none=4.0, two=3.0, more=-2.0, one=-5.0)
    monkeypatch.setattr(wiring, "_pair_scorer", cache(lambda: scorer))
    return scorer


def codes(found: SearchResult) -> list[str]:
    return [warning.code for warning in found.warnings]


def weigh(settings: Any, weight: float) -> None:
    section = settings.RAGSITE.rerank.model_copy(update={"weight": weight})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"rerank": section})


def test_a_model_that_learned_an_order_gives_it(found_by_all: None) -> None:
    """The real model: what has the query's word is before what has not."""
    found = look("fox", mode="balanced", explain=True)
    assert (found.reranker, found.reranked, codes(found)) == ("cross-encoder", 4, [])
    assert sources(found)[-1] == "none"
    scores = [hit.explanation.reranked.score for hit in found.hits if hit.explanation and hit.explanation.reranked]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 4


@pytest.mark.parametrize(
    ("mode", "by"), [("fast", "none"), ("balanced", "cross-encoder"), ("thorough", "cross-encoder")]
)
def test_readme_8_the_mode_decides(scorer: Scorer, mode: Any, by: str) -> None:
    found = look("fox", mode=mode)
    assert (found.reranker, found.reranked) == (by, 0 if by == "none" else 4)
    if by != "none":
        assert sources(found) == ["none", "two", "more", "one"]
    assert [asked[:2] for asked in scorer.asked] == ([] if by == "none" else [("fox", 4)])


def test_the_request_decides_over_the_mode(scorer: Scorer) -> None:
    plain = look("fox", mode="balanced", reranker="none")
    assert (plain.reranker, scorer.asked) == ("none", [])
    assert look("fox", mode="fast", reranker="cross-encoder").reranker == "cross-encoder"
    assert codes(look("fox", mode="fast", reranker="llm")) == ["no_reranker"]


def test_b5_3_the_threshold_is_on_similarity_and_before(scorer: Scorer) -> None:
    whole = look("fox", mode="balanced")
    least = sorted(hit.score for hit in whole.hits)[2]
    found = look("fox", mode="balanced", min_score=least)
    assert sources(found) == [source for source in sources(whole) if source in sources(found)]
    assert scorer.asked[-1][1] == len(found.hits) == 2
    assert {hit.score for hit in found.hits} <= {hit.score for hit in whole.hits}, "score stays the similarity"


def test_only_the_best_twenty_are_read_and_the_others_keep_their_order(cross_encoder: None, monkeypatch: Any) -> None:
    filled("c", {f"d{n:02}": "fox " * (n % 7 + 1) + f"tea {n}" for n in range(30)})
    before = sources(look("fox", top_k=30, reranker="none"))
    scorer = Scorer()
    scorer._score = lambda text: float(text.rsplit(" ", 1)[-1])  # type: ignore[method-assign]
    monkeypatch.setattr(wiring, "_pair_scorer", cache(lambda: scorer))
    found = look("fox", top_k=30)
    assert (found.reranked, scorer.asked[0][1]) == (20, 20)
    assert sources(found)[20:] == before[20:]
    assert sources(found)[:20] == sorted(before[:20], reverse=True)


def test_parts_add_up(scorer: Scorer, settings: Any) -> None:
    weigh(settings, 0.3)
    found = look("fox", mode="balanced", explain=True)
    finals = []
    for place, hit in enumerate(found.hits, start=1):
        assert hit.explanation is not None
        assert hit.explanation.reranked is not None
        one = hit.explanation.reranked
        assert one.rank == place
        assert one.final == pytest.approx(one.share + one.share_before)
        assert 0 <= one.final <= 1
        finals.append(one.final)
    assert finals == sorted(finals, reverse=True)


def test_the_weight_is_between_both_orders(scorer: Scorer, settings: Any) -> None:
    before = sources(look("fox", reranker="none"))
    weigh(settings, 1e-9)
    assert sources(look("fox")) == before
    weigh(settings, 1.0)
    assert sources(look("fox")) == ["none", "two", "more", "one"] != before


def test_what_scores_the_same_keeps_its_order(scorer: Scorer) -> None:
    scorer.scores_of = {}
    assert sources(look("fox")) == sources(look("fox", reranker="none"))


def cut(settings: Any) -> None:
    section = settings.RAGSITE.search.model_copy(update={"cut_at_budget": True})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"search": section})


def test_c_req_001_as_many_of_the_best_as_there_is_time_for(scorer: Scorer, settings: Any, monkeypatch: Any) -> None:
    before = sources(look("fox", reranker="none"))
    cut(settings)
    monkeypatch.setattr(Clock, "seconds_left", property(lambda _: 0.3))
    scorer.most = 2
    found = look("fox")
    assert (found.reranked, codes(found)) == (2, ["reranking_cut"])
    assert found.warnings[0].detail == "There was time to rerank the best 2 of 4 passages."
    assert sources(found)[2:] == before[2:]
    assert scorer.asked[-1][2] == pytest.approx(0.28, abs=0.01)
    scorer.most = 0
    found = look("fox")
    assert (found.reranker, found.reranked, sources(found), codes(found)) == ("none", 0, before, ["reranking_cut"])


def test_c_req_001_a_model_that_hangs_is_left_behind(
    found_by_all: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the real pool of threads."""
    scorer: Any = pair_scorer()
    go = threading.Event()
    cut(settings)
    monkeypatch.setattr(Clock, "seconds_left", property(lambda _: 0.1))

    def hang(logits: Any) -> Any:
        assert go.wait(60)
        return logits

    monkeypatch.setattr(scorer, "_activation", hang)
    try:
        found = look("fox")
        assert (found.reranker, codes(found)) == ("none", ["reranking_cut"])
        assert not go.is_set()
    finally:
        go.set()


@pytest.mark.parametrize("wrong", [RuntimeError("CUDA at /srv/secret"), float("nan")])
def test_a_model_that_fails_is_a_warning_and_a_line_of_the_log(
    scorer: Scorer, wrong: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(text: str) -> float:
        if isinstance(wrong, Exception):
            raise wrong
        return float(wrong)

    monkeypatch.setattr(scorer, "_score", failing)
    found = look("fox")
    assert (found.reranker, codes(found)) == ("none", ["reranking_failed"])
    assert len(found.hits) == 4
    assert "the reranker failed" in caplog.text
    assert "secret" not in found.warnings[0].detail


def test_with_diversity_and_groups(scorer: Scorer) -> None:
    assert sources(look("fox", diversity=1e-9)) == ["none", "two", "more", "one"]
    assert sources(look("fox", group_size=1, top_k=2)) == ["none", "two"]


def test_the_answer_over_http_says_who_and_how_many(scorer: Scorer, client: Client) -> None:
    body = {"query": "fox", "explain": True}
    found = client.post("/api/rag/collections/c/search", body, JSON).json()
    assert (found["reranker"], found["reranked"]) == ("cross-encoder", 4)
    assert found["results"][0]["explain"]["reranked"]["rank"] == 1
    assert "reranking" in [stage["name"] for stage in found["explain"]["stages"]]
    plain = client.post("/api/rag/collections/c/search", {**body, "reranker": "none"}, JSON).json()
    assert (plain["reranker"], plain["reranked"]) == ("none", 0)
    assert plain["results"][0]["explain"]["reranked"] is None
    wrong = client.post("/api/rag/collections/c/search", {**body, "reranker": "magic"}, JSON)
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid")
