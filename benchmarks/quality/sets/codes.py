"""Codes: of ruff's rules, of Postgres's errors and of Unicode's characters, alone and in short questions."""

from __future__ import annotations

import re
import unicodedata
from itertools import chain

from psycopg import errors

from benchmarks.quality.beir import JudgedSet, Text
from benchmarks.quality.sets.picking import one, some
from benchmarks.quality.sets.ruff_rules import rules

QUERIES = 300
#: Blocks that have not changed for long: Greek, currencies, arrows, mathematical operators.
_CHARACTERS = (range(0x370, 0x400), range(0x20A0, 0x20BF), range(0x2190, 0x2300))
_SQLSTATE = re.compile(r"[0-9A-Z]{5}")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TEMPLATES = ("{code}", "error {code}", "what does {code} mean", "how do I get rid of {code}", "{code} explained")


def codes() -> JudgedSet:
    """A query is a code, or asks what it means; one document says so."""
    documents = [*_of_ruff(), *_of_postgres(), *_of_unicode()]
    queries = {
        code: one(_TEMPLATES, f"template {code}").format(code=code)
        for code in some([document.id for document in documents], QUERIES, purpose="codes")
    }
    return JudgedSet(
        name="codes",
        documents=tuple(documents),
        queries=queries,
        judgements={code: {code: 1} for code in queries},
    )


def _of_ruff() -> list[Text]:
    """Rules, except those whose code another has as well."""
    found = {rule.code: rule for rule in reversed(rules())}
    return [
        Text(id=rule.code, title=f"{rule.linter} {rule.code}", text=f"{rule.name}: {rule.summary}")
        for rule in found.values()
    ]


def _of_postgres() -> list[Text]:
    states = {
        str(found.sqlstate): found
        for found in vars(errors).values()
        if isinstance(found, type) and issubclass(found, errors.Error) and found.sqlstate
    }
    return [
        Text(
            id=state,
            title=f"SQLSTATE {state}",
            text=f"{_CAPITAL.sub(' ', found.__name__)}: {', '.join(base.__name__ for base in found.__bases__)}",
        )
        for state, found in states.items()
        if _SQLSTATE.fullmatch(state)
    ]


def _of_unicode() -> list[Text]:
    return [
        Text(id=f"U+{point:04X}", title=f"U+{point:04X}", text=unicodedata.name(chr(point)).capitalize())
        for point in chain.from_iterable(_CHARACTERS)
        if unicodedata.name(chr(point), "")
    ]
