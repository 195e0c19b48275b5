"""An address that asks a list for what it does not know shows no rows: all of them would pass for the answer."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.integration.console.conftest import Login, Rows

pytestmark = pytest.mark.django_db

LISTS = {
    "job": "/admin/ingest/job/",
    "chunk": "/admin/collections/chunk/",
    "document": "/admin/collections/document/",
    "case": "/admin/search/testcase/",
    "query": "/admin/search/querylog/",
    "connector": "/admin/ingest/connector/",
    "collection": "/admin/collections/collection/",
}


def listed(rows: Rows, name: str, text: str) -> bool:
    return f"{LISTS[name]}{getattr(rows, name).pk}/change/" in text


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "asked", ["zzz=1", "state__exact=zzz", "collection__id__exact=999999", "collection__name__gt="]
)
def test_what_a_list_does_not_know_lists_nothing(root: Client, rows: Rows, name: str, asked: str) -> None:
    assert listed(rows, name, root.get(LISTS[name]).content.decode())
    text = root.get(f"{LISTS[name]}?{asked}x").content.decode()
    assert "Nothing is listed" in text or "Select a valid choice" in text
    assert not listed(rows, name, text)


@pytest.mark.parametrize("name", ["job", "case", "connector", "chunk", "document"])
def test_the_only_collection_can_be_asked_for(root: Client, rows: Rows, name: str) -> None:
    """Django leaves out a filter with one choice, and does not apply it then."""
    text = root.get(f"{LISTS[name]}?collection__id__exact={rows.collection.pk}").content.decode()
    assert "Nothing is listed" not in text
    assert listed(rows, name, text)


def test_a_collection_that_is_not_reached_is_none(login: Login, rows: Rows) -> None:
    office = login(
        "search.view_testcase", "collections.view_collection", "collections.view_chunk", collections=["office"]
    )
    text = office.get(f"{LISTS['case']}?collection__id__exact={rows.collection.pk}").content.decode()
    assert "Nothing is listed" in text
