"""Migrations of tables in use: a lock that everybody would wait behind is asked for shortly, again and again."""

from __future__ import annotations

import logging
import time
from typing import Any

from django.apps.registry import Apps
from django.db import OperationalError, migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from psycopg import sql
from psycopg.errors import LockNotAvailable

from core_app.sql import statement

logger = logging.getLogger(__name__)

#: Readers and writers wait behind one that waits for a table, so it waits no longer than so.
WAIT_SECONDS = 2.0
PAUSE_SECONDS = 1.0
TRIES = 60


def lock_tables(*tables: str) -> migrations.RunPython:
    """Take these tables for the rest of the migration, as its first operation.

    Each try waits for at most `WAIT_SECONDS`; after `TRIES` of them the migration fails and can be begun again.
    """

    def take(_apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
        for tries_left in reversed(range(TRIES)):
            try:
                with transaction.atomic(using=editor.connection.alias):
                    _take(editor.connection, tables)
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable) or not tries_left:
                    raise
                logger.warning("a migration waits for %s, which others use", ", ".join(tables))
                time.sleep(PAUSE_SECONDS)
            else:
                return

    return migrations.RunPython(take, migrations.RunPython.noop)


def _take(connection: Any, tables: tuple[str, ...]) -> None:
    names = sql.SQL(", ").join(sql.Identifier(table) for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(statement("core_app", "set_lock_timeout"), {"milliseconds": f"{int(WAIT_SECONDS * 1000)}ms"})
        cursor.execute(sql.SQL(statement("core_app", "lock_tables")).format(tables=names))
