"""Random filters and documents whose values meet often, and Postgres's answer to a filter."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from hypothesis import strategies as st
from psycopg import sql
from psycopg.types.json import Jsonb

from collections_app.where_sql import MAX_LOOKUPS, condition
from core_app.where import And, Compare, Not, Or, Where

Document = tuple[dict[str, Any], str]

KEYS = ["k", "n", "a.b", "", "k\"'%s{}\\", "schlüssel"]
STRINGS = ["a", "b", "A", "", "1", "true", "null", 'it\'s 100%s {0} \\ "x"', "äß", "a b-1"]
NUMBERS = [
    0, 1, 2, -1, 1.0, 2.5, -0.0, 0.1, 0.30000000000000004, 1e-7, 1e22, 1e23, 10**23, 2**53 + 1, 2.0**53, 10**30,
    -(10**300), 1.7e308,
]  # fmt: skip
DATES = [
    "2024-05-31", "2024-05-31T00:00:00Z", "2024-05-31T02:00+02:00", "2024-05-30 22:30:00.5-02:00", "2024-06-01T00:00",
    "0001-01-01T00:00+14:59", "9999-12-31T23:59:59.999999-14:59", "2000-02-29",
]  # fmt: skip
NO_DATES = ["2023-02-29", "2024-13-01", "0000-01-01", "2024-05-31T24:00", "2024-05-31T12:00 Z", "now", "infinity"]
WORDS = ["alpha", "Beta", "beta", "ä", "1", "a\nb", "it's", "100%", "\\"]
PATTERNS = ["^a", "a$", "(?i)BETA", r"\bb", r"\d", "^$", "a.b", r"[^\w\s]", "(a|b){2}", r"\\|%|'", "(?i)Ä", r"\B"]

SCALARS: Sequence[Any] = [*STRINGS, *NUMBERS, *DATES, *NO_DATES, True, False]
_OTHERS: Sequence[Any] = [None, [], {}, {"k": "a"}, {"a": [1]}, [["a"]], [[1, "a"], 1], [{"k": "a"}], [None]]

_CHANCE = random.Random(3)
#: What mostly stands under each key, and is mostly asked for.
POOLS = {key: _CHANCE.sample(SCALARS, 10) for key in KEYS}

_ANY = st.sampled_from(SCALARS)
_ORDERED = [*NUMBERS, *DATES]


def _scalars(field: str) -> st.SearchStrategy[Any]:
    return st.one_of(st.sampled_from(POOLS[field]), st.sampled_from(POOLS[field]), _ANY)


def _lists(field: str) -> st.SearchStrategy[tuple[Any, ...]]:
    types = ([str], [int, float], [bool])
    pools = [pool for pool in ([one for one in POOLS[field] if type(one) in kinds] for kinds in types) if pool]
    pools += [STRINGS + DATES, NUMBERS]
    # Short ones are looked up one by one, long ones are not.
    return st.builds(
        lambda some, times: tuple(some) * times,
        st.one_of([st.lists(st.sampled_from(pool), min_size=1, max_size=4) for pool in pools]),
        st.sampled_from([1, 1, MAX_LOOKUPS + 1]),
    )


def _comparisons(field: str) -> st.SearchStrategy[Where]:
    def compare(names: list[str], operands: st.SearchStrategy[Any]) -> st.SearchStrategy[Where]:
        return st.builds(Compare, st.just(field), st.sampled_from(names), operands)

    return st.one_of(
        compare(["$eq", "$ne", "$contains", "$not_contains"], _scalars(field)),
        compare(["$gt", "$gte", "$lt", "$lte"], st.sampled_from(_ORDERED)),
        compare(["$in", "$nin"], _lists(field)),
        compare(["$exists"], st.booleans()),
        compare(["$regex", "$not_regex"], st.sampled_from(PATTERNS)),
    )


CONDITIONS: st.SearchStrategy[Where] = st.one_of(
    *(_comparisons(key) for key in KEYS),
    st.builds(Compare, st.none(), st.sampled_from(["$contains", "$not_contains"]), st.sampled_from(WORDS)),
    st.builds(Compare, st.none(), st.sampled_from(["$regex", "$not_regex"]), st.sampled_from(PATTERNS)),
)


def _joined(inner: st.SearchStrategy[Where]) -> st.SearchStrategy[Where]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(st.builds(And, several), st.builds(Or, several), st.builds(Not, inner))


TREES: st.SearchStrategy[Where] = st.recursive(CONDITIONS, _joined, max_leaves=5)


def documents(count: int) -> list[Document]:
    """The same ones each time; few keys and few values, of all types."""
    chance = random.Random(5)

    def value(key: str) -> Any:
        pool = POOLS[key] if chance.random() < 0.8 else SCALARS
        kind = chance.random()
        if kind < 0.6:
            return chance.choice(pool)
        return chance.choices(pool, k=chance.randrange(1, 4)) if kind < 0.9 else chance.choice(_OTHERS)

    return [
        (
            {key: value(key) for key in KEYS if chance.random() < 0.6},
            " ".join(chance.choices(WORDS, k=chance.randrange(4))),
        )
        for _ in range(count)
    ]


def answers(where: Where | None, rows: Sequence[tuple[Mapping[str, Any], str]]) -> list[bool | None]:
    """Postgres's answer for each of these documents, which stand in no table."""
    asked = condition(where)
    statement = sql.SQL(
        "SELECT {where} FROM ROWS FROM (unnest(%(metadata)s::jsonb[]), unnest(%(texts)s::text[]))"
        " WITH ORDINALITY AS chunk (metadata, text, number) ORDER BY number"
    ).format(where=asked.sql)
    given: dict[str, Any] = {"metadata": [Jsonb(metadata) for metadata, _ in rows], "texts": [text for _, text in rows]}
    with connection.cursor() as cursor:
        cursor.execute(statement, {**given, **asked.params})
        return [answer for (answer,) in cursor.fetchall()]
