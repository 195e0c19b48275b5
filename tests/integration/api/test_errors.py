"""What callers are told when something is wrong, theirs or ours (README 5 and 6, NFR-001, FR-009)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any, Never

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

JSON = "application/json"
LEAK = 'connection to server at "10.0.0.9", user "ragsite", password "hunter2", file /srv/secret/db failed'
PARTS = ("10.0.0.9", "hunter2", "/srv", "Traceback", "Error", "psycopg", ".py")


@pytest.fixture
def outsider() -> Client:
    """Sees answers as callers do, crashes included."""
    return Client(headers={"host": "127.0.0.1"}, raise_request_exception=False)


def check_safe(answer: Any, status: int, code: str) -> None:
    assert answer.status_code == status, answer.content
    assert answer.headers["Content-Type"] == JSON
    body = answer.json()
    assert (set(body), body["code"]) == ({"detail", "code"}, code)
    assert body["detail"]
    assert not [part for part in PARTS if part in answer.content.decode()]


@pytest.fixture
def database_down(transactional_db: None) -> Iterator[None]:
    """The real thing: a connection that cannot be made."""
    connection.close()
    port = connection.settings_dict["PORT"]
    connection.settings_dict["PORT"] = "1"
    yield
    connection.settings_dict["PORT"] = port
    connection.close()


@pytest.mark.parametrize(
    ("method", "address", "body"),
    [
        ("POST", "/api/rag/collections/docs/search", {"query": "x"}),
        ("POST", "/api/rag/collections/docs/documents", {"documents": [{"source": "a", "text": "b"}]}),
        ("GET", "/collections", None),
        ("POST", "/collections", {"name": "docs"}),
        ("DELETE", "/collections/docs", None),
        ("GET", "/api/rag/jobs", None),
    ],
)
def test_fr_009_without_a_database_it_is_500_and_generic(
    database_down: None, outsider: Client, method: str, address: str, body: Any
) -> None:
    answer = outsider.generic(method, address, b"" if body is None else json.dumps(body), JSON)
    check_safe(answer, 500, "database_unavailable")


def test_fr_009_a_key_cannot_be_checked_without_a_database(database_down: None, outsider: Client) -> None:
    key = f"rs_{'0' * 12}_{'A' * 43}"
    check_safe(outsider.get("/collections", headers={"x-api-key": key}), 500, "database_unavailable")


def test_a12_health_without_a_database_is_503_and_live_is_200(database_down: None, outsider: Client) -> None:
    answer = outsider.get("/health")
    assert answer.status_code == 503
    assert answer.json()["status"] == "unhealthy"
    assert answer.json()["detail"] == "The database cannot be reached."
    assert not [part for part in PARTS if part in answer.content.decode()]
    assert outsider.get("/health/live").status_code == 200


def test_a12_health_with_a_key_that_cannot_be_checked_is_503_too(database_down: None, outsider: Client) -> None:
    answer = outsider.get("/health", headers={"x-api-key": f"rs_{'0' * 12}_{'A' * 43}"})
    assert (answer.status_code, answer.json()) == (503, {"status": "unhealthy"})


def fail(*_args: Any, **_kwargs: Any) -> Never:
    raise OperationalError(LEAK)


def crash(*_args: Any, **_kwargs: Any) -> Never:
    raise RuntimeError(LEAK)


@pytest.mark.django_db
@pytest.mark.parametrize(("how", "code"), [(fail, "database_unavailable"), (crash, "server_error")])
def test_nfr_001_a_crash_in_a_view_is_500_without_its_cause(
    outsider: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: Any, code: str
) -> None:
    monkeypatch.setattr("collections_app.api.list_summaries", how)
    check_safe(outsider.get("/collections"), 500, code)
    assert LEAK in caplog.text


def crashing_page(request: HttpRequest) -> HttpResponse:
    raise RuntimeError(LEAK)


#: A URL table of its own: a page outside of the REST framework that crashes.
urlpatterns = [path("page", crashing_page), path("admin/page", crashing_page)]
handler404 = "ragsite.errors.not_found"
handler500 = "ragsite.errors.crashed"


@pytest.mark.urls("tests.integration.api.test_errors")
def test_nfr_001_a_crash_outside_of_the_api_is_500_too(outsider: Client) -> None:
    check_safe(outsider.get("/page"), 500, "server_error")
    page = outsider.get("/admin/page")
    assert page.status_code == 500
    assert page.headers["Content-Type"].startswith("text/html")
    assert not [part for part in PARTS if part in page.content.decode().replace("Server Error", "")]


@pytest.mark.urls("tests.integration.api.test_errors")
def test_an_unknown_page_of_the_console_is_a_page(outsider: Client) -> None:
    assert outsider.get("/admin/nothing").headers["Content-Type"].startswith("text/html")
    assert outsider.get("/nothing").headers["Content-Type"] == JSON


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["PATCH", "PUT", "DELETE", "TRACE", "FOO"])
def test_a_wrong_method_is_405_with_the_right_ones(client: Client, method: str) -> None:
    answer = client.generic(method, "/collections", b"{}", JSON)
    check_safe(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET, POST, HEAD, OPTIONS"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/xml", "garbage", ""]
)
@pytest.mark.parametrize(
    "address", ["/collections", "/api/rag/collections/d/search", "/api/rag/collections/d/documents"]
)
def test_a_body_of_another_type_is_415(client: Client, address: str, content_type: str) -> None:
    answer = client.generic("POST", address, b"name=x", content_type=content_type)
    check_safe(answer, 415, "unsupported_media_type")


@pytest.mark.django_db
def test_a_form_sent_to_a_json_endpoint_is_415(client: Client) -> None:
    check_safe(client.post("/collections", {"name": "x"}), 415, "unsupported_media_type")


@pytest.mark.django_db
def test_an_answer_in_another_format_is_406(client: Client) -> None:
    check_safe(client.get("/collections", headers={"accept": "text/html"}), 406, "not_acceptable")
    assert client.get("/collections", headers={"accept": "text/html, */*;q=0.1"}).status_code == 200
    check_safe(client.get("/collections?format=xml"), 400, "unknown_parameter")


@pytest.fixture
def small_requests(settings: Any) -> None:
    section = settings.RAGSITE.ingestion.model_copy(update={"max_request_bytes": 1000})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"ingestion": section})


@pytest.mark.django_db
def test_a_huge_json_body_is_413(client: Client, small_requests: None) -> None:
    check_safe(client.post("/collections", {"name": "x" * 1000}, JSON), 413, "too_large")


@pytest.mark.django_db
def test_a_huge_upload_is_413_however_many_files_it_is_made_of(client: Client, small_requests: None) -> None:
    client.post("/collections", {"name": "docs"}, JSON)
    files = [SimpleUploadedFile(f"{number}.md", b"x" * 300) for number in range(4)]
    answer = client.post("/api/rag/collections/docs/documents", {"file": files})
    check_safe(answer, 413, "too_large")
    assert client.post("/api/rag/collections/docs/documents", {"file": files[0]}).status_code == 202


@pytest.mark.django_db
def test_too_many_files_are_413(client: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 2
    client.post("/collections", {"name": "docs"}, JSON)
    files = [SimpleUploadedFile(f"{number}.md", b"x") for number in range(3)]
    check_safe(client.post("/api/rag/collections/docs/documents", {"file": files}), 413, "too_large")


@pytest.mark.django_db
@pytest.mark.parametrize("content_type", ["multipart/form-data", "multipart/form-data; boundary="])
def test_a_form_that_cannot_be_taken_apart_is_400(client: Client, content_type: str) -> None:
    address = "/api/rag/collections/docs/documents"
    check_safe(client.generic("POST", address, b"abc", content_type), 400, "malformed_form")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "form",
    [
        {"metadata": "{"},
        {"metadata": "[]"},
        {"metadata": '{"a": NaN}'},
        {"metadata": '{"a": 1e400}'},
        {"metadata": '{"a":' * 5000},
        {"metadata": SimpleUploadedFile("metadata.json", b"{}")},
        {"file": "the text itself"},
        {"files": SimpleUploadedFile("b.md", b"x")},
        {"title": "x"},
    ],
)
def test_form_fields_that_are_not_understood_are_not_ignored(client: Client, form: dict[str, Any]) -> None:
    client.post("/collections", {"name": "docs"}, JSON)
    files = [SimpleUploadedFile("a.md", b"# Tea"), *([form["file"]] if "file" in form else [])]
    answer = client.post("/api/rag/collections/docs/documents", {**form, "file": files})
    check_safe(answer, 400, "invalid")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "address", "place"),
    [
        ("DELETE", "/api/rag/collections/docs/sources?source=a%00b", "source"),
        ("GET", "/api/rag/jobs?collection=%00", "collection"),
        ("GET", "/collections?limit=%00", "limit"),
    ],
)
def test_nul_in_a_parameter_is_400_naming_it(client: Client, method: str, address: str, place: str) -> None:
    client.post("/collections", {"name": "docs"}, JSON)
    answer = client.generic(method, address)
    check_safe(answer, 400, "invalid_text")
    assert answer.json()["detail"].startswith(f"{place}: ")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "address", "code"),
    [
        ("GET", "/collections/docs/documents?filtre=x", "unknown_parameter"),
        ("GET", "/collections/docs/documents?limit=1&limit=2", "repeated_parameter"),
        ("HEAD", "/collections/docs/documents?Limit=1", "unknown_parameter"),
        ("POST", "/collections/docs/documents?where=%7B%7D", "unknown_parameter"),
        ("DELETE", "/collections/docs?dry_run=true", "unknown_parameter"),
        ("DELETE", "/collections/docs/documents/all?dry_run=true&dry_run=false", "repeated_parameter"),
        ("DELETE", "/collections/docs/documents/all?dryrun=true", "unknown_parameter"),
    ],
)
def test_what_is_not_understood_in_the_address_is_not_ignored(
    client: Client, method: str, address: str, code: str
) -> None:
    client.post("/collections", {"name": "docs"}, JSON)
    answer = client.generic(method, address)
    assert answer.status_code == 400
    if method != "HEAD":
        check_safe(answer, 400, code)
    assert client.get("/collections/docs").status_code == 200


@pytest.mark.django_db
def test_a_wrong_method_is_405_whatever_is_asked(client: Client) -> None:
    assert client.put("/collections?limit=1").status_code == 405
    assert client.options("/collections?limit=1").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("encoding", ["gzip", "br", "GZIP"])
def test_a_compressed_body_is_called_that(client: Client, encoding: str) -> None:
    answer = client.post(
        "/collections", gzip.compress(b'{"name": "docs"}'), JSON, headers={"Content-Encoding": encoding}
    )
    check_safe(answer, 415, "unsupported_encoding")
    assert (
        client.post("/collections", {"name": "docs"}, JSON, headers={"Content-Encoding": "identity"}).status_code == 201
    )


@pytest.mark.django_db
def test_numbers_that_no_filter_could_ask_for_are_not_kept(client: Client) -> None:
    client.post("/collections", {"name": "docs"}, JSON)
    for number in (10**400, -(10**309)):
        body = f'{{"documents": [{{"text": "a", "embedding": [1], "metadata": {{"a": [{number}]}}}}]}}'
        answer = client.post("/collections/docs/documents", body, JSON)
        check_safe(answer, 400, "number_too_large")
        assert answer.json()["detail"].startswith("documents[0].metadata.a[0]: ")
        put = client.put("/collections/docs/metadata", f'{{"metadata": {{"a": {number}}}}}', JSON)
        check_safe(put, 400, "number_too_large")


@pytest.mark.django_db
@pytest.mark.parametrize("depth", [101, 450, 900, 5000])
def test_deep_metadata_is_400_wherever_it_is_sent(client: Client, depth: int) -> None:
    client.post("/collections", {"name": "docs"}, JSON)
    deep = '{"a":' * depth + "1" + "}" * depth
    put = client.put("/collections/docs/metadata", f'{{"metadata":{deep}}}', JSON)
    check_safe(put, 400, "malformed_json")
    body = f'{{"documents":[{{"source":"a","text":"b","metadata":{deep}}}]}}'
    check_safe(client.post("/api/rag/collections/docs/documents", body, JSON), 400, "malformed_json")


@pytest.mark.django_db
def test_numbers_that_postgres_has_no_json_for_are_400(client: Client) -> None:
    client.post("/collections", {"name": "docs"}, JSON)
    for number in ("1e400", "-1e400", "NaN", "Infinity"):
        answer = client.put("/collections/docs/metadata", f'{{"metadata": {{"a": {number}}}}}', JSON)
        check_safe(answer, 400, "number_too_large" if number.endswith("1e400") else "malformed_json")


@pytest.mark.django_db
def test_a_malformed_origin_is_no_crash(client: Client) -> None:
    check_safe(client.get("/collections", headers={"origin": "http://[::1"}), 401, "not_authenticated")
