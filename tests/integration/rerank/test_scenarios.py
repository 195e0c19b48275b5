"""A13: texts in order of how well they answer a query, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from django.test import Client

from core_app.ports import PairScores
from rerank_app.services import rank

JSON = "application/json"
TEXTS = ("tea rye", "red fox", "owl", "jam pie hat fox sea")
DOCUMENTS = [{"id": f"d{n}", "text": text} for n, text in enumerate(TEXTS)]

pytestmark = pytest.mark.django_db


class ScriptedScorer:
    """A model that says what it is told to."""

    model = "scripted"

    def __init__(self, scores: Callable[[Sequence[str]], Sequence[float]]) -> None:
        self._scores = scores
        self.texts: list[str] = []

    def load(self) -> None: ...

    def scores(
        self, *, query: str, texts: Sequence[str], seconds: float | None = None, partial: bool = False
    ) -> PairScores:
        self.texts += texts
        found = np.array(self._scores(texts), np.float32)
        return PairScores(logits=found, values=found, tokens=3 * len(texts))


Script = Callable[[Callable[[Sequence[str]], Sequence[float]]], ScriptedScorer]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Script:
    def script(scores: Callable[[Sequence[str]], Sequence[float]]) -> ScriptedScorer:
        scorer = ScriptedScorer(scores)
        monkeypatch.setattr("rerank_app.services.pair_scorer", lambda: scorer)
        return scorer

    return script


def rerank(client: Client, **body: Any) -> Any:
    return client.post("/rerank", {"query": "fox", "documents": DOCUMENTS} | body, JSON)


def test_a13_1_texts_with_the_query_s_word_come_first(client: Client, cross_encoder: None) -> None:
    answer = rerank(client)
    assert answer.status_code == 200, answer.content
    found = answer.json()["reranked"]
    assert {one["id"] for one in found[:2]} == {"d1", "d3"}
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert {one["id"]: one["original_rank"] for one in found} == {"d0": 1, "d1": 2, "d2": 3, "d3": 4}


def test_a13_2_all_are_scored_and_the_best_returned(client: Client, scripted: Script) -> None:
    scorer = scripted(lambda texts: [float(text) for text in texts])
    documents = [{"id": str(n), "text": str(n)} for n in (1, 4, 10, 2, 5, 3, 9, 6, 8, 7)]
    found = rerank(client, documents=documents, top_k=3).json()["reranked"]
    assert [(one["id"], one["original_rank"]) for one in found] == [("10", 3), ("9", 7), ("8", 9)]
    assert len(scorer.texts) == 10


def test_a13_2_more_than_there_are_is_all(client: Client, cross_encoder: None) -> None:
    assert len(rerank(client, top_k=5).json()["reranked"]) == 4


def test_a13_2_null_is_all(client: Client, cross_encoder: None) -> None:
    assert len(rerank(client, top_k=None).json()["reranked"]) == len(rerank(client).json()["reranked"]) > 0


def test_a13_3_without_a_model_it_is_503(client: Client) -> None:
    answer = rerank(client)
    assert answer.status_code == 503
    assert answer.json() == {
        "detail": "Cross-encoder not loaded. Start server with --cross-encoder flag.",
        "code": "cross_encoder_not_loaded",
    }


def test_a13_3_without_a_model_nobody_is_told_that_nothing_can_be_ranked(client: Client) -> None:
    assert rerank(client, documents=[]).status_code == 503
    assert rerank(client, query="").status_code == 400


@pytest.mark.parametrize(("field", "number"), [("query", 4), ("documents", 5)])
def test_a13_4_and_5_what_is_missing_is_named(client: Client, cross_encoder: None, field: str, number: int) -> None:
    body = {"query": "fox", "documents": DOCUMENTS}
    del body[field]
    answer = client.post("/rerank", body, JSON)
    assert answer.status_code == 400, number
    assert answer.json()["detail"] == f"{field}: This field is required."
    assert answer.json()["errors"] == {field: ["This field is required."]}


def test_a13_6_no_documents_are_no_mistake(client: Client, cross_encoder: None) -> None:
    answer = rerank(client, documents=[])
    assert (answer.status_code, answer.json()) == (200, {"reranked": []})


def test_a13_7_ids_scores_and_places(client: Client, scripted: Script) -> None:
    scripted(lambda texts: [float(len(text)) for text in texts])
    documents = [{"id": " a ", "text": "x"}, {"id": "ü/1", "text": "xxx"}, {"id": "0", "text": ""}]
    assert rerank(client, documents=documents).json() == {
        "reranked": [
            {"id": "ü/1", "score": 3.0, "original_rank": 2},
            {"id": " a ", "score": 1.0, "original_rank": 1},
            {"id": "0", "score": 0.0, "original_rank": 3},
        ]
    }


def test_a13_7_those_with_the_same_score_keep_their_order(client: Client, scripted: Script) -> None:
    scripted(lambda texts: [0.5] * len(texts))
    documents = [{"id": str(n), "text": str(n)} for n in range(30)]
    assert [one["original_rank"] for one in rerank(client, documents=documents).json()["reranked"]] == [*range(1, 31)]


def test_a13_7_a_text_that_is_there_often_gets_one_score(client: Client, cross_encoder: None) -> None:
    texts = [text for n in range(30) for text in ("red fox", " ".join(["tea"] * (n + 1)))]
    documents = [{"id": "same", "text": text} for text in texts]
    found = rerank(client, documents=documents).json()["reranked"]
    assert [one["original_rank"] for one in found[:30]] == [*range(1, 61, 2)]
    assert len({one["score"] for one in found[:30]}) == 1


def test_a13_8_a_failure_says_what_it_was_and_nothing_private(
    client: Client, scripted: Script, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_texts: Sequence[str]) -> Sequence[float]:
        raise RuntimeError(
            "out of memory at 0x7f00 in '/srv/my models/a.bin', C:\\models\\a, ~/.cache/x (https://u:p@host/x, "
            "10.0.0.3:5432, [fe80::1]:80, redis.internal:6379)\nTraceback: secret"
        )

    scripted(fail)
    answer = rerank(client)
    assert answer.status_code == 500
    body = answer.json()
    assert body["code"] == "scoring_failed"
    assert body["detail"].startswith("Cross-encoder scoring failed: RuntimeError: out of memory at ... in ..., ")
    for private in ("0x7f", "srv", "models", "cache", "host", "10.0", "5432", "fe80", "redis", "Traceback", "secret"):
        assert private not in answer.content.decode()
    logged = [record for record in caplog.records if record.name == "rerank_app.services"]
    assert [(record.levelname, record.exc_info is not None) for record in logged] == [("ERROR", True)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a13_8_scores_that_are_no_numbers(client: Client, scripted: Script, value: float) -> None:
    scripted(lambda _texts: [1.0, value, 0.0, 2.0])
    answer = rerank(client)
    assert answer.status_code == 500
    assert answer.json()["detail"] == "Cross-encoder scoring failed: it gave scores that are no numbers."


def test_a_model_that_runs_out_of_time_is_503(client: Client, scripted: Script) -> None:
    scripted(lambda _texts: [1.0])
    answer = rerank(client)
    assert (answer.status_code, answer.json()["code"]) == (503, "rerank_timeout")
    assert answer.headers["Retry-After"] == "5"


def test_eight_at_once_get_their_own_orders(cross_encoder: None) -> None:
    words = ("tea", "rye", "fox", "oak", "sea", "map", "red", "ink")
    texts = [f"{word} {other}" for word in words for other in ("owl", "pie", "hat")]

    def ask(number: int) -> set[int]:
        return {one.index // 3 for one in rank(query=words[number % 8], texts=texts, top_n=3).ranked}

    ask(0)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(48))) == [{number % 8} for number in range(48)]
