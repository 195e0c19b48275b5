"""Real answers of every operation against the OpenAPI document (SC-002, SC-005)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from django.urls import resolve, reverse

from access_app.api import ApiView
from access_app.services import create_key
from ingest_app.models import Job
from ingest_app.work import run_job
from tests.integration.access.test_routes import CALLS, call
from tests.integration.api.contract import Contract, ContractBrokenError, ContractClient, template
from tests.integration.api.reranking import walk_reranking

JSON = "application/json"


@pytest.fixture(scope="module")
def contract() -> Contract:
    return Contract()


@pytest.fixture
def checked(contract: Contract) -> ContractClient:
    contract.seen.clear()
    return ContractClient(contract, headers={"host": "127.0.0.1"}, raise_request_exception=False)


@pytest.fixture
def keys_required(settings: Any) -> None:
    security = settings.RAGSITE.security.model_copy(update={"require_keys": "always"})
    settings.LOADED = replace(settings.LOADED, values=settings.RAGSITE.model_copy(update={"security": security}))


def operations(contract: Contract) -> set[tuple[str, str]]:
    return {(method.upper(), path) for path, item in contract.document["paths"].items() for method in item}


def test_every_route_is_documented_and_nothing_else(contract: Contract) -> None:
    open_doors = {("GET", "/health"), ("GET", "/health/live")}
    job = Job(pk="00000000-0000-0000-0000-000000000000")
    seen: set[tuple[str, str]] = set()

    class Recorder(Client):
        def generic(self, method: str, path: str, *_args: Any, **_more: Any) -> Any:  # type: ignore[override]
            seen.add((method, template(path)))

    for route, method in CALLS:
        call(Recorder(), route, method, job)
    assert operations(contract) == seen | open_doors


def test_a_key_may_come_in_either_header(contract: Contract) -> None:
    """Two names in one object would mean that both headers are needed."""
    assert set(contract.document["components"]["securitySchemes"]) == {"bearerKey", "headerKey"}
    for item in contract.document["paths"].values():
        for operation in item.values():
            if operation.get("security"):
                assert operation["security"] in ([{"bearerKey": []}, {"headerKey": []}], [{}])


def test_views_take_the_parameters_that_are_documented(contract: Contract) -> None:
    for path, item in contract.document["paths"].items():
        view = getattr(resolve(re.sub(r"\{\w*id\}", str(UUID(int=0)), path).replace("{name}", "n")).func, "cls", None)
        if view is None or not issubclass(view, ApiView):
            continue
        for method, operation in item.items():
            documented = {given["name"] for given in operation.get("parameters", ()) if given["in"] == "query"}
            assert set(view.parameters.get(method.upper(), ())) == documented, (method, path)


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
    walk_connectors(client)
    walk_parents(client, chunking)
    client.delete("/api/rag/collections/docs/sources?source=a.md")
    client.post(f"/api/rag/jobs/{first['id']}/cancel")
    client.post(f"/api/rag/jobs/{first['id']}/retry")
    queued = client.post(ingest, {"documents": [{"source": "b", "text": "Rye."}]}, JSON).json()
    client.post(f"/api/rag/jobs/{queued['id']}/cancel")
    client.delete("/collections/docs")
    walk_storage(client)
    walk_reranking(client)


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
    assert client.get("/knowledge/docs/search?q=oolong&thoroughness=fast&limit=3").json()["results"]
    settings = "/api/rag/collections/docs/search-settings"
    client.put(settings, {"mode": "fast", "fusion": "calibrated", "lexical_weight": 0.4, "min_score": 0}, JSON)
    assert client.get(settings).json()["own"]["mode"] == "fast"
    client.put(settings, {}, JSON)


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
    client.get("/collections/own/metadata-values?field=n")
    assert client.post("/collections/own/query", {"query_embedding": [1, 2]}, JSON).json()["count"] == 3
    client.post("/collections/own/query", {"query_embeddings": [[1, 2]], "where": {"n": {"$gt": 1}}}, JSON)
    client.delete("/collections/own/documents", {"ids": ["d0"]}, JSON)
    client.delete("/collections/own/documents/all?dry_run=true")
    client.delete("/collections/own/documents/all")


@pytest.mark.django_db
def test_sc_002_every_operation_answers_as_documented(
    checked: ContractClient, contract: Contract, cross_encoder: None
) -> None:
    walk(checked)
    succeeded = {(method, path) for method, path, status in contract.seen if status < 400}
    assert succeeded == operations(contract)


@pytest.mark.django_db
def test_a_job_that_ends_within_the_wait_is_200(checked: ContractClient, monkeypatch: pytest.MonkeyPatch) -> None:
    checked.post("/collections", {"name": "docs"}, JSON)

    def work(*, job_id: Any, seconds: float) -> Job:
        assert seconds == 5
        run_job(job_id=job_id, stopping=lambda: False)
        return Job.objects.select_related("collection").get(pk=job_id)

    monkeypatch.setattr("ingest_app.api.wait_for_job", work)
    body = {"documents": [{"source": "a", "text": "Rye."}]}
    answer = checked.post("/api/rag/collections/docs/documents?wait=5", body, JSON)
    assert (answer.status_code, answer.json()["state"]) == (200, "succeeded")


@pytest.mark.django_db
def test_refusals_are_documented_for_every_operation(
    checked: ContractClient, contract: Contract, keys_required: None
) -> None:
    # For each operation one of them lacks the verb.
    verbs = (["admin"], ["read", "search", "write", "delete"])
    keys = [create_key(name=verb[0], verbs=verb, collections=["*"])[1] for verb in verbs]
    job = Job(pk="00000000-0000-0000-0000-000000000000")
    for route, method in CALLS:
        call(checked, route, method, job)
        for key in keys:
            checked.defaults["HTTP_X_API_KEY"] = key
            call(checked, route, method, job)
        del checked.defaults["HTTP_X_API_KEY"]
    closed = {(method, path) for method, path in operations(contract) if not path.startswith("/health")}
    for status in (401, 403):
        assert {(method, path) for method, path, found in contract.seen if found == status} == closed


@pytest.mark.django_db
def test_what_is_missing_is_documented(checked: ContractClient, contract: Contract) -> None:
    job = Job(pk="00000000-0000-0000-0000-000000000000")
    bodies: dict[str, Any] = {"search": {"query": "x"}, "collection-metadata": {"metadata": {}}}
    bodies["documents"] = {"documents": [{"text": "t", "embedding": [1]}]}
    bodies["document"] = {"metadata": {"a": 1}}
    bodies["query"] = {"query_embedding": [1]}
    bodies["chunking-preview"] = {"text": "t"}
    bodies["language"] = {"language": "german"}
    bodies["connectors"] = {"kind": "urls", "urls": ["https://example.org/"]}
    bodies["ingest"] = {"documents": [{"source": "a", "text": "b"}]}
    for route, method in CALLS:
        if not route.parameters:
            continue
        values = {"name": "nowhere", "job_id": job.pk, "document_id": "d", "connector_id": job.pk}
        path = reverse(route.name, kwargs={key: values[key] for key in route.parameters})
        body = b"" if method == "GET" else json.dumps(bodies.get(route.name, {}))
        if (route.name, method) == ("documents", "DELETE"):
            body = json.dumps({"ids": ["d"]})
        needed = {("sources", "DELETE"): "?source=x", ("metadata-values", "GET"): "?field=x"}
        needed[("knowledge-search", "GET")] = "?q=x"
        checked.generic(method, path + needed.get((route.name, method), ""), body, JSON)
    missing = {(method, path) for method, path, status in contract.seen if status == 404}
    assert missing == {(method, path) for method, path in operations(contract) if "{" in path}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/collections", {"name": "docs"}, 409),
        ("POST", "/collections", {"name": "a/b"}, 400),
        ("GET", "/collections?limit=0", None, 400),
        ("GET", "/collections?limit=1000000000000000000", None, 200),
        ("GET", "/collections?limit=1000000000000000001", None, 400),
        ("PUT", "/collections/docs/metadata?merge=maybe", {"metadata": {}}, 400),
        ("PUT", "/collections/docs/metadata", {"metadata": 5}, 400),
        ("POST", "/api/rag/collections/docs/search", {"query": ""}, 400),
        ("POST", "/api/rag/collections/docs/search", {"query": "x", "top_k": 0, "min_score": 2}, 400),
        ("POST", "/api/rag/collections/docs/documents", {"documents": []}, 400),
        ("GET", "/api/rag/collections/docs/sources?offset=-1", None, 400),
        ("PUT", "/api/rag/collections/docs/chunking", {"size": 1}, 400),
        ("POST", "/api/rag/collections/docs/chunking/preview", {"source": "a"}, 404),
        ("POST", "/api/rag/collections/docs/chunking/preview", {}, 400),
        ("POST", "/collections", {"name": "woerter", "language": "klingon"}, 400),
        ("PUT", "/api/rag/collections/docs/language", {"language": "klingon"}, 400),
        ("PUT", "/api/rag/collections/docs/language", {}, 400),
        ("POST", "/api/rag/collections/docs/connectors", {"kind": "urls"}, 400),
        ("POST", "/api/rag/collections/docs/connectors", {"kind": "folder", "location": "/etc"}, 403),
        ("DELETE", "/api/rag/collections/docs/sources", None, 400),
        ("GET", "/api/rag/jobs?limit=x", None, 400),
        ("GET", "/collections/docs/documents?where=x", None, 400),
        ("GET", "/collections/docs/metadata-values", None, 400),
        ("POST", "/collections/docs/documents", {"documents": []}, 400),
        ("DELETE", "/collections/docs/documents", {"ids": []}, 400),
        ("PATCH", "/collections/docs/documents/d", {}, 400),
        ("PATCH", "/collections/docs", {"name": "docs/"}, 400),
        ("POST", "/collections/docs/query", {}, 400),
        ("POST", "/rerank", {"query": "x"}, 400),
        ("POST", "/rerank", {"query": "x", "documents": []}, 503),
        ("POST", "/rerank", {"query": "x", "texts": []}, 400),
        ("POST", "/rerank", {"query": "x", "texts": ["x"] * 1001}, 413),
        ("POST", "/rerank", {"query": "x", "texts": [5]}, 422),
        ("POST", "/rerank", {"query": "x", "texts": ["x"]}, 503),
        ("POST", "/v1/rerank", {"query": "x"}, 400),
        ("POST", "/v1/rerank", {"query": "x", "documents": ["x"]}, 503),
        ("POST", "/v2/rerank", {"query": "x", "documents": ["x"]}, 503),
    ],
)
def test_mistakes_are_documented(checked: ContractClient, method: str, path: str, body: Any, status: int) -> None:
    checked.post("/collections", {"name": "docs"}, JSON)
    answer = checked.generic(method, path, b"" if body is None else json.dumps(body), JSON)
    assert answer.status_code == status


@pytest.mark.django_db
def test_bodies_of_another_type_are_documented(checked: ContractClient, contract: Contract) -> None:
    for method, path in operations(contract):
        item = contract.document["paths"][path][method.lower()]
        if "requestBody" in item:
            of_one = re.sub(r"\{\w*id\}", str(UUID(int=0)), path).replace("{name}", "docs")
            checked.generic(method, of_one, b"x", "text/plain")
    with_body = [op for item in contract.document["paths"].values() for op in item.values() if "requestBody" in op]
    assert len([1 for _method, _path, status in contract.seen if status == 415]) == len(with_body) >= 8


@pytest.mark.django_db
def test_a_database_that_is_down_is_documented(checked: ContractClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_args: Any, **_more: Any) -> None:
        raise OperationalError("down")

    checked.post("/collections", {"name": "docs"}, JSON)
    monkeypatch.setattr(BaseDatabaseWrapper, "cursor", down)
    assert checked.get("/health").status_code == 503
    assert checked.get("/collections").status_code == 500
    assert checked.post("/api/rag/collections/docs/search", {"query": "x"}, JSON).status_code == 500


GOOD = {"status": "deleted", "collection": "docs"}


@pytest.mark.parametrize(
    "body",
    [
        {**GOOD, "extra": 1},
        {"status": "deleted"},
        {**GOOD, "collection": None},
        {**GOOD, "collection": 5},
        {**GOOD, "status": "gone"},
        [],
    ],
)
def test_the_check_itself_can_fail(contract: Contract, body: Any) -> None:
    contract.check(method="DELETE", path="/collections/docs", status=200, body=GOOD)
    with pytest.raises(ContractBrokenError):
        contract.check(method="DELETE", path="/collections/docs", status=200, body=body)


def test_an_answer_that_is_not_documented_fails(contract: Contract) -> None:
    for method, path, status in (("PUT", "/collections/docs", 200), ("DELETE", "/collections/docs", 418)):
        with pytest.raises(ContractBrokenError, match="not documented"):
            contract.check(method=method, path=path, status=status, body={})


def test_null_is_allowed_where_the_document_says_so(contract: Contract) -> None:
    metadata = dict.fromkeys(("source", "page_number", "chunk_index", "similarity_score"))
    hit = {
        "id": "a",
        "collection": "docs",
        "content": "b",
        "matched": None,
        "score": 0.5,
        "metadata": {**metadata, "section": "", "rrf_score": 0.1, "own": 1},
    }
    body = {
        "count": 1,
        "results": [hit],
        "mode": "fast",
        "fusion": "rrf",
        "query_strategy": "first message (raw query)",
        "reranker": "none",
        "reranked": 0,
        "warnings": [],
        "took_ms": 1.5,
    }
    path = "/api/rag/collections/docs/search"
    contract.check(method="POST", path=path, status=200, body=body)
    with pytest.raises(ContractBrokenError):
        contract.check(method="POST", path=path, status=200, body={**body, "results": [{**hit, "score": None}]})
