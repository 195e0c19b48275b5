"""What may be sent to `/rerank` by mistake or on purpose: never a server error, always a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

JSON = "application/json"

pytestmark = pytest.mark.django_db


def one(**more: Any) -> dict[str, Any]:
    return {"query": "fox", "documents": [{"id": "a", "text": "red fox"}]} | more


def of(**document: Any) -> dict[str, Any]:
    return one(documents=[{"id": "a", "text": "red fox"} | document])


REFUSED: list[tuple[Any, str]] = [
    (None, "Send a JSON object."),
    ([], "Send a JSON object."),
    ("fox", "Send a JSON object."),
    (5, "Send a JSON object."),
    (True, "Send a JSON object."),
    (one(query=None), "query: This field may not be null."),
    (one(query=""), "query: This field may not be blank."),
    (one(query=" \t\n"), "query: This field may not be blank."),
    (one(query=5), "query: Not a valid string."),
    (one(query=["fox"]), "query: Not a valid string."),
    (one(query="x" * 4001), "query: Ensure this field has no more than 4000 characters."),
    (one(query="a\0b"), "query: Null characters are not allowed."),
    (one(query="a\ud800"), "query: Remove lone surrogates: they are no characters."),
    (one(documents=None), "documents: This field may not be null."),
    (one(documents={}), 'documents: Expected a list of items but got type "dict".'),
    (one(documents="red fox"), 'documents: Expected a list of items but got type "str".'),
    (one(documents=["red fox"]), "documents.0: Send a JSON object."),
    (one(documents=[None]), "documents.0: This field may not be null."),
    (one(documents=[[]]), "documents.0: Send a JSON object."),
    (one(documents=[{"id": "a"}]), "documents.0.text: This field is required."),
    (one(documents=[{"text": "a"}]), "documents.0.id: This field is required."),
    (of(id=5), "documents.0.id: Not a valid string."),
    (of(id=True), "documents.0.id: Not a valid string."),
    (of(id=None), "documents.0.id: This field may not be null."),
    (of(id=""), "documents.0.id: This field may not be blank."),
    (of(id="x" * 1001), "documents.0.id: Ensure this field has no more than 1000 characters."),
    (of(id="\udfff"), "documents.0.id: Remove lone surrogates: they are no characters."),
    (of(text=5), "documents.0.text: Not a valid string."),
    (of(text=None), "documents.0.text: This field may not be null."),
    (of(text="\0"), "documents.0.text: Null characters are not allowed."),
    (of(text="\ud800"), "documents.0.text: Remove lone surrogates: they are no characters."),
    (of(score=1), "documents.0.score: Unknown field. Known fields: id, text."),
    (one(top_n=1), "top_n: Unknown field. Known fields: query, documents, top_k."),
    (one(texts=["a"]), "texts: Unknown field. Known fields: query, documents, top_k."),
    (one(top_k=0), "top_k: Ensure this value is greater than or equal to 1."),
    (one(top_k=-1), "top_k: Ensure this value is greater than or equal to 1."),
    (one(top_k=True), "top_k: A valid integer is required."),
    (one(top_k="3"), "top_k: A valid integer is required."),
    (one(top_k=1.5), "top_k: A valid integer is required."),
    (
        one(documents=[{"id": "a", "text": "b"}] * 1001),
        "documents: Ensure this field has no more than 1000 elements.",
    ),
]


@pytest.mark.parametrize(("body", "detail"), REFUSED, ids=[detail for _, detail in REFUSED])
def test_what_is_refused(client: Client, cross_encoder: None, body: Any, detail: str) -> None:
    answer = client.generic("POST", "/rerank", json.dumps(body), JSON)
    assert answer.status_code == 400, answer.content
    assert answer.json()["detail"] == detail


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b'{"query": NaN, "documents": []}', 400),
        (b'{"query": "x", "documents": [], "top_k": 1e999, "top_n": 1e999}', 400),
        (b"[" * 100_000, 400),
        (b'{"query": "x", "documents": ' + b"[" * 200 + b"]" * 200 + b"}", 400),
        (b'{"\\ud800": 1, "documents": 5}', 400),
        (b'{"query": "x", "documents": [{"\\ud800": "x"}]}', 400),
        (b'{"query": "x", "documents": [{"id": "a", "text": "x", "\\ud800": 1}]}', 400),
        (b'{"query": "x", "documents": [{"id": "a", "text": "x", "b": "\\ud800"}]}', 400),
    ],
)
def test_what_is_no_proper_json(client: Client, cross_encoder: None, path: str, body: bytes, status: int) -> None:
    answer = client.generic("POST", path, body, JSON)
    assert answer.status_code == status, answer.content
    assert answer.json()["detail"]


def test_other_types_and_methods(client: Client, cross_encoder: None) -> None:
    assert client.generic("POST", "/rerank", b"query=fox", "text/plain").status_code == 415
    assert client.post("/rerank", {"query": "fox"}).status_code == 415
    assert client.get("/rerank").status_code == 405
    assert client.post("/rerank?top_k=1", one(), JSON).json()["code"] == "unknown_parameter"


def test_unusual_texts_are_scored(client: Client, cross_encoder: None) -> None:
    texts = [
        "",
        " ",
        "\t\n",
        "fox",
        "x" * 1_000_000,
        "fox " * 100_000,
        "\u202efox\u0301 🦊",
        "[SEP] [CLS] [MASK] [PAD]",
    ]
    documents = [{"id": "same", "text": text} for text in texts]
    answer = client.post("/rerank", one(documents=documents), JSON)
    assert answer.status_code == 200, answer.content
    assert sorted(found["original_rank"] for found in answer.json()["reranked"]) == [*range(1, 9)]


def test_the_most_that_is_taken(client: Client, cross_encoder: None) -> None:
    documents = [{"id": str(n), "text": f"tea {n}"} for n in range(999)] + [{"id": "fox", "text": "fox"}]
    answer = client.post("/rerank", one(query="fox" + "x" * 3997, documents=documents, top_k=1), JSON)
    assert answer.status_code == 200, answer.content
    assert len(answer.json()["reranked"]) == 1


def test_bodies_beyond_the_limit_are_413(client: Client, cross_encoder: None, settings: Any) -> None:
    ingestion = settings.RAGSITE.ingestion.model_copy(update={"max_request_bytes": 1000})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"ingestion": ingestion})
    for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
        answer = client.post(path, one(documents=[{"id": "a", "text": "x" * 1000}]), JSON)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_names_that_cannot_be_sent_back_are_refused_everywhere(client: Client) -> None:
    """A message quotes the field or the choice, and a lone surrogate in it would end as a server error."""
    for body in (b'{"name": "docs", "\\ud800": 1}', b'{"name": "docs", "distance": "\\ud800"}'):
        answer = client.generic("POST", "/collections", body, JSON)
        assert answer.status_code == 400, answer.content
        assert "?" in answer.json()["detail"]


@pytest.mark.parametrize("field", ["documents", "rank_fields"])
def test_a_long_list_of_nothing_is_answered_in_few_words(client: Client, field: str) -> None:
    body = {"query": "q", "documents": ["a"], field: [0] * 200_000}
    answer = client.post("/v1/rerank", body, content_type="application/json")
    assert answer.status_code == 400
    assert "no more than" in answer.content.decode()
    assert len(answer.content) < 1_000
