from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from psycopg import sql

from stores_app import hnsw, maintenance, search_plan
from tests.integration.stores.shelf import Shelf, new_shelf


@pytest.fixture
def shelf(db: None) -> Shelf:
    """A collection of vectors in the plane, compared by cosine."""
    return new_shelf()


@pytest.fixture
def own_indexes(transactional_db: None) -> Iterator[None]:
    """No vector index stands before the test, nor after it: emptying tables leaves them."""
    _drop_indexes()
    yield
    _drop_indexes()


def _drop_indexes() -> None:
    with connection.cursor() as cursor:
        for index in hnsw.catalogued():
            cursor.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(index.name)))


@pytest.fixture
def small_indexes(own_indexes: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A hundred vectors of 16 numbers get an index, and every search uses it."""
    section = settings.RAGSITE.vector_database.model_copy(update={"index_bytes": 6400})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"vector_database": section})
    for cost in ("_VISIT", "_VISIT_FILTERED"):
        monkeypatch.setattr(search_plan, cost, 0.0)
    monkeypatch.setattr(maintenance, "_SECONDS", 0.02)
    with connection.cursor() as cursor:
        # Over so few vectors the planner would rather not.
        cursor.execute("SET enable_sort = off")
        yield monkeypatch
        cursor.execute("RESET enable_sort")
