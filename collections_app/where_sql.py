"""Filters as conditions of SQL over `collections_chunk AS chunk`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from core_app.where import Where


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition to be composed into a statement of ours, and the values of its placeholders.

    The columns are `chunk.metadata` and `chunk.text`; the placeholders' names start with `where_`.
    It is true or false for every row, never null.
    """

    sql: sql.Composable
    params: Mapping[str, Any]


def condition(where: Where | None) -> Condition:
    """The condition of a filter; true for every row where there is none."""
    if where is None:
        return Condition(sql=sql.SQL("TRUE"), params={})
    raise NotImplementedError
