"""A13: texts in order of how well they answer a query, over HTTP."""

from __future__ import annotations

import pytest
from django.test import Client

JSON = "application/json"
TEXTS = ("tea rye", "red fox", "owl", "jam pie hat fox sea")

pytestmark = pytest.mark.django_db


def test_a13_1_texts_with_the_query_s_word_come_first(client: Client, cross_encoder: None) -> None:
    documents = [{"id": f"d{n}", "text": text} for n, text in enumerate(TEXTS)]
    answer = client.post("/rerank", {"query": "fox", "documents": documents}, JSON)
    assert answer.status_code == 200, answer.content
    found = answer.json()["reranked"]
    assert {one["id"] for one in found[:2]} == {"d1", "d3"}
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
    assert {one["id"]: one["original_rank"] for one in found} == {"d0": 1, "d1": 2, "d2": 3, "d3": 4}


def test_a13_3_without_a_model_it_is_503(client: Client) -> None:
    answer = client.post("/rerank", {"query": "fox", "documents": [{"id": "a", "text": "b"}]}, JSON)
    assert answer.status_code == 503
    assert answer.json()["detail"] == "Cross-encoder not loaded. Start server with --cross-encoder flag."
