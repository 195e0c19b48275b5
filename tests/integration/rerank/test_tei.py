"""`POST /rerank` in the form of Text Embeddings Inference: `texts` in, a bare array out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client

from tests.integration.rerank.test_scenarios import JSON, TEXTS, Script, scripted

__all__ = ["scripted"]

pytestmark = pytest.mark.django_db


def rerank(client: Client, **body: Any) -> Any:
    return client.post("/rerank", {"query": "fox", "texts": TEXTS} | body, JSON)


def test_a_bare_array_best_first(client: Client, cross_encoder: None) -> None:
    answer = rerank(client)
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert {one["index"] for one in found[:2]} == {1, 3}
    assert {one["index"] for one in found} == {0, 1, 2, 3}
    assert all(set(one) == {"index", "score"} for one in found)
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)


def test_raw_scores_are_what_the_head_gives(client: Client, scripted: Script) -> None:
    scripted(lambda texts: [float(len(text)) - 5 for text in texts])
    texts = ["1234567", "12"]
    raw = [{"index": 0, "score": 2.0}, {"index": 1, "score": -3.0}]
    assert rerank(client, texts=texts, raw_scores=True).json() == raw
    usual = rerank(client, texts=texts).json()
    assert [one["score"] for one in usual] == pytest.approx([1 / (1 + math.exp(-2)), 1 / (1 + math.exp(3))])


def test_texts_come_back_where_they_are_wanted(client: Client, cross_encoder: None) -> None:
    found = rerank(client, return_text=True, truncate=True, truncation_direction="Right").json()
    assert {one["index"]: one["text"] for one in found} == dict(enumerate(TEXTS))


def test_null_says_nothing(client: Client, cross_encoder: None) -> None:
    optional = dict.fromkeys(("raw_scores", "return_text", "truncate", "truncation_direction"))
    assert rerank(client, **optional).json() == rerank(client).json()


def test_fields_that_are_not_known_are_left_alone(client: Client, cross_encoder: None) -> None:
    assert len(rerank(client, model="x", inputs=["y"]).json()) == 4


@pytest.mark.parametrize(
    ("body", "status", "kind", "sentence"),
    [
        ({"texts": []}, 400, "Empty", "`texts` cannot be empty."),
        ({"texts": ["x"] * 1001}, 413, "Validation", "Send at most 1000 texts, not 1001."),
        ({"texts": None}, 422, "Validation", "texts: This field may not be null."),
        ({"texts": "fox"}, 422, "Validation", 'texts: Expected a list of items but got type "str".'),
        ({"texts": ["a", 5]}, 422, "Validation", "texts.1: Not a valid string."),
        ({"texts": ["a\0"]}, 422, "Validation", "texts.0: Null characters are not allowed."),
        ({"texts": ["\ud800"]}, 422, "Validation", "texts.0: Remove lone surrogates: they are no characters."),
        ({"query": ""}, 422, "Validation", "query: This field may not be blank."),
        ({"query": "x" * 4001}, 422, "Validation", "query: Ensure this field has no more than 4000 characters."),
        ({"raw_scores": "yes"}, 422, "Validation", "raw_scores: Must be a valid boolean."),
        ({"truncation_direction": "Left"}, 422, "Validation", 'truncation_direction: "Left" is not a valid choice.'),
        ({"truncation_direction": "\ud800"}, 422, "Validation", 'truncation_direction: "?" is not a valid choice.'),
    ],
)
def test_mistakes_in_tei_s_words(
    client: Client, cross_encoder: None, body: Any, status: int, kind: str, sentence: str
) -> None:
    answer = rerank(client, **body)
    assert (answer.status_code, answer.json()) == (status, {"error": sentence, "error_type": kind})


def test_a_missing_query(client: Client, cross_encoder: None) -> None:
    answer = client.post("/rerank", {"texts": ["a"]}, JSON)
    assert answer.json() == {"error": "query: This field is required.", "error_type": "Validation"}


def test_no_model_a_slow_one_and_a_broken_one(client: Client, scripted: Script) -> None:
    def fail(_texts: Sequence[str]) -> Sequence[float]:
        raise RuntimeError("out of memory")

    scripted(fail)
    answer = rerank(client)
    assert (answer.status_code, answer.json()["error_type"]) == (424, "Backend")
    assert answer.json()["error"] == "Cross-encoder scoring failed: RuntimeError: out of memory."
    scripted(lambda _texts: [])
    answer = rerank(client)
    assert (answer.status_code, answer.json()["error_type"]) == (429, "Overloaded")
    assert answer.headers["Retry-After"] == "5"


def test_a13_3_without_a_model_it_is_503(client: Client) -> None:
    answer = rerank(client)
    assert answer.status_code == 503
    assert answer.json() == {
        "error": "Cross-encoder not loaded. Start server with --cross-encoder flag.",
        "error_type": "Unhealthy",
    }
