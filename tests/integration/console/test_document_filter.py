"""The list of documents by a filter: what is found, in parts where it takes long, and by whom."""

from __future__ import annotations

import pytest
from django.test import Client

from collections_app import browsing
from collections_app.filters import save_filter
from collections_app.models import Chunk, Document
from tests.integration.console.conftest import Login, Rows, make_rows
from tests.integration.console.test_chunk_lists import DOCUMENTS, leaf, never_in_time, short, shown

pytestmark = pytest.mark.django_db

__all__ = ["short"]
SEEN = ("collections.view_collection", "collections.view_document")


@pytest.fixture
def documents(rows: Rows) -> list[int]:
    """Keys of nine documents, each of two chunks that have their number."""
    keys = []
    for n in range(1, 10):
        made = Document.objects.create(collection=rows.collection, source=f"d{n}.md", chunk_count=2)
        for part in range(2):
            Chunk.objects.create(
                collection=rows.collection,
                document=made,
                external_id=f"d{n}:{part}",
                text=f"secret{n}",
                ordinal=part,
                metadata={"n": n, "part": part, "source": made.source},
            )
        keys.append(made.pk)
    return keys


def test_documents_are_shown_of_which_a_chunk_passes(root: Client, documents: list[int], rows: Rows) -> None:
    found, page = shown(root, DOCUMENTS, where='{"n": {"$gte": 8}, "part": 1}')
    assert found == [documents[8], documents[7]]
    assert "2 documents<" in page
    assert shown(root, DOCUMENTS, where='{"source": "d3.md"}', q="d3", outcome="ready")[0] == [documents[2]]
    assert shown(root, DOCUMENTS, where='{"source": "d3.md"}', q="d4")[0] == []
    for wrong, said in (('{"n": {"$near": 1}}', "$near"), ('{"n": {"$regex": "(a"}}', "pattern"), ("{", "valid JSON")):
        keys, page = shown(root, DOCUMENTS, where=wrong)
        assert said in page
        assert keys == [], "a filter that cannot be read never means everything"


def test_the_builder_is_there_with_the_collections_fields(root: Client, documents: list[int], rows: Rows) -> None:
    save_filter(collection_name=rows.collection.name, name="late", where={"n": {"$gte": 8}})
    assert "data-filter-builder" not in shown(root, DOCUMENTS)[1]
    page = shown(root, DOCUMENTS, collection__id__exact=rows.collection.pk)[1]
    assert f'data-collection="{rows.collection.name}"' in page
    assert 'data-target="id_where"' in page


def test_more_documents_than_are_counted(root: Client, documents: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "MOST_COUNTED", 4)
    assert "4+ documents<" in shown(root, DOCUMENTS)[1]


@pytest.mark.usefixtures("short")
def test_what_takes_long_is_looked_for_in_parts_of_so_many_chunks(
    root: Client, documents: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"where": '{"n": {"$in": [9, 8, 2]}}'}
    assert leaf(root, DOCUMENTS, "next", **query) == [[documents[8], documents[7], documents[1]]]
    never_in_time(monkeypatch)
    first, page = shown(root, DOCUMENTS, **query)
    assert first == [documents[8], documents[7]]
    assert "2 documents were looked at" in page, "which have four chunks"
    pages = leaf(root, DOCUMENTS, "next", **query)
    assert [key for keys in pages for key in keys] == [documents[8], documents[7], documents[1]]
    back = leaf(root, DOCUMENTS, "prev", **query, before=documents[0] - 1)
    assert sorted(key for keys in back for key in keys) == [documents[1], documents[7], documents[8]]


def test_who_sees_no_chunks_cannot_ask_them(login: Login, documents: list[int], rows: Rows) -> None:
    query = {"where": '{"#document": {"$contains": "secret3"}}'}
    blind = login(*SEEN)
    assert 'name="where"' not in shown(blind, DOCUMENTS)[1]
    assert blind.get(DOCUMENTS, query).status_code == 403
    seeing = login(*SEEN, "collections.view_chunk")
    assert shown(seeing, DOCUMENTS, **query)[0] == [documents[2]]
    make_rows(name="other")
    elsewhere = login(*SEEN, "collections.view_chunk", collections=["other"])
    assert shown(elsewhere, DOCUMENTS, **query)[0] == []
