"""One SQLite file: opened, asked, and what it raises as errors of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw
import sqlite_vec  # type: ignore[import-untyped]

from core_app.errors import FarSideFailed, Unavailable
from core_app.sql import statement
from core_app.where import Where, matches, parse_where

ROOM = "connections_app"
_SCHEMA_VERSION = 1
#: SQLite's `application_id` of our files ("RagS"): a file of something else is left alone.
_APPLICATION = 0x52616753


def opened(path: str, busy_seconds: float) -> apsw.Connection:
    """A connection with the filter's evaluator `passes`, sqlite-vec, and our tables. Raises FarSideFailed."""
    Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = apsw.Connection(path)
    connection.set_busy_timeout(int(busy_seconds * 1000))
    if one_row(connection, "PRAGMA application_id", ())[0] not in {0, _APPLICATION}:
        connection.close()
        raise FarSideFailed("The file belongs to another program. Name another one.", code="far_side_failed")
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)
    connection.create_scalar_function("passes", _passes, 3, deterministic=True)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA journal_mode = WAL")
    with connection:
        if one_row(connection, "PRAGMA user_version", ())[0] != _SCHEMA_VERSION:
            connection.execute(statement(ROOM, "sqlite_schema"))
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    return connection


def _passes(*given: Any) -> bool:
    """Of a filter as JSON, a chunk's metadata as JSON, and its text."""
    text_of_filter, metadata, text = given
    return matches(_parsed(text_of_filter), metadata=json.loads(metadata), text=text)


@lru_cache(maxsize=64)
def _parsed(text: str) -> Where | None:
    return parse_where(json.loads(text))


@contextmanager
def told() -> Iterator[None]:
    """What the file raises as FarSideFailed, or Unavailable while another writes."""
    try:
        yield
    except apsw.BusyError as error:
        raise Unavailable("Another write to the file is still running. Try again in a few seconds.") from error
    except apsw.Error as error:
        raise FarSideFailed("The file cannot be read or written; the server's log has the cause.") from error


def all_rows(connection: apsw.Connection, sql: str, given: Any) -> list[Any]:
    """What a statement gives."""
    return connection.execute(sql, given).fetchall()


def one_row(connection: apsw.Connection, sql: str, given: Any) -> Any:
    """The one row of a statement that gives one."""
    return all_rows(connection, sql, given)[0]
