"""What Postgres says of a filter, as an error of the one who sent it."""

from __future__ import annotations

import pytest
from django.db import DataError, OperationalError, connection, transaction

from collections_app.where_sql import filter_errors
from core_app.errors import TOO_EXPENSIVE, InvalidInput
from core_app.where import parse_where
from tests.integration.collections.filters import answers

pytestmark = pytest.mark.django_db


def test_a_pattern_that_postgres_finds_too_complex() -> None:
    """It is within the bounds; the database gives up on it all the same."""
    where = parse_where({"#document": {"$regex": r"(\b.*){255}"}})
    with pytest.raises(InvalidInput) as caught, filter_errors(), transaction.atomic():
        answers(where, [({}, "abc")])
    assert caught.value.code == "invalid_where"
    assert caught.value.detail.startswith("Invalid 'where' filter: the database finds a pattern too complex")
    assert answers(None, [({}, "abc")]) == [True]


def test_a_statement_that_was_stopped_after_its_time() -> None:
    cursor = connection.cursor()
    cursor.execute("SET LOCAL statement_timeout = 100")
    with pytest.raises(InvalidInput) as caught, filter_errors(), transaction.atomic():
        cursor.execute("SELECT pg_sleep(60)")
    assert caught.value.code == "too_expensive"
    assert caught.value.detail == TOO_EXPENSIVE


def test_a_pattern_can_be_stopped_while_it_is_compiled() -> None:
    where = parse_where({"#document": {"$regex": "(.?){255}(.?){255}"}})
    connection.cursor().execute("SET LOCAL statement_timeout = 100")
    with pytest.raises(InvalidInput) as caught, filter_errors(), transaction.atomic():
        answers(where, [({}, "abc")])
    assert caught.value.code == "too_expensive"


@pytest.mark.parametrize(
    ("statement", "error"),
    [("SELECT 1 / 0", DataError), ("SET LOCAL lock_timeout = 'x'", DataError)],
)
def test_other_errors_stay_what_they_are(statement: str, error: type[Exception]) -> None:
    with pytest.raises(error), filter_errors(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


def test_a_database_that_is_gone_is_not_the_fault_of_a_filter() -> None:
    with pytest.raises(OperationalError, match="gone"), filter_errors():
        raise OperationalError("gone")
