"""One consistent view of the database for everything that one search reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled

from core_app.sql import statement
from core_app.wiring import app_settings

Found = TypeVar("Found")


@contextmanager
def snapshot() -> Iterator[None]:
    """Read everything inside from one snapshot, on one connection, with a bound on each statement.

    Inside a transaction of the caller's the isolation level can no longer be chosen, and the caller's own writes stay
    visible. Bounds on statements (`guarded`) then go on to hold for the rest of it.
    """
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            _limit("begin_snapshot", app_settings().vector_database.statement_timeout_seconds)
        yield


@contextmanager
def writing_snapshot() -> Iterator[None]:
    """The same for a long piece of work that also writes; its statements may run as long as they take.

    Writing to a row that somebody else has written since then raises the database's SerializationFailure.
    """
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute(statement("core_app", "begin_writing_snapshot"))
        yield


@contextmanager
def guarded(*, seconds: float | None = None) -> Iterator[None]:
    """A part of a transaction that may fail: after an exception the rest goes on as if it had not been.

    Its statements, and those after it until the next bound, may run for `seconds`; None is the setting's. Within
    another one, what fails takes back the inner one alone.
    """
    _limit("guard", app_settings().vector_database.statement_timeout_seconds if seconds is None else seconds)
    try:
        yield
    except BaseException:
        with connection.cursor() as cursor:
            cursor.execute(statement("core_app", "take_back"))
        raise


def limit_statements(seconds: float | None) -> None:
    """Bound each statement of the rest of the transaction; None lets it run as long as it takes."""
    _limit("set_statement_timeout", seconds)


def in_time(call: Callable[[], Found], *, seconds: float) -> Found | None:
    """What the call returns, or None where one of its statements took longer. Within a transaction."""
    longest = app_settings().vector_database.statement_timeout_seconds
    try:
        with guarded(seconds=min(seconds, longest)):
            found = call()
            # What follows may have its time again. In here, since Postgres at times ends a statement in time and
            # cancels the next one for it; where the time is over, the guard takes its bound back by itself.
            limit_statements(longest)
            return found
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        return None


def _limit(name: str, seconds: float | None) -> None:
    # 0 means no bound.
    timeout = 0 if seconds is None else max(1, int(seconds * 1000))
    with connection.cursor() as cursor:
        cursor.execute(statement("core_app", name), {"milliseconds": f"{timeout}ms"})
