"""Real answers of every operation against the OpenAPI document (SC-002, SC-005)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
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
from tests.integration.api.walks import walk
from tests.integration.inference.scripted_chat import Server

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


# Research searches in threads with connections of their own.
@pytest.mark.django_db(transaction=True)
def test_sc_002_every_operation_answers_as_documented(
    checked: ContractClient, contract: Contract, cross_encoder: None, model: Server
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
    bodies["test-cases"] = {"name": "a", "query": "b", "judgements": [{"id": "c", "grade": 1}]}
    bodies["embedding"] = {"connection": "built-in"}
    bodies["language"] = {"language": "german"}
    bodies["collection-clone"] = {"name": "copy"}
    bodies["connectors"] = {"kind": "urls", "urls": ["https://example.org/"]}
    bodies["filter-preview"] = bodies["filter"] = {"where": {"n": 1}}
    bodies["ingest"] = {"documents": [{"source": "a", "text": "b"}]}
    bodies["connection"] = {"name": "near"}
    bodies["placement"] = {"service": "nowhere"}
    bodies["attach"] = {"name_there": "a", "name": "b"}
    bodies["collection-fetch"] = {"connection": "nowhere"}
    bodies |= {f"gateway-{name}": bodies[name] for name in ("collection-metadata", "documents", "document", "query")}
    for route, method in CALLS:
        if not route.parameters:
            continue
        values = {"name": "nowhere", "job_id": job.pk, "document_id": "d", "connector_id": job.pk, "filter_name": "f"}
        values["connection"] = "nowhere"
        path = reverse(route.name, kwargs={key: values[key] for key in route.parameters})
        body = b"" if method == "GET" else json.dumps(bodies.get(route.name, {}))
        if route.name in {"documents", "gateway-documents"} and method == "DELETE":
            body = json.dumps({"ids": ["d"]})
        if (route.name, method) == ("filter", "PATCH"):
            body = json.dumps({"name": "g"})
        needed = {("sources", "DELETE"): "?source=x", ("metadata-values", "GET"): "?field=x"}
        needed[("knowledge-search", "GET")] = "?q=x"
        needed[("field-values", "GET")] = needed[("gateway-metadata-values", "GET")] = "?field=x"
        needed |= {("knowledge-search", "GET"): "?q=x", ("test-cases", "DELETE"): "?case=x"}
        kind = "application/x-ndjson" if route.name == "collection-import" else JSON
        checked.generic(method, path + needed.get((route.name, method), ""), body, kind)
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
        ("PUT", "/api/rag/collections/docs/embedding", {"connection": "nowhere"}, 404),
        ("PUT", "/api/rag/collections/docs/embedding", {}, 400),
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
