"""The part of the walk over all operations that needs a cross-encoder."""

from __future__ import annotations

from typing import Any

from django.test import Client

JSON = "application/json"


def walk_reranking(client: Client) -> None:
    """Texts put in order, in each form."""
    documents = [{"id": "a", "text": "tea"}, {"id": "b", "text": "red fox"}]
    for path in ("/rerank", "/api/rerank", "/api/rerank?service=built-in"):
        own = client.post(path, {"query": "fox", "documents": documents, "top_k": 1}, JSON).json()
        assert [one["id"] for one in own["reranked"]] == ["b"]
    more: dict[str, Any]
    for more in ({}, {"return_text": True, "raw_scores": True}):
        assert client.post("/rerank", {"query": "fox", "texts": ["tea", "fox"], **more}, JSON).json()[0]["index"] == 1
    for path in ("/v1/rerank", "/v2/rerank"):
        for more in ({}, {"return_documents": True, "priority": 1}):
            found = client.post(path, {"query": "fox", "documents": ["tea", documents[1]], **more}, JSON).json()
            assert found["results"][0]["index"] == 1
