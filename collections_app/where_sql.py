"""Filters as conditions of SQL over `collections_chunk AS chunk`.

What a filter means is `core_app.where.evaluation`; tests hold every statement made here to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

from django.db import DataError, OperationalError
from psycopg import errors as postgres_errors
from psycopg import sql
from psycopg.types.json import Jsonb

from core_app.errors import TOO_EXPENSIVE, InvalidInput
from core_app.where.dates import ISO_DATE
from core_app.where.operators import OPERATORS
from core_app.where.parsing import CODE
from core_app.where.patterns import translate
from core_app.where.tree import And, Compare, Not, Operand, Or, Where, Within

#: Up to so many values of `$in` are looked up in the index one by one.
MAX_LOOKUPS = 32


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A condition to be composed into a statement of ours, and the values of its placeholders.

    The columns are `chunk.metadata`, `chunk.text` and `chunk.collection_id`; placeholders' names start with `where_`.
    It is true or false for every row, never null.
    """

    sql: sql.Composable
    params: Mapping[str, Any]


def condition(where: Where | None) -> Condition:
    """The condition of a filter; true for every row where there is none."""
    if where is None:
        return Condition(sql=sql.SQL("TRUE"), params={})
    compiler = _Compiler()
    return Condition(sql=compiler.tree(where), params=compiler.params)


@contextmanager
def filter_errors() -> Iterator[None]:
    """Turns what Postgres says of a filter while a statement with it runs into InvalidInput.

    That is a pattern it cannot compile (`invalid_where`), and a statement that was stopped after its
    time (`too_expensive`). The transaction is in an error state afterwards, as after any other.
    """
    try:
        yield
    except DataError as error:
        if isinstance(error.__cause__, postgres_errors.InvalidRegularExpression):
            raise InvalidInput(
                "Invalid 'where' filter: the database finds a pattern too complex; use a simpler one", code=CODE
            ) from error
        raise
    except OperationalError as error:
        if isinstance(error.__cause__, postgres_errors.QueryCanceled):
            raise InvalidInput(TOO_EXPENSIVE, code="too_expensive") from error
        raise


class _Compiler:
    """One filter; collects the values of its placeholders."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}

    def tree(self, where: Where) -> sql.Composable:
        match where:
            case And(parts):
                return self._joined(" AND ", parts)
            case Or(parts):
                return self._joined(" OR ", parts)
            case Not(part):
                return _negated(self.tree(part))
            case Compare(field, name, operand):
                negated = OPERATORS[name].negates
                positive = self._comparison(field, negated or name, operand)
                return _negated(positive) if negated else positive
            case Within(collection_id):
                return sql.SQL("(chunk.collection_id = {})").format(self.value(collection_id, "bigint"))

    def _joined(self, word: LiteralString, parts: tuple[Where, ...]) -> sql.Composable:
        return sql.SQL("({})").format(sql.SQL(word).join(self.tree(part) for part in parts))

    def _comparison(self, field: str | None, name: str, operand: Operand) -> sql.Composable:
        return ON_TEXT[name](self, operand) if field is None else ON_METADATA[name](self, field, operand)

    def value(self, value: object, kind: LiteralString) -> sql.Composable:
        """A placeholder whose type is said, so that it may travel in the statement's text or beside it."""
        name = f"where_{len(self.params)}"
        self.params[name] = value
        return sql.SQL("{}::{}").format(sql.Placeholder(name), sql.SQL(kind))

    def found(self, field: str) -> sql.Composable:
        """The value under a key, as jsonb; null where the key is missing."""
        return sql.SQL("(chunk.metadata -> {})").format(self.value(field, "text"))

    def contains(self, field: str, value: object) -> sql.Composable:
        """The form that the GIN index on metadata answers."""
        return sql.SQL("(chunk.metadata @> {})").format(self.value(Jsonb({field: value}), "jsonb"))


def _negated(positive: sql.Composable) -> sql.Composable:
    return sql.SQL("(NOT {})").format(positive)


def _one_of(compiler: _Compiler, field: str, operands: Any) -> sql.Composable:
    if len(operands) <= MAX_LOOKUPS:
        return sql.SQL("({})").format(sql.SQL(" OR ").join(compiler.contains(field, one) for one in operands))
    values = compiler.value([Jsonb(one) for one in operands], "jsonb[]")
    return sql.SQL("coalesce({} = ANY({}), FALSE)").format(compiler.found(field), values)


def _exists(compiler: _Compiler, field: str, operand: Any) -> sql.Composable:
    return sql.SQL("({} IS NOT NULL)" if operand else "({} IS NULL)").format(compiler.found(field))


def _ordered(sign: LiteralString) -> Callable[[_Compiler, str, Any], sql.Composable]:
    """Dates are cast only where the cast succeeds; numbers are compared as jsonb, which never fails."""

    def compile_comparison(compiler: _Compiler, field: str, operand: Any) -> sql.Composable:
        found = compiler.found(field)
        if not isinstance(operand, str):
            return sql.SQL("coalesce(jsonb_typeof({found}) = 'number' AND {found} {sign} {operand}, FALSE)").format(
                found=found, sign=sql.SQL(sign), operand=compiler.value(Jsonb(operand), "jsonb")
            )
        return sql.SQL(
            "(CASE WHEN jsonb_typeof({found}) = 'string' AND ({found} #>> '{{}}') COLLATE \"C\" ~ {iso_date}"
            " AND pg_input_is_valid({found} #>> '{{}}', 'timestamptz')"
            " THEN ({found} #>> '{{}}')::timestamptz {sign} {operand} ELSE FALSE END)"
        ).format(
            found=found,
            iso_date=sql.Literal(ISO_DATE),
            sign=sql.SQL(sign),
            operand=compiler.value(operand, "timestamptz"),
        )

    return compile_comparison


def _value_matches(compiler: _Compiler, field: str, operand: Any) -> sql.Composable:
    return sql.SQL(
        "coalesce(jsonb_typeof({found}) = 'string' AND ({found} #>> '{{}}') COLLATE \"C\" ~ {pattern}, FALSE)"
    ).format(found=compiler.found(field), pattern=compiler.value(translate(operand).postgres, "text"))


def _text_contains(compiler: _Compiler, operand: Any) -> sql.Composable:
    return sql.SQL('(strpos(chunk.text COLLATE "C", {}) > 0)').format(compiler.value(operand, "text"))


def _text_matches(compiler: _Compiler, operand: Any) -> sql.Composable:
    return sql.SQL('(chunk.text COLLATE "C" ~ {})').format(compiler.value(translate(operand).postgres, "text"))


#: Operators by name; those that negate another are made from it.
ON_METADATA: Mapping[str, Callable[[_Compiler, str, Any], sql.Composable]] = {
    "$eq": _Compiler.contains,
    "$gt": _ordered(">"),
    "$gte": _ordered(">="),
    "$lt": _ordered("<"),
    "$lte": _ordered("<="),
    "$in": _one_of,
    "$exists": _exists,
    "$contains": lambda compiler, field, operand: compiler.contains(field, [operand]),
    "$regex": _value_matches,
}
ON_TEXT: Mapping[str, Callable[[_Compiler, Any], sql.Composable]] = {
    "$contains": _text_contains,
    "$regex": _text_matches,
}
