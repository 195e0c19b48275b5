"""`/v1/rerank` and `/v2/rerank` in the forms of Cohere and Jina."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from tests.integration.rerank.test_scenarios import JSON, TEXTS, Script, scripted

__all__ = ["scripted"]

pytestmark = pytest.mark.django_db
BOTH = pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank"])


def rerank(client: Client, path: str = "/v1/rerank", **body: Any) -> Any:
    return client.post(path, {"model": "rerank-v3.5", "query": "fox", "documents": TEXTS} | body, JSON)


@BOTH
def test_one_answer_for_all_clients(client: Client, cross_encoder: None, cross_encoder_folder: Path, path: str) -> None:
    answer = rerank(client, path, top_n=2)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert set(body) == {"id", "model", "results", "usage", "meta"}
    assert str(UUID(body["id"])) == body["id"]
    # The folder's name, and nothing of where it is.
    assert body["model"] == cross_encoder_folder.name
    assert {one["index"] for one in body["results"]} == {1, 3}
    assert all(0 < one["relevance_score"] < 1 for one in body["results"])
    assert body["usage"]["total_tokens"] == body["usage"]["prompt_tokens"] > len(TEXTS)
    assert body["meta"] == {"api_version": {"version": path[2]}, "billed_units": {"search_units": 1}}


def test_scores_are_0_to_1_whatever_the_model(client: Client, scripted: Script) -> None:
    scripted(lambda texts: [1000.0 if "fox" in text else -7.5 for text in texts])
    found = rerank(client, return_documents=False)
    expected = [(1, 1.0), (3, 1.0), (0, pytest.approx(1 / (1 + math.exp(7.5)))), (2, pytest.approx(0.000553, abs=1e-5))]
    assert [(one["index"], one["relevance_score"]) for one in found.json()["results"]] == expected


def test_documents_come_back_as_each_version_has_it(client: Client, cross_encoder: None) -> None:
    cases: list[tuple[str, dict[str, Any], bool]] = [
        ("/v1/rerank", {}, True),
        ("/v1/rerank", {"return_documents": None}, True),
        ("/v1/rerank", {"return_documents": True}, True),
        ("/v1/rerank", {"return_documents": False}, False),
        ("/v2/rerank", {}, False),
        ("/v2/rerank", {"return_documents": True}, True),
    ]
    for path, body, wanted in cases:
        found = rerank(client, path, **body).json()["results"]
        if wanted:
            assert {one["index"]: one["document"] for one in found} == {n: {"text": t} for n, t in enumerate(TEXTS)}
        else:
            assert not any("document" in one for one in found)


def test_documents_may_be_objects(client: Client, scripted: Script) -> None:
    scorer = scripted(lambda texts: [-float(n) for n in range(len(texts))])
    documents = ["plain", {"text": "has text", "n": 1}, {"text": ""}]
    found = rerank(client, documents=documents).json()["results"]
    assert scorer.texts == ["plain", "has text", ""]
    assert [one["document"] for one in found] == [{"text": "plain"}, {"text": "has text", "n": 1}, {"text": ""}]


def test_rank_fields_are_read_in_their_order(client: Client, scripted: Script) -> None:
    scorer = scripted(lambda texts: [0.0] * len(texts))
    documents: list[dict[str, Any]] = [
        {"title": "Foxes", "body": "They are red.", "text": "not read"},
        {"body": "No title.", "title": None},
        {"title": 7, "body": ["ä", {"b": True}]},
    ]
    found = rerank(client, documents=documents, rank_fields=["title", "body"]).json()["results"]
    assert scorer.texts == ["Foxes\nThey are red.", "No title.", '7\n["ä", {"b": true}]']
    assert found[0]["document"] == documents[0]
    assert found[1]["document"] == documents[1] | {"text": "No title."}


def test_what_is_asked_for_and_not_done_is_named(client: Client, cross_encoder: None) -> None:
    asked: dict[str, Any] = {
        "max_chunks_per_doc": 3,
        "max_tokens_per_doc": 10,
        "relevant_spans": {},
        "priority": 0,
    }
    warnings = rerank(client, **asked, truncate=True, unknown=5).json()["meta"]["warnings"]
    assert [warning.split(":")[0] for warning in warnings] == list(asked)


@BOTH
@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"query": None}, "query: This field may not be null."),
        ({"query": " "}, "query: This field may not be blank."),
        ({"query": "x" * 4001}, "query: Ensure this field has no more than 4000 characters."),
        ({"documents": None}, "documents: This field may not be null."),
        ({"documents": "fox"}, 'documents: Expected a list of items but got type "str".'),
        ({"documents": ["a"] * 1001}, "documents: Ensure this field has no more than 1000 elements."),
        ({"documents": ["a", 5]}, "documents.1: Send a text, or an object with the field 'text'."),
        ({"documents": [["a"]]}, "documents.0: Send a text, or an object with the field 'text'."),
        ({"documents": [None]}, "documents.0: This field may not be null."),
        ({"documents": [{}]}, "documents.0: Send a text, or an object with one of the fields: text."),
        ({"documents": [{"text": None}]}, "documents.0: Send a text, or an object with one of the fields: text."),
        ({"documents": ["a\0"]}, "documents.0: Null characters are not allowed."),
        ({"documents": ["\udc00"]}, "documents.0: Remove lone surrogates: they are no characters."),
        (
            {"documents": [{"text": "a", "b": ["\ud800"]}]},
            "documents.0.b[0]: remove NUL characters and lone surrogates.",
        ),
        ({"top_n": 0}, "top_n: Ensure this value is greater than or equal to 1."),
        ({"top_n": True}, "top_n: A valid integer is required."),
        ({"return_documents": 1}, "return_documents: Must be a valid boolean."),
        ({"rank_fields": "text"}, 'rank_fields: Expected a list of items but got type "str".'),
    ],
)
def test_mistakes_are_where_each_client_looks(
    client: Client, cross_encoder: None, path: str, body: Any, detail: str
) -> None:
    answer = rerank(client, path, **body)
    assert answer.status_code == 400, answer.content
    found = answer.json()
    assert (found["message"], found["detail"], found["code"][:7]) == (detail, detail, "invalid")


@BOTH
@pytest.mark.parametrize("body", [b"null", b"[]", b'"x"', b"5"])
def test_a_body_that_is_no_object(client: Client, cross_encoder: None, path: str, body: bytes) -> None:
    answer = client.generic("POST", path, body, JSON)
    assert (answer.status_code, answer.json()["message"]) == (400, "Send a JSON object.")


@BOTH
def test_no_documents_are_no_mistake(client: Client, cross_encoder: None, path: str) -> None:
    body = rerank(client, path, documents=[]).json()
    assert (body["results"], body["usage"]["total_tokens"]) == ([], 0)


@BOTH
def test_without_a_model_nobody_is_told_to_wait(client: Client, path: str) -> None:
    answer = rerank(client, path)
    assert answer.status_code == 503
    assert answer.json()["message"] == "Cross-encoder not loaded. Start server with --cross-encoder flag."
    assert "Retry-After" not in answer.headers


@BOTH
def test_a_slow_model_and_a_broken_one(client: Client, scripted: Script, path: str) -> None:
    def fail(_texts: Sequence[str]) -> Sequence[float]:
        raise RuntimeError("out of memory")

    scripted(fail)
    answer = rerank(client, path)
    message = "Cross-encoder scoring failed: RuntimeError: out of memory."
    assert (answer.status_code, answer.json()["message"]) == (500, message)
    scripted(lambda _texts: [])
    answer = rerank(client, path)
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (503, "rerank_timeout", "5")


@BOTH
def test_other_methods_have_a_message_too(client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["message"]) == (405, answer.json()["detail"])


def test_a_text_that_is_null_is_answered_as_what_was_read(client: Client, cross_encoder: None) -> None:
    sent = {"query": "fox", "documents": [{"text": None, "title": "red fox"}], "rank_fields": ["title"]}
    (found,) = client.post("/v1/rerank", sent, "application/json").json()["results"]
    assert found["document"] == {"text": "red fox", "title": "red fox"}
