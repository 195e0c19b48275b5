"""One search reads one state of the database, on one connection, whatever is written meanwhile."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection

from core_app.wiring import store
from search_app.results import SearchResult
from tests.integration.search.asked import codes, filled, look, sources

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = {"a": "The quick brown fox.", "b": "A lazy dog sleeps.", "c": "Foxes hunt at night."}


def write_between(monkeypatch: pytest.MonkeyPatch, call: str, *statements: str) -> list[tuple[str, str]]:
    """Somebody else commits these just before this call of the store; how the search's transaction is."""
    original = getattr(store("pgvector"), call)
    found: list[tuple[str, str]] = []

    def later(**asked: Any) -> Any:
        with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
            for text in statements:
                other.execute(text.encode())
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only')")
            found.append(cursor.fetchone())
        return original(**asked)

    monkeypatch.setattr(store("pgvector"), call, later)
    return found


def shown(found: SearchResult) -> list[tuple[str, str, float]]:
    return [(hit.id, hit.content, hit.score) for hit in found.hits]


@pytest.mark.parametrize("call", ["lexical", "dense"])
@pytest.mark.parametrize(
    "statements",
    [
        # All of it goes, as emptying has it.
        [
            "DELETE FROM stores_vector",
            "DELETE FROM stores_segment",
            "DELETE FROM collections_chunk",
            "DELETE FROM collections_document",
        ],
        # What a merge of segments does to those that were read already.
        ["UPDATE stores_segment SET id = id + 1000", "UPDATE stores_segment SET live = 17, live_length = 1000"],
        ["UPDATE collections_chunk SET text = 'Something else.', metadata = '{}'"],
    ],
    ids=["emptied", "merged", "changed"],
)
def test_what_is_committed_between_its_statements_is_not_seen(
    monkeypatch: pytest.MonkeyPatch, call: str, statements: list[str]
) -> None:
    filled("c", TEXTS)
    before = shown(look("fox at night", facets=["kind"], explain=True, diversity=0.1))
    transactions = write_between(monkeypatch, call, *statements)
    found = look("fox at night", facets=["kind"], explain=True, diversity=0.1)
    assert transactions == [("repeatable read", "on")]
    assert codes(found) == []
    assert shown(found) == before
    assert {*sources(found)} == {*TEXTS}


def test_the_next_one_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    filled("c", TEXTS)
    write_between(monkeypatch, "dense", "UPDATE collections_chunk SET text = 'Something else.'")
    assert {hit.content for hit in look("fox").hits} == {*TEXTS.values()}
    assert {hit.content for hit in look("fox").hits} == {"Something else."}
