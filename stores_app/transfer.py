"""Packed bytes to and from Postgres without the detour over text, on Django's own connection."""

from __future__ import annotations

from django.db.backends.utils import CursorWrapper
from pgvector import Vector
from psycopg.adapt import Dumper
from psycopg.pq import Format

from core_app.cursors import Cursor, server_side

ROOM = "stores_app"


class _PackedVector(Dumper):
    """A vector as pgvector sends it. Without the type's number, which each database has its own: statements say it."""

    format = Format.BINARY

    def dump(self, obj: Vector) -> bytes:
        packed: bytes = obj.to_binary()
        return packed


def binary_cursor(kind: type[Cursor] = Cursor) -> CursorWrapper:
    """A cursor whose results come in binary: bytea as it is instead of twice as long. It takes `Vector` packed, too.

    Each statement is still planned for its values, unless its kind prepares it.
    """
    wrapped = server_side(kind)
    wrapped.cursor.format = Format.BINARY
    wrapped.cursor.adapters.register_dumper(Vector, _PackedVector)
    return wrapped
