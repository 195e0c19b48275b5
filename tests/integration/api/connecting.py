"""Calls of the gateway and of connections, each answered as it should be."""

from __future__ import annotations

from django.test import Client

JSON = "application/json"


def walk_connections(client: Client) -> None:
    """Every operation once: what a connection leads to need not be there."""
    assert client.get("/api/providers").json()["count"]
    new = {"name": "far", "provider": "remote", "settings": {"url": "http://127.0.0.1:9", "api_key": "k"}}
    assert client.post("/api/connections", new, JSON).status_code == 201
    client.get("/api/connections/far")
    client.patch("/api/connections/far", {"settings": {"url": "http://127.0.0.1:9", "timeout_seconds": 1}}, JSON)
    assert client.get("/api/connections").json()["connections"][0]["health"]["status"] == "unhealthy"
    client.post("/api/connections/far/test")
    client.post("/api/connections", {"name": "filed", "provider": "sqlite", "settings": {"file": "walk.db"}}, JSON)
    client.post("/api/collections?service=filed", {"name": "books"}, JSON)
    documents = [{"id": "a", "text": "t", "embedding": [1, 2]}]
    client.post("/api/collections/books/documents?service=filed", {"documents": documents}, JSON)
    attached = {"name": "attached", "name_there": "books"}
    assert client.post("/api/connections/filed/attach", attached, JSON).status_code == 201
    client.delete("/collections/attached")
    client.post("/collections", {"name": "placed"}, JSON)
    assert client.put("/api/rag/collections/placed/placement", {"service": "filed"}, JSON).status_code == 202
    assert client.get("/api/rag/collections/placed/placement").json()["moving_to"]["service"] == "filed"
    client.delete("/collections/placed")
    client.delete("/api/collections/books?service=filed")
    client.delete("/api/connections/filed")
    client.delete("/api/connections/far")


def walk_gateway(client: Client) -> None:
    """The storage API's calls, on the built-in store."""
    base = "/api/collections"
    client.post(f"{base}?service=built-in", {"name": "through", "metadata": {"a": None}}, JSON)
    client.get(base)
    client.get(f"{base}/through")
    client.put(f"{base}/through/metadata?merge=true", {"metadata": {"b": [1]}}, JSON)
    documents = [{"id": f"d{n}", "text": "t", "embedding": [1, n], "metadata": {"n": n}} for n in range(3)]
    client.post(f"{base}/through/documents", {"documents": documents}, JSON)
    client.get(f"{base}/through/documents?include=embedding")
    client.get(f"{base}/through/documents/d0")
    client.patch(f"{base}/through/documents/d0", {"metadata": {"n": 5}}, JSON)
    client.get(f"{base}/through/metadata-values?field=n")
    assert client.post(f"{base}/through/query", {"query_embedding": [1, 0]}, JSON).json()["count"] == 3
    assert client.delete(f"{base}/through/documents", {"ids": ["d0"]}, JSON).json()["count_deleted"] == 1
    assert client.delete(f"{base}/through/documents/all").json()["count_deleted"] == 2
    client.delete(f"{base}/through")
