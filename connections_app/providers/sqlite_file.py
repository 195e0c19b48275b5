"""One SQLite file: opened, asked, and what it raises as errors of ours."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import sqlite_vec  # type: ignore[import-untyped]

from connections_app.folders import make_private
from core_app.errors import FarSideFailed, Unavailable
from core_app.sql import statement
from core_app.where import Where, matches, parse_where

logger = logging.getLogger(__name__)

ROOM = "connections_app"
_SCHEMA_VERSION = 2
#: SQLite's `application_id` of our files ("RagS"): a file of something else is left alone.
_APPLICATION = 0x52616753


def opened(path: str, busy_seconds: float) -> apsw.Connection:
    """A connection with our tables, sqlite-vec, `passes` (the filter's evaluator) and `inner` (the inner product).

    Raises FarSideFailed for a file that is not ours, which is left as it is.
    """
    make_private(Path(path))
    looking = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        looking.set_busy_timeout(int(busy_seconds * 1000))
        _is_ours(looking)
    finally:
        looking.close()
    connection = apsw.Connection(path)
    try:
        connection.set_busy_timeout(int(busy_seconds * 1000))
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_ours(connection: apsw.Connection) -> bool:
    """Whether our tables are there; False for an empty file. Reads only. Raises FarSideFailed for every other file."""
    asked = (
        "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), "
        "(SELECT count(*) FROM sqlite_master)"
    )
    application, version, objects = one_row(connection, asked, ())
    if application == _APPLICATION and version == _SCHEMA_VERSION:
        return True
    if application == _APPLICATION:
        raise FarSideFailed(
            f"The file has version {version} of the tables, this server has {_SCHEMA_VERSION}. Name another file.",
            code="file_version",
        )
    if application or version or objects:
        raise FarSideFailed("The file belongs to another program. Name another one.", code="file_of_another_program")
    return False


def _prepare(connection: apsw.Connection) -> None:
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)
    connection.create_scalar_function("passes", _passes, 3, deterministic=True)
    connection.create_scalar_function("inner", _inner, 2, deterministic=True)
    connection.execute("PRAGMA foreign_keys = ON")
    if _is_ours(connection):
        return
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _is_ours(connection):
            connection.execute(statement(ROOM, "sqlite_schema"))
            connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _inner(*given: Any) -> float:
    """Of two vectors of float32; summed up as float64, so that large components lose nothing."""
    one, other = (np.frombuffer(vector, dtype=np.float32).astype(np.float64) for vector in given)
    return float(one @ other)


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
    except (apsw.Error, OSError) as error:
        logger.warning("a SQLite file cannot be read or written", exc_info=True)
        raise FarSideFailed("The file cannot be read or written; the server's log has the cause.") from error


def all_rows(connection: apsw.Connection, sql: str, given: Any) -> list[Any]:
    """What a statement gives."""
    return connection.execute(sql, given).fetchall()


def one_row(connection: apsw.Connection, sql: str, given: Any) -> Any:
    """The one row of a statement that gives one."""
    return all_rows(connection, sql, given)[0]
