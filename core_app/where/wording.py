"""A filter in words: what it asks for, and what each condition makes of a document without its key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from core_app.where.evaluation import matches
from core_app.where.operators import OPERATORS
from core_app.where.tree import And, Compare, Not, Operand, Or, Where, Within

#: Characters of a value, and values of a list, that are read out.
_SHOWN, _LISTED = 60, 5
EVERYTHING = "No filter: every document passes."


@dataclass(frozen=True, kw_only=True)
class Missing:
    """What one condition on the metadata makes of documents without its key, every `not` around it counted."""

    #: The condition by itself, as `in_words` has it.
    condition: str
    field: str
    passes: bool

    @property
    def sentence(self) -> str:
        what = "pass" if self.passes else "do not pass"
        return f"{self.condition}: documents without {quoted(self.field)} {what}."


def in_words(where: Where | None) -> str:
    """The filter as one sentence part, such as `"lang" is "en" and "year" is at least 2020`."""
    match where:
        case None:
            return EVERYTHING
        case Compare(field, name, operand):
            found = "the text" if field is None else quoted(field)
            if name == "$exists":
                return f"{found} {'exists' if operand else 'does not exist'}"
            return f"{found} {OPERATORS[name].label} {_operand(operand)}"
        case Not(part):
            return f"not ({in_words(part)})"
        case And(parts):
            return " and ".join(_within(part) for part in parts)
        case Or(parts):
            return " or ".join(_within(part) for part in parts)
        case Within():
            return "it is in one of the collections"


def missing_keys(where: Where | None) -> list[Missing]:
    """One entry for each condition on the metadata, in the filter's order, each said once."""
    return list(dict.fromkeys(_missing(where, negated=False)))


def quoted(text: str) -> str:
    """A key or a string between quotes, on one line and not too long."""
    shown = "".join(character if character.isprintable() else "?" for character in text[:_SHOWN])
    return f'"{shown}{"…" if len(text) > _SHOWN else ""}"'


def _within(part: Where) -> str:
    return f"({in_words(part)})" if isinstance(part, And | Or) else in_words(part)


def _operand(operand: Operand) -> str:
    if isinstance(operand, tuple):
        more = f" or {len(operand) - _LISTED:,} more" if len(operand) > _LISTED else ""
        return ", ".join(_operand(one) for one in operand[:_LISTED]) + more
    return quoted(operand) if isinstance(operand, str) else json.dumps(operand)[:_SHOWN]


def _missing(where: Where | None, *, negated: bool) -> Iterator[Missing]:
    match where:
        case Compare(field, _, _) if field is not None:
            # The meaning itself is asked, not a second account of it; `matches_missing` of the table says the same.
            passes = matches(where, metadata={}, text="") != negated
            yield Missing(condition=in_words(where), field=field, passes=passes)
        case Not(part):
            yield from _missing(part, negated=not negated)
        case And(parts) | Or(parts):
            for part in parts:
                yield from _missing(part, negated=negated)
