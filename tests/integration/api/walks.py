"""Calls of every operation, each answered as it should be."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from ingest_app.models import Job
from ingest_app.work import run_job
from tests.integration.api.connecting import walk_connections, walk_gateway
from tests.integration.api.exchanging import walk_exchange
from tests.integration.api.filtering import walk_filters
from tests.integration.api.reranking import walk_reranking

JSON = "application/json"


def walk(client: Client) -> None:
    """Every operation once or more, so that each answers with success."""
    client.get("/health/live")
    client.get("/health")
    body = {"name": "docs", "metadata": {"a": [1, None, {"b": 2.5}]}, "embedding_model": "x", "distance": "l2"}
    client.post("/collections", body, JSON)
    ingest = "/api/rag/collections/docs/documents"
    files = [SimpleUploadedFile("a.md", b"# Tea\n\nOolong is a tea."), SimpleUploadedFile("empty.md", b"")]
    first = client.post(ingest, {"file": files, "metadata": '{"team": {"deep": [1]}}'}).json()
    client.get(f"/api/rag/jobs/{first['id']}")
    run_job(job_id=Job.objects.get(pk=first["id"]).pk, stopping=lambda: False)
    ended = client.get(f"/api/rag/jobs/{first['id']}").json()
    assert (ended["state"], ended["failed"]) == ("partial", 1)
    client.get("/api/rag/jobs?limit=5")
    client.get("/collections")
    client.get("/collections/docs")
    client.put("/collections/docs/metadata?merge=true", {"metadata": {"c": None}}, JSON)
    assert client.post("/api/rag/collections/docs/search", {"query": "oolong"}, JSON).json()["count"] == 1
    client.post("/api/rag/collections/docs/search", {"query": "x", "topic": "tea", "min_score": 1}, JSON)
    walk_searches(client)
    assert client.get("/api/rag/collections/docs/sources").json()["total"] == 2
    chunking = "/api/rag/collections/docs/chunking"
    client.get(chunking)
    assert client.put(chunking, {"size": 64}, JSON).json()["job"]
    client.post(f"{chunking}/preview", {"source": "a.md", "chunking": {"strategy": "whole"}}, JSON)
    assert client.put(f"{chunking[:-8]}language", {"language": "german"}, JSON).json()["wanted"] is None
    assert client.get(f"{chunking[:-8]}language").json()["language"] == "german"
    assert client.put(f"{chunking[:-8]}embedding", {"connection": "built-in"}, JSON).json()["is_usable"]
    assert client.get(f"{chunking[:-8]}embedding").json()["connection"] == "built-in"
    assert client.post("/collections/docs/clone", {"name": "copy"}, JSON).status_code == 201
    walk_exchange(client)
    walk_connectors(client)
    walk_parents(client, chunking)
    client.delete("/api/rag/collections/docs/sources?source=a.md")
    client.post(f"/api/rag/jobs/{first['id']}/cancel")
    queued = client.post(ingest, {"documents": [{"source": "b", "text": "Rye."}]}, JSON).json()
    client.post(f"/api/rag/jobs/{queued['id']}/cancel")
    assert client.post(f"/api/rag/jobs/{queued['id']}/retry").status_code == 202
    client.post(f"/api/rag/jobs/{queued['id']}/cancel")
    client.delete("/collections/docs")
    walk_storage(client)
    walk_reranking(client)
    walk_connections(client)
    walk_gateway(client)


def walk_searches(client: Client) -> None:
    """Searches with all that can be asked of them."""
    everything = {
        "where": {"source": "a.md"},
        "highlight": True,
        "facets": ["source"],
        "explain": True,
        "diversity": 0.5,
    }
    everything |= {"expand": "section", "group_size": 2}
    body = {"collections": ["docs"], "query": "what tea is oolong", **everything}
    found = client.post("/api/rag/search", body, JSON).json()
    assert found["results"][0]["collection"] == "docs"
    assert found["results"][0]["highlights"]
    assert found["facets"] == {"source": [{"value": "a.md", "count": 1}]}
    nothing = client.post("/api/rag/search", {**body, "where": {"source": "none"}, "min_score": 0.5}, JSON).json()
    assert [step["together"] for step in nothing["explain"]["survivors"]] == [1, 0, 0]
    asked = {"question": "What tea is oolong?", "collections": ["docs"], "where": {"source": "a.md"}, "top_n": 2}
    assert client.post("/api/rag/answer", asked, JSON).json()["sources"]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"accept": "application/json, text/event-stream"}
    assert client.post("/mcp", message, JSON, headers=accept).json()["result"]["tools"]
    topic = {"topic": "oolong and tea", "collections": ["docs"], "maxIterations": 1}
    assert client.post("/api/rag/research", topic, JSON).json()["searchesPerformed"]
    assert client.get("/knowledge/docs/search?q=oolong&thoroughness=fast&limit=3").json()["results"]
    settings = "/api/rag/collections/docs/search-settings"
    client.put(settings, {"mode": "fast", "fusion": "calibrated", "lexical_weight": 0.4, "min_score": 0}, JSON)
    assert client.get(settings).json()["own"]["mode"] == "fast"
    client.put(settings, {}, JSON)
    walk_testing(client, found["results"][0]["id"])


def walk_testing(client: Client, passage: str) -> None:
    """Test cases: saved, run, listed, deleted."""
    told = client.post("/api/rag/search", {"collections": ["docs"], "query": "tea", "trace": [passage, "x"]}, JSON)
    assert [one["verdict"] for one in told.json()["trace"]] == ["found", "unknown"]
    cases = "/api/rag/collections/docs/test-cases"
    new = {"name": "tea", "query": "oolong", "judgements": [{"id": passage, "grade": 1}], "where": {"source": "a.md"}}
    assert client.post(cases, new, JSON).json()["last_run"] is None
    assert client.post(cases, new, JSON).status_code == 409
    assert client.post(f"{cases}/run", {"names": ["tea"]}, JSON).json()["results"][0]["run"]["first_rank"] == 1
    assert client.get(cases).json()["test_cases"][0]["last_run"]["ndcg_at_10"] == 1.0
    client.delete(f"{cases}?case=tea")


def walk_connectors(client: Client) -> None:
    """The same for places that a collection is kept in step with."""
    connectors = "/api/rag/collections/docs/connectors"
    new = {"kind": "urls", "urls": ["http://127.0.0.1/"], "every_seconds": 3600, "metadata": {"a": [None]}}
    made = client.post(connectors, new, JSON).json()
    client.post(connectors, {"kind": "git", "location": "https://example.org/guide", "branch": "main"}, JSON)
    client.patch(f"{connectors}/{made['id']}", {"every_seconds": None}, JSON)
    run = client.post(f"{connectors}/{made['id']}/run?dry_run=true").json()
    run_job(job_id=Job.objects.get(pk=run["id"]).pk, stopping=lambda: False)
    client.get(f"/api/rag/jobs/{run['id']}")
    client.get(f"{connectors}/{made['id']}")
    assert client.get(connectors).json()["count"] == 2
    client.delete(f"{connectors}/{made['id']}")


def walk_parents(client: Client, chunking: str) -> None:
    """Searches that show more than they found."""
    settings = {"size": 16, "overlap": 0, "parent_size": 100}
    previewed = client.post(f"{chunking}/preview", {"source": "a.md", "chunking": settings}, JSON).json()
    assert [part["parent_index"] for part in previewed["chunks"]] == [0]
    assert client.put(chunking, settings, JSON).json()["own"] == settings
    text = "Oolong is a tea. " * 20
    body = {"documents": [{"source": "long", "text": text}]}
    sent = client.post("/api/rag/collections/docs/documents", body, JSON).json()
    run_job(job_id=Job.objects.get(pk=sent["id"]).pk, stopping=lambda: False)
    found = client.post("/api/rag/collections/docs/search", {"query": "oolong"}, JSON).json()["results"]
    assert {result["matched"] is None for result in found} == {True, False}


def walk_storage(client: Client) -> None:
    """The same for documents that come with their own embeddings."""
    client.post("/collections", {"name": "own"}, JSON)
    client.patch("/collections/own", {"aliases": ["mine"]}, JSON)
    documents = [
        {"id": f"d{n}", "text": "t", "embedding": [1, n], "metadata": {"n": n, "deep": {"a": [None]}}} for n in range(3)
    ]
    client.post("/collections/own/documents", {"documents": documents}, JSON)
    assert client.get("/collections/own/documents?limit=2&include=embedding").json()["next_cursor"]
    client.get("/collections/own/documents/d0?include=embedding")
    client.patch("/collections/own/documents/d0", {"metadata": {"n": None}}, JSON)
    client.patch("/collections/own/documents/d0", {"disabled": True}, JSON)
    client.get("/collections/own/documents")
    client.patch("/collections/own/documents/d0", {"disabled": False}, JSON)
    client.get("/collections/own/metadata-values?field=n")
    walk_filters(client)
    assert client.post("/collections/own/query", {"query_embedding": [1, 2]}, JSON).json()["count"] == 3
    client.post("/collections/own/query", {"query_embeddings": [[1, 2]], "where": {"n": {"$gt": 1}}}, JSON)
    client.delete("/collections/own/documents", {"ids": ["d0"]}, JSON)
    client.delete("/collections/own/documents/all?dry_run=true")
    client.delete("/collections/own/documents/all")
