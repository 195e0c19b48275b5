"""A collection whose documents another system holds, on the console's pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from collections_app.models import Collection
from collections_app.services import create_collection
from connections_app.opening import close_all, opened_store
from connections_app.services import get_connection
from core_app.providers import HeldChunk
from core_app.wiring import embedder
from search_app.capabilities import capabilities
from stores_app.attaching import attach_collection
from tests.integration.console.conftest import Rows, pages
from tests.integration.stores.placing import connect

pytestmark = pytest.mark.django_db
TEXTS = ("The quick brown fox.", "A lazy dog sleeps.")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_all()


@pytest.fixture
def there(settings: Any, tmp_path: Path) -> None:
    """Two texts that another program stored as `books` of the connection `one`."""
    connect(settings, tmp_path, "one")
    vectors = embedder().embed_documents(list(TEXTS))
    with opened_store(get_connection(name="one")) as one:
        one.create_collection(name="books", metadata={}, distance="cosine")
        chunks = [
            HeldChunk(id=text, text=text, metadata={"words": len(text.split())}, embedding=vector)
            for text, vector in zip(TEXTS, vectors, strict=True)
        ]
        one.add(name="books", chunks=chunks)


@pytest.fixture
def mine(there: None) -> Collection:
    return attach_collection(service="one", name_there="books", name="mine", embedding_model=embedder().model)


def page(name: str, row: Any) -> str:
    return reverse(f"admin:{name}", args=[row.pk])


def test_no_page_fails(root: Client, rows: Rows, mine: Collection) -> None:
    """Every page that can be asked for, about the attached collection where it is about one."""
    about, its = f"collection/{rows.collection.pk}/", f"collection/{mine.pk}/"
    paths = [path.replace(about, its) for path in pages(rows)]
    paths += [f"collections/collection/{mine.pk}/export/", f"search/testcase/run/?collection={mine.pk}"]
    paths += [f"collections/{kind}/?collection__id__exact={mine.pk}" for kind in ("document", "chunk")]
    for path in paths:
        assert root.get(reverse("admin:index") + path).status_code < 500, path


@pytest.mark.parametrize("name", ["empty", "clone", "export", "chunking", "language", "coverage"])
def test_what_needs_its_documents_says_why_not(root: Client, mine: Collection, name: str) -> None:
    url = page(f"collections_collection_{name}", mine)
    for answer in (root.get(url), root.post(url, {"name": "mine"})):
        assert answer.status_code == 409
        assert "Its documents are held by &#x27;one&#x27; and not here." in answer.content.decode()
        assert "/api/" not in answer.content.decode()
    assert Collection.objects.count() == 1


def test_its_page_says_what_is_not_here(root: Client, mine: Collection) -> None:
    """A2.2: what cannot be done is not offered, with the reason on hover."""
    shown = root.get(page("collections_collection_change", mine)).content.decode()
    assert "held by <bdi>one</bdi>" in shown
    assert f"<strong>{embedder().dimension}</strong>" in shown
    for name in ("empty", "clone", "export", "chunking", "language", "coverage"):
        assert f'href="{page(f"collections_collection_{name}", mine)}"' not in shown, name
    assert shown.count('aria-disabled="true"') == 5
    assert 'title="Its documents are held by &#x27;one&#x27; and not here.' in shown


def test_what_it_can_do_is_told(mine: Collection) -> None:
    """Meaning is searched there; its words, text and documents are not here."""
    can = capabilities(mine)
    assert can.semantic_search.is_there
    assert can.query_embedding.is_there
    assert not can.documents.is_there
    assert can.embedding.reason == can.documents.reason
    assert can.hybrid_search.reason == can.word_search.reason != ""
    usual = capabilities(create_collection(name="here"))
    assert usual.documents.is_there
    assert usual.word_search.is_there


def test_nothing_is_put_into_it(root: Client, mine: Collection) -> None:
    """Neither an upload nor a connector can choose it."""
    create_collection(name="here")
    for name in ("ingest_job_add", "ingest_connector_add"):
        shown = root.get(reverse(f"admin:{name}") + "?kind=urls").content.decode()
        assert 'value="mine"' not in shown, name
    assert 'value="here"' in root.get(reverse("admin:ingest_job_add")).content.decode()


def test_deleting_says_that_the_other_system_keeps_its_own(root: Client, mine: Collection) -> None:
    url = page("collections_collection_delete", mine)
    assert "Its documents are held by <bdi>one</bdi> and stay there." in root.get(url).content.decode()
    root.post(url, {"name": "mine"})
    assert not Collection.objects.exists()
    with opened_store(get_connection(name="one")) as one:
        assert one.get_collection(name="books").count == len(TEXTS)


def test_a_filter_is_typed_and_its_values_come_from_there(root: Client, mine: Collection) -> None:
    url = reverse("admin:index") + "collections/collection/filters/"
    data = root.get(f"{url}fields/", {"collection": "mine"}).json()
    assert data["fields"] == []
    assert "Write a field" in data["note"]
    values = root.get(f"{url}values/", {"collection": "mine", "field": "words", "typed": "4"}).json()
    assert values == {"values": ["4"]}
    sent = {"collection": "mine", "where": '{"words": {"$gt": 3}}'}
    answer = root.post(f"{url}preview/", sent).json()
    assert answer["refused"] is None
    assert "What passes cannot be counted here." in answer["html"]
    shown = root.get(page("collections_collection_fields", mine)).content.decode()
    assert "No chunk has metadata yet" not in shown


def test_it_is_attached_by_a_form(root: Client, there: None) -> None:
    connection = get_connection(name="one")
    url = page("connections_connection_attach", connection)
    assert 'value="books"' in root.get(url).content.decode()
    answer = root.post(url, {"name_there": "books", "name": "mine", "same_model": "on"})
    made = Collection.objects.get()
    assert answer["Location"] == page("collections_collection_change", made)
    assert (made.store, capabilities(made).semantic_search.is_there) == ("attached", True)
    again = root.post(url, {"name_there": "books", "name": "other"}).content.decode()
    assert "Another collection here stands for" in again
    assert "<bdi>mine</bdi>" in root.get(page("connections_connection_change", connection)).content.decode()
    removing = root.get(page("connections_connection_delete", connection)).content.decode()
    assert "It cannot be removed while collections are searched there." in removing
    assert "Remove this connection" not in removing
