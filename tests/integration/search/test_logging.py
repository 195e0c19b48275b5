"""B7: what the server says of its searches, and what it never says."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog
from django.core.management import call_command
from django.db import connection
from django.test import Client

from access_app.models import User
from core_app.config import Search
from core_app.wiring import store
from inference_app.services import query_cache
from ragsite.asgi import log_search_configuration
from ragsite.logs import logging_settings
from search_app import legs
from search_app.services import search, search_collections
from tests.integration.search.asking import MARKER, configure, fill

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]
JSON = "application/json"


@pytest.fixture(autouse=True)
def _collection(db: None, settings: Any) -> None:
    fill()
    configure(settings, "search", use_hybrid_search=True)


def line(caplog: pytest.LogCaptureFixture, message: str) -> dict[str, Any]:
    """What the one record with this message carries."""
    (found,) = [record for record in caplog.records if record.getMessage() == message]
    return vars(found)


class TestB7:
    @pytest.mark.parametrize(("enabled", "words"), [(True, "enabled"), (False, "disabled: meaning alone")])
    def test_b7_1_the_configuration(self, enabled: bool, words: str, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO):
            log_search_configuration(Search(use_hybrid_search=enabled, candidates=50))
        found = line(caplog, f"hybrid search is {words}")
        assert (found["hybrid"], found["candidates"], found["query_log"]) == (enabled, 50, "hashed")

    def test_b7_1_once_when_the_process_starts(self) -> None:
        started = subprocess.run(
            [sys.executable, "-c", "import ragsite.asgi, ragsite.asgi"],
            cwd=ROOT,
            env={**os.environ, "USE_HYBRID_SEARCH": "yes", "Telemetry__LogFormat": "json"},
            capture_output=True,
            text=True,
            check=True,
        )
        said = [json.loads(text) for text in started.stderr.splitlines() if "hybrid search" in text]
        assert [(found["event"], found["hybrid"]) for found in said] == [("hybrid search is enabled", True)]

    def test_b7_2_and_b7_5_how_many_each_leg_found_and_were_returned(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO):
            result = search(collection_name="c", query="fox", top_k=1)
        found = line(caplog, "search done")
        assert (found["dense_results"], found["lexical_results"], found["results"]) == (2, 1, 1)
        assert (found["collections"], found["mode"], found["took_ms"]) == (["c"], result.mode, result.took_ms)
        assert {"words", "meaning"} <= set(found["stages_ms"])

    def test_b7_3_what_merging_made_of_them(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO):
            search(collection_name="c", query="fox")
        found = line(caplog, "legs merged")
        assert (found["unique_chunks"], found["merged"]) == (2, 3)

    def test_b7_4_a_failure_with_its_trace(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        break_words(monkeypatch)
        search(collection_name="c", query="fox")
        found = line(caplog, "part of a search failed: lexical_search_failed")
        assert found["levelno"] == logging.ERROR
        assert "division by zero" in caplog.text
        assert "Traceback" in caplog.text


def break_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the word index fail in the database."""

    def broken(**_: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    monkeypatch.setattr(store("pgvector"), "lexical", broken)


def test_every_line_of_a_search_carries_the_requests_id(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the thread that embeds, too."""
    search(collection_name="c", query="fox")  # the query is remembered from here on
    root = logging.getLogger()
    formatter = logging_settings(level="INFO", form="json")["formatters"]["lines"]
    lines: list[dict[str, Any]] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(json.loads(self.format(record)))

    handler = Lines()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(**{key: value for key, value in formatter.items() if key != "()"})
    )
    root.addHandler(handler)
    try:
        asked = {"query": "fox"}
        client.post("/api/rag/collections/c/search", asked, JSON, headers={"X-Request-Id": "r-17"})
    finally:
        root.removeHandler(handler)
    events = {found["event"]: found.get("request_id") for found in lines}
    assert {"embedding cache hit", "legs merged", "search done"} <= set(events)
    assert set(events.values()) == {"r-17"}


def ask_rest(client: Client) -> None:
    asked = {"query": f"fox {MARKER}", "explain": True, "highlight": True}
    assert client.post("/api/rag/collections/c/search", asked, JSON).status_code == 200
    assert client.post("/api/rag/search", {**asked, "collections": ["c"]}, JSON).status_code == 200
    assert client.get(f"/knowledge/c/search?q=fox+{MARKER}").status_code == 200


def ask_rest_wrongly(client: Client) -> None:
    assert client.post("/api/rag/collections/nowhere/search", {"query": MARKER}, JSON).status_code == 404
    assert client.post("/api/rag/collections/c/search", {"query": MARKER, "top_k": MARKER}, JSON).status_code == 400
    assert client.get(f"/knowledge/c/search?q={MARKER}&other=1").status_code == 400


def ask_console(client: Client) -> None:
    client.force_login(User.objects.create(username="jo", is_staff=True, is_superuser=True))
    page = client.get(f"/admin/collections/collection/query/?collection=c&query=fox+{MARKER}&top_k=5")
    assert page.status_code == 200


def ask_service(client: Client) -> None:
    search(collection_name="c", query="and it?", topic=f"fox {MARKER}", mode="thorough", diversity=0.5)
    search_collections(collection_names=["c"], query=MARKER, legs="lexical", explain=True)


def ask_command_line(client: Client) -> None:
    call_command("search", "c", f"fox {MARKER}")


@pytest.mark.parametrize("text", ["hashed", "plain"])
@pytest.mark.parametrize("ask", [ask_rest, ask_rest_wrongly, ask_console, ask_service, ask_command_line])
def test_req_rag_sec_004_no_line_has_the_query(
    ask: Callable[[Client], None], text: str, client: Client, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    """Whatever the query log keeps, at whatever level."""
    configure(settings, "search", query_log=text)
    with caplog.at_level(logging.DEBUG):
        ask(client)
    assert_silent(caplog)


def test_req_rag_sec_004_nor_have_the_traces_of_what_fails(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_words(monkeypatch)

    def no_model(*, text: str, **_: Any) -> Any:
        raise RuntimeError("no model today")

    with caplog.at_level(logging.DEBUG):
        ask_rest(client)
        monkeypatch.setattr(legs, "embed_query", no_model)
        asked = {"query": f"fox {MARKER}"}
        assert client.post("/api/rag/collections/c/search", asked, JSON).status_code == 500
    assert "no model today" in caplog.text
    assert_silent(caplog)


def test_req_rag_sec_004_nor_has_a_statement_that_the_database_refuses(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Its words stand in the statement, and Postgres quotes the line where it stopped."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE stores_postingblock RENAME TO elsewhere")
    with caplog.at_level(logging.DEBUG):
        asked = {"query": f"fox {MARKER}"}
        assert client.post("/api/rag/collections/c/search", asked, JSON).status_code == 200
    assert "lexical_search_failed" in caplog.text
    assert_silent(caplog)


def assert_silent(caplog: pytest.LogCaptureFixture) -> None:
    assert MARKER not in caplog.text
    assert not [record for record in caplog.records if MARKER in repr(vars(record))]
    assert query_cache().statistics().size
