"""The part of the contract's walk that is about filters (issue 7, point 4)."""

from __future__ import annotations

from django.test import Client

JSON = "application/json"


def walk_filters(client: Client) -> None:
    """What can be filtered by, and filters that are kept."""
    rag = "/api/rag/collections/own"
    assert client.get(f"{rag}/fields").json()["rows"] == 3
    assert client.get(f"{rag}/fields/values?field=n&typed=1").json()["values"] == [{"value": 1, "count": 1}]
    previewed = client.post(f"{rag}/filters/preview", {"where": {"n": {"$gte": 1}}}, JSON).json()
    assert (previewed["count"], len(previewed["documents"])) == (2, 2)
    assert client.put(f"{rag}/filters/some", {"where": {"n": 1}, "description": "One"}, JSON).status_code == 201
    assert client.put(f"{rag}/filters/some", {"where": {"n": {"$gt": 1}}}, JSON).status_code == 200
    client.get(f"{rag}/filters")
    client.get(f"{rag}/filters/some")
    assert client.get("/collections/own/documents?filter=some").json()["total"] == 1
    client.post("/collections/own/query", {"query_embedding": [1, 2], "filter": "some"}, JSON)
    assert client.patch(f"{rag}/filters/some", {"name": "few"}, JSON).json()["name"] == "few"
    client.delete(f"{rag}/filters/few")
