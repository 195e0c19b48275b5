"""Packed bytes to and from Postgres without the detour over text, on Django's own connection."""

from __future__ import annotations

import sys
from typing import Any, Self

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.utils import CursorDebugWrapper, CursorWrapper
from pgvector import Vector
from psycopg.adapt import Dumper
from psycopg.pq import Format

ROOM = "stores_app"

_Cursor = psycopg.Cursor[tuple[Any, ...]]


class _PackedVector(Dumper):
    """A vector as pgvector sends it. Without the type's number, which each database has its own: statements say it."""

    format = Format.BINARY

    def dump(self, obj: Vector) -> bytes:
        packed: bytes = obj.to_binary()
        return packed


def binary_cursor(kind: type[_Cursor] = psycopg.Cursor) -> CursorWrapper:
    """A cursor whose results come in binary: bytea as it is instead of twice as long. It takes `Vector` packed, too.

    Django's own cursor puts parameters into the statement's text, which psycopg allows with results in
    text alone. Here they travel beside it, and each statement is still planned for its values.
    """
    # Not `django.db.connection`, which finds the connection anew each time that one of its attributes is asked for.
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    is_logged = connection.queries_logged
    # Of a prepared statement psycopg does not keep the text that Django's query log asks for.
    cursor = (psycopg.Cursor if is_logged else kind)(connection.connection)
    cursor.format = Format.BINARY
    cursor.adapters.register_dumper(Vector, _PackedVector)
    # With Django's exceptions, its query log and whatever wraps execution.
    return (CursorDebugWrapper if is_logged else CursorWrapper)(cursor, connection)


class Preparing(_Cursor):
    """For statements that take longer to plan than to run, and that one plan for any values serves well."""

    def execute(self, *given: Any, **options: Any) -> Self:
        # Django turns preparing off for a connection, for the sake of poolers that share one between transactions.
        # Those cannot stand before Ragsite's database anyway (decision 11). Its own statements go on unprepared.
        self.connection.prepare_threshold = sys.maxsize
        try:
            return super().execute(*given, **options, prepare=True)
        finally:
            self.connection.prepare_threshold = None
