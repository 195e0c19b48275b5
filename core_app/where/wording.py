"""A filter in words: what it asks for, and what each condition makes of a document without its key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from core_app.where.evaluation import matches
from core_app.where.operators import OPERATORS
from core_app.where.tree import And, Compare, Not, Operand, Or, Where, Within

#: Characters of a value, and values of a list, that are read out.
_SHOWN, _LISTED = 60, 5
EVERYTHING = gettext_lazy("No filter: every document passes.")


@dataclass(frozen=True, kw_only=True)
class Missing:
    """What one condition on the metadata makes of documents without its key, every `not` around it counted."""

    #: The condition by itself, as `in_words` has it.
    condition: str
    field: str
    passes: bool

    @property
    def sentence(self) -> str:
        passes, fails = (
            _("%(condition)s: documents without %(key)s pass."),
            _("%(condition)s: documents without %(key)s do not pass."),
        )
        return (passes if self.passes else fails) % {"condition": self.condition, "key": quoted(self.field)}


def in_words(where: Where | None) -> str:
    """The filter as one sentence part, such as `"lang" is "en" and "year" is at least 2020`."""
    match where:
        case None:
            return str(EVERYTHING)
        case Compare():
            return _compared(where)
        case Not(part):
            return _("not (%(condition)s)") % {"condition": in_words(part)}
        case And(parts):
            return pgettext("between conditions", " and ").join(_within(part) for part in parts)
        case Or(parts):
            return pgettext("between conditions", " or ").join(_within(part) for part in parts)
        case Within():
            return _("it is in one of the collections")


def missing_keys(where: Where | None) -> list[Missing]:
    """One entry for each condition on the metadata, in the filter's order, each said once."""
    return list(dict.fromkeys(_missing(where, negated=False)))


def quoted(text: str) -> str:
    """A key or a string between quotes, on one line and not too long."""
    shown = "".join(character if character.isprintable() else "?" for character in text[:_SHOWN])
    return f'"{shown}{"…" if len(text) > _SHOWN else ""}"'


def _compared(where: Compare) -> str:
    key = _("the text") if where.field is None else quoted(where.field)
    if where.operator == "$exists":
        return (_("%(key)s exists") if where.operand else _("%(key)s does not exist")) % {"key": key}
    values = {"key": key, "is": _(OPERATORS[where.operator].label), "value": _operand(where.operand)}
    return pgettext("a key, an operator and a value", "%(key)s %(is)s %(value)s") % values


def _within(part: Where) -> str:
    return f"({in_words(part)})" if isinstance(part, And | Or) else in_words(part)


def _operand(operand: Operand) -> str:
    if isinstance(operand, tuple):
        listed = ", ".join(_operand(one) for one in operand[:_LISTED])
        if len(operand) <= _LISTED:
            return listed
        return _("%(values)s or %(count)s more") % {"values": listed, "count": f"{len(operand) - _LISTED:,}"}
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
