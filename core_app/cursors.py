"""Cursors that send parameters beside the statement, on Django's own connection.

Django's put them into its text, which is then planned as if it had never been seen before.
"""

from __future__ import annotations

import sys
from typing import Any, Self

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.utils import CursorDebugWrapper, CursorWrapper

Cursor = psycopg.Cursor[tuple[Any, ...]]


class Preparing(Cursor):
    """For statements that take longer to plan than to run, and that one plan for any values serves well."""

    def execute(self, *given: Any, **options: Any) -> Self:
        # Django turns preparing off for a connection, for the sake of poolers that share one between transactions.
        # Those cannot stand before Ragsite's database anyway (decision 11). Its own statements go on unprepared.
        self.connection.prepare_threshold = sys.maxsize
        try:
            return super().execute(*given, **options, prepare=True)
        finally:
            self.connection.prepare_threshold = None


def server_side(kind: type[Cursor] = Cursor) -> CursorWrapper:
    """A cursor of this kind, with Django's exceptions, its query log and whatever wraps execution."""
    # Not `django.db.connection`, which finds the connection anew each time that one of its attributes is asked for.
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    is_logged = connection.queries_logged
    # Of a prepared statement psycopg does not keep the text that Django's query log asks for.
    cursor = (Cursor if is_logged else kind)(connection.connection)
    return (CursorDebugWrapper if is_logged else CursorWrapper)(cursor, connection)
