"""Every address asks for the verb it declares, on the collection it names; read from the URL table itself."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from access_app.api import ApiView, PublicView
from access_app.authentication import MayReadDocs
from access_app.models import Verb
from access_app.services import create_key
from core_app.ports import QueryEngine
from inference_app.hashing import HashingEmbedder
from ingest_app.models import Job
from tests.integration.access.conftest import ClientWith, with_key

#: Everybody may call these, and nothing else.
PUBLIC = {"health", "health-live"}
#: Any key, or a login to the console (test_docs_door.py).
DOCS = {"schema", "swagger"}

#: What each method of each route asks for. A route that is new or has changed must be written here too.
VERBS = {
    ("collections", "GET"): Verb.READ,
    ("collections", "POST"): Verb.WRITE,
    ("collection", "GET"): Verb.READ,
    ("collection", "DELETE"): Verb.DELETE,
    ("collection", "PATCH"): Verb.WRITE,
    ("collection-metadata", "PUT"): Verb.WRITE,
    ("collection-clone", "POST"): Verb.WRITE,
    ("collection-export", "GET"): Verb.READ,
    ("collection-import", "POST"): Verb.WRITE,
    ("collection-fetch", "POST"): Verb.WRITE,
    ("metadata-values", "GET"): Verb.READ,
    ("documents", "GET"): Verb.READ,
    ("documents", "POST"): Verb.WRITE,
    ("documents", "DELETE"): Verb.DELETE,
    ("document", "GET"): Verb.READ,
    ("document", "PATCH"): Verb.WRITE,
    ("fields", "GET"): Verb.READ,
    ("field-values", "GET"): Verb.READ,
    ("filters", "GET"): Verb.READ,
    ("filter-preview", "POST"): Verb.READ,
    ("filter", "GET"): Verb.READ,
    ("filter", "PUT"): Verb.WRITE,
    ("filter", "PATCH"): Verb.WRITE,
    ("filter", "DELETE"): Verb.WRITE,
    ("query", "POST"): Verb.SEARCH,
    ("rerank", "POST"): Verb.SEARCH,
    ("rerank-v1", "POST"): Verb.SEARCH,
    ("rerank-v2", "POST"): Verb.SEARCH,
    ("search", "POST"): Verb.SEARCH,
    ("search-collections", "POST"): Verb.SEARCH,
    ("answer", "POST"): Verb.SEARCH,
    ("mcp", "POST"): Verb.SEARCH,
    ("research", "POST"): Verb.SEARCH,
    ("search-settings", "GET"): Verb.READ,
    ("search-settings", "PUT"): Verb.WRITE,
    ("test-cases", "GET"): Verb.READ,
    ("test-cases", "POST"): Verb.WRITE,
    ("test-cases", "DELETE"): Verb.DELETE,
    ("test-cases-run", "POST"): Verb.SEARCH,
    ("knowledge-search", "GET"): Verb.SEARCH,
    ("empty", "DELETE"): Verb.DELETE,
    ("ingest", "POST"): Verb.WRITE,
    ("chunking", "GET"): Verb.READ,
    ("chunking", "PUT"): Verb.WRITE,
    ("chunking-preview", "POST"): Verb.READ,
    ("embedding", "GET"): Verb.READ,
    ("embedding", "PUT"): Verb.WRITE,
    ("language", "GET"): Verb.READ,
    ("language", "PUT"): Verb.WRITE,
    ("connectors", "GET"): Verb.READ,
    ("connectors", "POST"): Verb.ADMIN,
    ("connector", "GET"): Verb.READ,
    ("connector", "PATCH"): Verb.ADMIN,
    ("connector", "DELETE"): Verb.ADMIN,
    ("connector-run", "POST"): Verb.WRITE,
    ("sources", "GET"): Verb.READ,
    ("sources", "DELETE"): Verb.DELETE,
    ("jobs", "GET"): Verb.READ,
    ("job", "GET"): Verb.READ,
    ("job-cancel", "POST"): Verb.WRITE,
    ("job-retry", "POST"): Verb.WRITE,
    ("providers", "GET"): Verb.READ,
    ("connections", "GET"): Verb.READ,
    ("connections", "POST"): Verb.ADMIN,
    ("connection", "GET"): Verb.ADMIN,
    ("connection", "PATCH"): Verb.ADMIN,
    ("connection", "DELETE"): Verb.ADMIN,
    ("connection-test", "POST"): Verb.ADMIN,
    ("attach", "POST"): Verb.ADMIN,
    ("placement", "GET"): Verb.READ,
    ("placement", "PUT"): Verb.ADMIN,
    ("gateway-collections", "GET"): Verb.READ,
    ("gateway-collections", "POST"): Verb.WRITE,
    ("gateway-collection", "GET"): Verb.READ,
    ("gateway-collection", "DELETE"): Verb.DELETE,
    ("gateway-collection-metadata", "PUT"): Verb.WRITE,
    ("gateway-metadata-values", "GET"): Verb.READ,
    ("gateway-query", "POST"): Verb.SEARCH,
    ("gateway-rerank", "POST"): Verb.SEARCH,
    ("gateway-documents", "GET"): Verb.READ,
    ("gateway-documents", "POST"): Verb.WRITE,
    ("gateway-documents", "DELETE"): Verb.DELETE,
    ("gateway-empty", "DELETE"): Verb.DELETE,
    ("gateway-document", "GET"): Verb.READ,
    ("gateway-document", "PATCH"): Verb.WRITE,
}
#: These name no collection in their address; what they show is cut to the caller's scope instead.
LISTS = {("collections", "GET"), ("jobs", "GET"), ("gateway-collections", "GET")}
#: These use no collection at all, so a key for any may call them.
NO_COLLECTION = {("rerank", "POST"), ("rerank-v1", "POST"), ("rerank-v2", "POST"), ("gateway-rerank", "POST")}
#: These are about the whole server: a key for some collections may not call them.
WHOLE_SERVER = {(name, method) for name, method in VERBS if name in {"connection", "connection-test", "attach"}}
WHOLE_SERVER |= {("connections", "GET"), ("connections", "POST")}
#: This tells the same to every key: what there is, and nothing of any collection.
FOR_ALL = {("providers", "GET")}


@dataclass(frozen=True)
class Route:
    name: str
    view: type[APIView]
    parameters: frozenset[str]

    @property
    def methods(self) -> list[str]:
        names = ("get", "post", "put", "patch", "delete")
        return [name.upper() for name in names if hasattr(self.view, name)]


def patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from patterns(entry)
        else:
            yield entry


def routes() -> list[Route]:
    """All routes behind which a view of the REST framework stands."""
    found = []
    for pattern in patterns(get_resolver()):
        view = getattr(pattern.callback, "cls", None)
        if view is not None and issubclass(view, APIView):
            found.append(Route(pattern.name or str(pattern), view, frozenset(pattern.pattern.converters)))
    return found


ROUTES = routes()
CALLS = [(route, method) for route in ROUTES if route.name not in PUBLIC | DOCS for method in route.methods]
IDS = [f"{method} {route.name}" for route, method in CALLS]
every_call = pytest.mark.parametrize(("route", "method"), CALLS, ids=IDS)


def test_the_table_of_verbs_is_complete() -> None:
    assert {(route.name, method): getattr(route.view, "verbs", {}).get(method) for route, method in CALLS} == VERBS


def test_only_the_public_views_are_open() -> None:
    others = {route.name: route.view for route in ROUTES if not issubclass(route.view, ApiView)}
    assert set(others) == PUBLIC | DOCS
    assert {name for name, view in others.items() if issubclass(view, PublicView)} == PUBLIC
    assert all(others[name].permission_classes == [MayReadDocs] for name in DOCS)


@every_call
def test_a_view_declares_a_verb_for_each_of_its_methods(route: Route, method: str) -> None:
    assert issubclass(route.view, ApiView)
    assert set(route.view.verbs) == set(route.methods)
    assert route.view.authentication_classes == ApiView.authentication_classes
    assert route.view.permission_classes == ApiView.permission_classes


@pytest.fixture
def job(db: None, client: Client) -> Job:
    """A job in the collection `docs`."""
    assert client.post("/collections", {"name": "docs"}, "application/json").status_code == 201
    body = {"documents": [{"source": "a", "text": "hello"}]}
    answer = client.post("/api/rag/collections/docs/documents", body, "application/json")
    return Job.objects.get(pk=answer.json()["id"])


def call(client: Client, route: Route, method: str, job: Job) -> Any:
    """The route about the collection `docs` and its job, with as little else as possible."""
    values = {"name": "docs", "job_id": job.pk, "document_id": "a", "connector_id": job.pk, "filter_name": "f"}
    values |= {"connection": "far"}
    path = reverse(route.name, kwargs={key: values[key] for key in route.parameters})
    bodies = {
        "collections": b'{"name": "docs"}',
        "gateway-collections": b'{"name": "docs"}',
        "search-collections": b'{"collections": ["docs"], "query": "x"}',
        "answer": b'{"collections": ["docs"], "question": "x"}',
        "research": b'{"collections": ["docs"], "topic": "x"}',
    }
    body = bodies.get(route.name, b"{}")
    return client.generic(method, path, b"" if method == "GET" else body, content_type="application/json")


def scope(route: Route, method: str, wanted: str) -> tuple[str, ...]:
    """The least that the call needs."""
    return ("*",) if (route.name, method) in WHOLE_SERVER else (wanted,)


def check_refused(answer: Any, status: int) -> None:
    assert answer.status_code == status, answer.content
    body = answer.json()
    # The addresses of other services' clients say it in their clients' word as well.
    assert body.pop("message", body["detail"]) == body["detail"]
    assert set(body) == {"detail", "code"}
    if status == 401:
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@every_call
def test_without_a_valid_key_it_is_401(job: Job, keys_required: None, route: Route, method: str) -> None:
    yesterday = timezone.now() - timedelta(days=1)
    _key, expired = create_key(name="old", verbs=Verb.values, collections=["*"], expires_at=yesterday)
    wrong = f"rs_{'0' * 12}_{'A' * 43}"
    clients = [
        Client(headers={"host": "127.0.0.1"}),
        with_key(wrong),
        with_key(expired),
        with_key(""),
        Client(headers={"host": "127.0.0.1", "x-api-key": wrong}),
        Client(headers={"host": "127.0.0.1", "authorization": "Basic YTpi"}),
    ]
    for client in clients:
        check_refused(call(client, route, method, job), 401)


@every_call
def test_with_every_verb_but_the_right_one_it_is_403(
    job: Job, keys_required: None, client_with: ClientWith, route: Route, method: str
) -> None:
    others = [verb for verb in Verb.values if verb != VERBS[route.name, method]]
    check_refused(call(client_with(*others), route, method, job), 403)


@every_call
def test_with_another_collection_it_is_403(
    job: Job, keys_required: None, client_with: ClientWith, route: Route, method: str
) -> None:
    answer = call(client_with(*Verb.values, collections=("doc", "docs2", "d", "*x")), route, method, job)
    if (route.name, method) in LISTS:
        assert answer.status_code == 200
        assert b"docs" not in answer.content
        assert answer.json()["total"] == 0
    elif (route.name, method) in NO_COLLECTION:
        assert answer.status_code == 400
    elif (route.name, method) in FOR_ALL:
        assert answer.status_code == 200
    elif route.name == "mcp":
        assert answer.status_code == 406  # no message: its tools name the collections, see tests/integration/mcp
    else:
        check_refused(answer, 403)


@every_call
def test_the_right_key_is_let_through(
    job: Job, keys_required: None, client_with: ClientWith, route: Route, method: str
) -> None:
    client = client_with(VERBS[route.name, method].value, collections=scope(route, method, "do*"))
    assert call(client, route, method, job).status_code not in {401, 403, 500}


@every_call
def test_x_api_key_is_as_good(job: Job, keys_required: None, route: Route, method: str) -> None:
    _key, secret = create_key(name="x", verbs=[VERBS[route.name, method]], collections=scope(route, method, "docs"))
    client = Client(headers={"host": "127.0.0.1", "x-api-key": secret})
    assert call(client, route, method, job).status_code not in {401, 403, 500}


@every_call
def test_a_wrong_key_is_refused_even_where_none_is_needed(job: Job, route: Route, method: str) -> None:
    check_refused(call(with_key("rs_wrong"), route, method, job), 401)


@pytest.mark.parametrize("route", [r for r in ROUTES if r.name not in PUBLIC | DOCS], ids=lambda route: route.name)
def test_head_and_options_ask_for_a_key_too(
    job: Job, keys_required: None, client_with: ClientWith, route: Route
) -> None:
    nobody = Client(headers={"host": "127.0.0.1"})
    assert call(nobody, route, "OPTIONS", job).status_code == 401
    assert call(client_with("search", "write", "delete", "admin"), route, "OPTIONS", job).status_code == 403
    assert call(client_with("read"), route, "OPTIONS", job).status_code == 200
    if "GET" in route.methods:
        assert call(nobody, route, "HEAD", job).status_code == 401


def test_a_missing_collection_out_of_reach_is_403_and_tells_nothing(
    db: None, keys_required: None, client_with: ClientWith
) -> None:
    client = client_with("read", collections=("docs",))
    assert client.get("/collections/other").status_code == 403
    assert client.get("/collections/docs").status_code == 404


def test_lists_show_what_the_key_reaches(
    job: Job, client: Client, keys_required: None, client_with: ClientWith
) -> None:
    everything = client_with(*Verb.values)
    for name in ("team-a", "team-b", "other"):
        everything.post("/collections", {"name": name}, "application/json")
        body = {"documents": [{"source": "a", "text": "hello"}]}
        everything.post(f"/api/rag/collections/{name}/documents", body, "application/json")
    team = client_with("read", collections=("team-*",))
    found = team.get("/collections", {"limit": "1", "offset": "1"}).json()
    assert [c["name"] for c in found["collections"]] == ["team-b"]
    assert (found["count"], found["total"]) == (1, 2)
    jobs = team.get("/api/rag/jobs").json()
    assert {j["collection"] for j in jobs["jobs"]} == {"team-a", "team-b"}
    assert (jobs["count"], jobs["total"]) == (2, 2)
    assert team.get("/api/rag/jobs", {"collection": "team-a"}).json()["total"] == 1
    check_refused(team.get("/api/rag/jobs", {"collection": "other"}), 403)
    check_refused(team.get("/api/rag/jobs", {"collection": "no such"}), 403)
    assert everything.get("/api/rag/jobs").json()["total"] == 4


def test_a_job_that_does_not_exist_is_404(db: None, keys_required: None, client_with: ClientWith) -> None:
    assert client_with("read").get(f"/api/rag/jobs/{uuid.uuid4()}").status_code == 404


class Forgetful(ApiView):
    """A view whose author declared a verb for one of its methods only."""

    verbs = {"GET": Verb.READ}

    def get(self, request: Request) -> Response:
        return Response("read")

    def post(self, request: Request) -> Response:
        return Response("written")


class Bare(ApiView):
    """A view whose author declared nothing."""

    def get(self, request: Request) -> Response:
        return Response("read")


@pytest.mark.parametrize(
    ("view", "method", "status"),
    [(Forgetful, "GET", 200), (Forgetful, "POST", 403), (Forgetful, "PUT", 405), (Bare, "GET", 403)],
)
def test_a_method_without_a_verb_is_refused_to_everybody(view: type[APIView], method: str, status: int) -> None:
    """Even to the local caller, who may do everything that is declared."""
    request = RequestFactory(headers={"host": "127.0.0.1"}).generic(method, "/made-up")
    assert view.as_view()(request).status_code == status


def test_health_tells_more_to_those_with_a_key(db: None, keys_required: None, client_with: ClientWith) -> None:
    """README 13: `/health/live` and a minimal `/health` are open."""
    nobody = Client(headers={"host": "127.0.0.1"})
    assert nobody.get("/health").json() == {"status": "healthy"}
    assert with_key("rs_wrong").get("/health").json() == {"status": "healthy"}
    assert nobody.get("/health/live").json() == {"status": "alive"}
    body = client_with("search", collections=("docs",)).get("/health").json()
    assert set(body) == {"status", "timestamp", "version", "collections", "storage_bytes", "query_engine"}


def test_health_tells_everything_to_this_machine(db: None, client: Client) -> None:
    body = client.get("/health").json()
    assert body["status"] == "healthy"
    assert body["collections"] == 0
    assert body["storage_bytes"] > 0
    assert body["query_engine"] == {"name": "hashing", "reason": "", "is_fallback": False, "is_loading": False}


def test_health_is_not_healthy_before_the_model_is_loaded(
    db: None, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A12: what answers before could search by words alone."""
    engine = QueryEngine(name="torch", reason="the model is being loaded", is_loading=True)
    monkeypatch.setattr(HashingEmbedder, "query_engine", engine)
    answer = client.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "unhealthy")
    assert answer.json()["detail"] == "The embedding model is being loaded: ask again in some seconds."
    assert caplog.records == [], "whoever starts the server asks many times"
    assert client.get("/health/live").status_code == 200
