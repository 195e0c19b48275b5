"""Statements that take minutes and run in no transaction: on a connection of their own, and given up on request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.db import connection, transaction
from psycopg import sql

from core_app.sql import statement
from stores_app.transfer import ROOM

Check = Callable[[], None]

#: How often it is asked whether to go on.
_SECONDS = 1.0


class Upkeep:
    """A connection in autocommit; what takes long on it can be given up while it runs."""

    def __init__(self, own: psycopg.Connection[Any], thread: ThreadPoolExecutor) -> None:
        self._own = own
        self._thread = thread

    def rows(self, name: str, params: Mapping[str, Any]) -> list[Any]:
        """What the short statement in `sql/name.sql` returns."""
        return self._own.execute(statement(ROOM, name), params).fetchall()

    def run(self, query: sql.Composed, *, check: Check) -> None:
        """Run a statement to its end. `check` is called every second and may raise: the statement is stopped then."""
        running = self._thread.submit(self._own.execute, query)
        try:
            while not wait([running], timeout=_SECONDS).done:
                check()
        except BaseException:
            self._stop(running)
            raise
        running.result()

    def _stop(self, running: Future[Any]) -> None:
        """Ask until it ended: a request that arrives before the statement does is not heard."""
        while not running.done():
            # Where the server does not answer any more, the statement ends by itself.
            with suppress(psycopg.Error):
                self._own.cancel_safe()
            wait([running], timeout=_SECONDS)


@contextmanager
def upkeep(check: Check) -> Iterator[Upkeep]:
    """The only one in the database that builds or drops vector indexes, as soon as no other does.

    Postgres itself lets one at a time work on a table's indexes. But one that waits there holds a snapshot,
    and a build waits for the snapshots of others to end. Raises what `check` raises while waiting.
    """
    if connection.in_atomic_block:
        raise transaction.TransactionManagementError("An index is built outside transactions: it would wait for this.")
    with (
        connection.wrap_database_errors,
        psycopg.connect(**connection.get_connection_params(), autocommit=True) as own,
        ThreadPoolExecutor(max_workers=1, thread_name_prefix="upkeep") as thread,
    ):
        session = Upkeep(own, thread)
        session.rows("maintenance_settings", {})
        while not session.rows("take_turn", {})[0][0]:
            check()
            time.sleep(_SECONDS)
        yield session
