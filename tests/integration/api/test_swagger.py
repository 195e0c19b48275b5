"""The documentation page: complete, offline, and allowed by our own policy (FR-011, SC-005)."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import Client


class Page(HTMLParser):
    """What a page loads, and what it would run by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.inline: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [value for name, value in attrs if name in {"src", "href"} and value]
        self.inline += [f"{tag} {name}" for name in given if name.startswith("on")]
        self._in_script = tag == "script"

    def handle_data(self, data: str) -> None:
        if self._in_script and data.strip():
            self.inline.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False


def body_of(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.fixture
def page(client: Client) -> Page:
    answer = client.get("/swagger", headers={"accept": "text/html,*/*;q=0.8"})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    return Page(answer.content.decode())


def test_the_document_is_valid_and_free_of_warnings(tmp_path: Path) -> None:
    target = tmp_path / "schema.json"
    call_command("spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", "--file", str(target))
    assert json.loads(target.read_text(encoding="utf-8"))["openapi"].startswith("3.")


@pytest.mark.parametrize("accept", ["application/json", "*/*", "application/vnd.oai.openapi+json"])
def test_the_document_is_served_as_json(client: Client, accept: str) -> None:
    answer = client.get("/api/schema", headers={"accept": accept})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].endswith("json")
    document = answer.json()
    assert document["info"]["title"] == "Ragsite"
    assert "/api/rag/collections/{name}/search" in document["paths"]
    assert not [server for server in document.get("servers", []) if "://" in server["url"]]


@pytest.mark.django_db  # the end of a streamed answer looks after connections that other tests have opened
def test_fr_011_the_page_loads_nothing_from_elsewhere(client: Client, page: Page) -> None:
    assert len(page.addresses) >= 4
    for address in page.addresses:
        parts = urlsplit(address)
        assert (parts.scheme, parts.netloc) == ("", ""), address
        answer: Any = client.get(address)
        assert answer.status_code == 200, address
        assert body_of(answer), address
        answer.close()


def test_scripts_stand_in_files_as_the_policy_asks(client: Client, page: Page) -> None:
    assert page.inline == []
    policy = dict(
        part.strip().split(" ", 1) for part in client.get("/swagger").headers["Content-Security-Policy"].split(";")
    )
    assert policy["script-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert policy["default-src"] == "'self'"


def test_the_script_that_starts_the_page_names_our_document(client: Client, page: Page) -> None:
    (address,) = [address for address in page.addresses if "script=" in address]
    answer = client.get(address)
    assert answer.headers["Content-Type"].startswith("application/javascript")
    script = answer.content.decode()
    assert '"/api/schema"' in script
    assert "http://" not in script
    assert "https://" not in script


def test_the_page_asks_for_no_database(client: Client) -> None:
    """This test has no database: using one would fail it."""
    assert client.get("/swagger").status_code == 200


def test_fr_001_to_fr_006_the_document_tells_what_search_takes_and_gives(client: Client) -> None:
    schemas = client.get("/api/schema", headers={"accept": "application/json"}).json()["components"]["schemas"]
    (request,) = [schema for name, schema in schemas.items() if name.startswith("SearchRequest")]
    assert request["required"] == ["query"]
    top_k, min_score = request["properties"]["top_k"], request["properties"]["min_score"]
    assert (top_k["minimum"], top_k["maximum"], top_k["default"]) == (1, 100, 5)
    assert (min_score["minimum"], min_score["maximum"]) == (0, 1)
    assert request["properties"]["query"]["maxLength"] == 4000
    assert {"count", "results"} <= set(schemas["SearchResponse"]["required"])
    assert {"content", "score", "metadata"} <= set(schemas["Hit"]["required"])
    assert {"page_number", "chunk_index", "source"} <= set(schemas["HitMetadata"]["required"])
