"""Statements that matter live in files: `sql/NAME.sql` in their room, one each, with a comment on the plan."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import LiteralString


@cache
def statement(package: str, name: str) -> LiteralString:
    """The text of `package/sql/name.sql`.

    Typed as a literal on purpose: what comes out of a file of ours was written by hand, while a
    string put together at run time is refused by the type checker wherever a statement is expected.
    """
    return files(package).joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def migration_sql(package: str, name: str) -> LiteralString:
    """The text of `package/migrations/name.sql`, the SQL half of the migration of that name."""
    return files(package).joinpath("migrations", f"{name}.sql").read_text(encoding="utf-8")
