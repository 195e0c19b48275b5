"""The compiler to SQL is held to the evaluator in Python: by the golden table, and by random filters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql
from pytest_django import DjangoDbBlocker

from collections_app.models import Chunk, Collection
from collections_app.where_sql import condition
from core_app.where import Compare, Where, matches, parse_where
from core_app.where.dates import instant
from tests.integration.collections.filters import CONDITIONS, DATES, NO_DATES, TREES, Document, answers, documents
from tests.unit.core.where_golden import DOCUMENTS, EXTENDED, GOLDEN

ROWS = 300
TREES_AT_ONCE = 10
EXAMPLES = 300
SLOW_BUT_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@pytest.fixture(scope="module")
def stored(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[int, dict[str, Document]]]:
    """A collection's key and its documents by name."""
    by_name = {str(number): document for number, document in enumerate(documents(ROWS))}
    with django_db_blocker.unblock():
        collection = Collection.objects.create(name="held to the evaluator", store="pgvector")
        Chunk.objects.bulk_create(
            Chunk(collection=collection, external_id=name, metadata=metadata, text=text)
            for name, (metadata, text) in by_name.items()
        )
        yield collection.pk, by_name
        Collection.objects.filter(pk=collection.pk).delete()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("filter_", "expected"), [*GOLDEN, *EXTENDED], ids=lambda value: json.dumps(value, default=str)
)
def test_the_golden_table_through_sql(filter_: dict[str, Any], expected: set[int]) -> None:
    """A6.1 to A6.4 and what other stores answer."""
    found = answers(parse_where(filter_), list(DOCUMENTS.values()))
    assert {number for number, answer in zip(DOCUMENTS, found, strict=True) if answer} == expected
    assert None not in found


def answers_of_all(where: Where, collection_id: int) -> dict[str, bool | None]:
    """Each document's answer; the values of the filter stand in the statement's text."""
    asked = condition(where)
    statement = sql.SQL(
        "SELECT chunk.external_id, {where} FROM collections_chunk AS chunk WHERE chunk.collection_id = %(collection)s"
    ).format(where=asked.sql)
    with connection.cursor() as cursor:
        cursor.execute(statement, {"collection": collection_id, **asked.params})
        return dict(cursor.fetchall())


def found_by_index(where: Where) -> set[str]:
    """The documents found, by the index on metadata where that is possible; the values travel beside the statement.

    No other index can serve it, as no collection is named; there are no documents but those of this module.
    """
    asked = condition(where)
    statement = sql.SQL("SELECT chunk.external_id FROM collections_chunk AS chunk WHERE {where}").format(
        where=asked.sql
    )
    with transaction.atomic():
        connection.cursor().execute("SET LOCAL enable_seqscan = off")
        cursor = psycopg.Cursor(connection.connection)
        cursor.execute(statement, asked.params)
        return {name for (name,) in cursor.fetchall()}


@given(trees=st.lists(TREES, min_size=TREES_AT_ONCE, max_size=TREES_AT_ONCE))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=SLOW_BUT_FINE)
def test_random_filters_mean_the_same_in_sql(stored: tuple[int, dict[str, Document]], trees: list[Where]) -> None:
    """At least 2,000 filters, each over all documents, and each statement run in both ways of sending values."""
    assert TREES_AT_ONCE * EXAMPLES >= 2_000
    collection_id, by_name = stored
    for where in trees:
        meant = {name: matches(where, metadata=metadata, text=text) for name, (metadata, text) in by_name.items()}
        assert answers_of_all(where, collection_id) == meant
        assert found_by_index(where) == {name for name, holds in meant.items() if holds}


@given(trees=st.lists(CONDITIONS, min_size=100, max_size=100))
@settings(max_examples=1, derandomize=True, deadline=None, database=None)
def test_most_random_conditions_find_some_documents_and_not_others(trees: list[Where]) -> None:
    """The test above means something only where it is so."""
    found = [sum(matches(where, metadata=metadata, text=text) for metadata, text in documents(ROWS)) for where in trees]
    assert sum(0 < count < ROWS for count in found) >= 0.7 * len(trees)


PARTS = st.tuples(
    st.sampled_from(["2024", "2023", "0000", "0001", "9999", "10000", "24", "٢٠٢٤"]),
    st.sampled_from(["-", "-", "-", "/", ""]),
    st.sampled_from(["01", "02", "02", "12", "13", "00", "2"]),
    st.sampled_from(["-", "-", "-", "/"]),
    st.sampled_from(["01", "28", "29", "30", "31", "00", "32", "1"]),
    st.sampled_from(["", "T", "T", " ", "t", "  ", "\n"]),
    st.sampled_from(["", "00:00", "23:59", "23:59:59", "24:00", "12:60", "12:00:60", "12", "1200", "12:00:00,5"]),
    st.sampled_from(["", "", ".5", ".123456", ".1234567", ".", " "]),
    st.sampled_from(
        ["", "Z", "z", " Z", "+00:00", "-14:59", "+14:59", "+15:00", "+02", "+0200", " UTC", "-00:00", " BC"]
    ),
).map("".join)


@pytest.mark.django_db
@given(values=st.lists(PARTS | st.sampled_from([*DATES, *NO_DATES]), min_size=20, max_size=40))
@settings(max_examples=60, deadline=None, suppress_health_check=SLOW_BUT_FINE)
def test_dates_are_the_same_to_python_and_postgres(values: list[str]) -> None:
    """Which strings are dates, and which of two is earlier."""
    rows = [({"day": value}, "") for value in values]
    for operand in ["2024-02-28", *[value for value in values if instant(value)][:3]]:
        for operator in ("$gt", "$gte", "$lt", "$lte"):
            where = Compare("day", operator, operand)
            assert answers(where, rows) == [matches(where, metadata=row, text="") for row, _ in rows]


@pytest.mark.django_db
def test_days_are_those_of_utc() -> None:
    """Dates without an offset are read in the connection's time zone."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW TimeZone")
        assert cursor.fetchone() == ("UTC",)
