"""Packed bytes to and from Postgres without the detour over text, on Django's own connection."""

from __future__ import annotations

import psycopg
from django.db import connection
from django.db.backends.utils import CursorDebugWrapper, CursorWrapper
from pgvector import Vector
from psycopg.adapt import Dumper
from psycopg.pq import Format

ROOM = "stores_app"


class _PackedVector(Dumper):
    """A vector as pgvector sends it. Without the type's number, which each database has its own: statements say it."""

    format = Format.BINARY

    def dump(self, obj: Vector) -> bytes:
        packed: bytes = obj.to_binary()
        return packed


def binary_cursor() -> CursorWrapper:
    """A cursor whose results come in binary: bytea as it is instead of twice as long. It takes `Vector` packed, too.

    Django's own cursor puts parameters into the statement's text, which psycopg allows with results in
    text alone. Here they travel beside it, and each statement is still planned for its values.
    """
    connection.ensure_connection()
    cursor = psycopg.Cursor(connection.connection)
    cursor.format = Format.BINARY
    cursor.adapters.register_dumper(Vector, _PackedVector)
    # With Django's exceptions, its query log and whatever wraps execution.
    wrapper = CursorDebugWrapper if connection.queries_logged else CursorWrapper
    return wrapper(cursor, connection)
