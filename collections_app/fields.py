"""What stands in the metadata of a collection's chunks: keys, types, values to choose from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from psycopg import sql

from collections_app.models import Collection
from collections_app.reading import Value
from collections_app.sampling import Source, all_chunks, has_more_than, some_chunks
from collections_app.selectors import get_collection
from core_app.errors import TOO_EXPENSIVE, InvalidInput
from core_app.snapshot import in_time, snapshot
from core_app.sql import statement
from core_app.where.dates import ISO_DATE
from core_app.where.fitting import FieldType, fitting
from core_app.where.operators import MAX_KEY, OPERATORS, TEXT_FIELD

#: Collections up to this size are read whole; of larger ones so many chunks are.
MOST_READ, SAMPLED, FEW_SAMPLED = 10_000, 4_000, 400
#: The values of one key are looked for among all chunks up to here, if that is quick.
MOST_SCANNED = 100_000
#: Of the first statement and of those that are tried after it; whoever opens a page waits for them.
SECONDS, MORE_SECONDS = 0.3, 0.15
MOST_FIELDS, MOST_VALUES, LONGEST_VALUE = 200, 20, 200
MOST_SUGGESTED = 50


@dataclass(frozen=True, kw_only=True)
class ValueCount:
    """A value and in how many of the chunks that were looked at it is found."""

    value: Value
    count: int


@dataclass(frozen=True, kw_only=True)
class Field:
    """A key of the metadata, as it was found in the chunks that were looked at."""

    name: str
    #: Chunks by the type of the value; `date` is a string that is a date in ISO 8601.
    types: dict[FieldType, int]
    #: The same of what is in lists.
    element_types: dict[FieldType, int]
    missing: int
    #: The most frequent first, lists unfolded.
    values: Sequence[ValueCount]

    @property
    def operators(self) -> list[str]:
        """Those that make sense on one of its types; none where a filter cannot ask for such a key."""
        if not is_askable(self.name):
            return []
        found = {name for one in self.types for name in fitting(one)}
        return [name for name in OPERATORS if name in found]


@dataclass(frozen=True, kw_only=True)
class Fields:
    """The fields of a collection, the most frequent first."""

    fields: Sequence[Field] = ()
    #: Chunks that were looked at: all of them unless `is_sample`.
    rows: int = 0
    is_sample: bool = False
    #: Whether there are more fields.
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Suggestions:
    """Values of a field for what was typed; of some chunks only where `is_sample`."""

    values: Sequence[ValueCount] = field(default_factory=list)
    is_sample: bool = False


def text_operators() -> list[str]:
    """Names of the operators that ask for the text."""
    return [row.name for row in OPERATORS.values() if row.on_text]


def is_askable(name: str) -> bool:
    """Whether a filter can ask for this key."""
    return name != TEXT_FIELD and not name.startswith("$") and len(name) <= MAX_KEY


def observed_fields(*, collection_name: str) -> Fields:
    """The keys of the metadata with their types and most frequent values.

    Of a large collection they are those of some thousand chunks. Raises NotFound, and InvalidInput where even a few
    chunks take too long to read.
    """
    with snapshot():
        collection = get_collection(name=collection_name)
        for source, seconds in zip(_sources(collection), (SECONDS, MORE_SECONDS), strict=True):
            rows = in_time(lambda source=source: _observed(source), seconds=seconds)  # type: ignore[misc]
            if rows is not None:
                return _fields(rows, is_sample=source.is_sample)
    raise InvalidInput(TOO_EXPENSIVE, code="too_expensive")


def suggest_values(*, collection_name: str, key: str, typed: str = "", limit: int = MOST_SUGGESTED) -> Suggestions:
    """Values of a key that hold what was typed, whatever its case: those that begin with it first.

    Lists are unfolded; long values are left out. All chunks are read where that is quick, else some. Raises NotFound,
    and InvalidInput.
    """
    given = {
        "field": key,
        "typed": typed,
        "longest": LONGEST_VALUE,
        "limit": max(1, min(limit, MOST_SUGGESTED)),
    }
    with snapshot():
        collection = get_collection(name=collection_name)
        sources = [some_chunks(collection, SAMPLED), some_chunks(collection, FEW_SAMPLED)]
        if not has_more_than(collection, MOST_SCANNED):
            sources = [all_chunks(collection), *sources]
        for source in sources:
            found = in_time(
                lambda source=source: _rows("values_like", source, given),  # type: ignore[misc]
                seconds=MORE_SECONDS,
            )
            if found is not None:
                values = [ValueCount(value=json.loads(value), count=count) for value, count in found]
                return Suggestions(values=values, is_sample=source.is_sample)
    raise InvalidInput(TOO_EXPENSIVE, code="too_expensive")


def _sources(collection: Collection) -> list[Source]:
    """What to look at, and what instead where that takes too long."""
    few = some_chunks(collection, FEW_SAMPLED)
    if has_more_than(collection, MOST_READ):
        return [some_chunks(collection, SAMPLED), few]
    return [all_chunks(collection), few]


def _observed(source: Source) -> list[tuple[Any, ...]]:
    given = {
        "iso_date": ISO_DATE,
        "most_keys": MOST_FIELDS + 1,
        "most_values": MOST_VALUES,
        "longest": LONGEST_VALUE,
    }
    return _rows("observed_fields", source, given)


def _rows(name: str, source: Source, given: dict[str, Any]) -> list[tuple[Any, ...]]:
    query = sql.SQL(statement("collections_app", name)).format(rows=source.sql)
    with connection.cursor() as cursor:
        cursor.execute(query, {**source.params, **given})
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def _fields(rows: Sequence[tuple[Any, ...]], *, is_sample: bool) -> Fields:
    total = 0
    present: dict[str, int] = {}
    types: dict[str, dict[FieldType, int]] = {}
    elements: dict[str, dict[FieldType, int]] = {}
    values: dict[str, list[ValueCount]] = {}
    for part, key, value, kind, found in rows:
        if part == "rows":
            total = found
        elif part == "key":
            present[key] = found
        elif part == "value":
            values.setdefault(key, []).append(ValueCount(value=json.loads(value), count=found))
        else:
            counted = (types if part == "type" else elements).setdefault(key, {})
            counted[kind] = counted.get(kind, 0) + found
    names = sorted(present, key=lambda name: (-present[name], name))[:MOST_FIELDS]
    return Fields(
        fields=[
            Field(
                name=name,
                types=types.get(name, {}),
                element_types=elements.get(name, {}),
                missing=total - present[name],
                values=values.get(name, ()),
            )
            for name in names
        ],
        rows=total,
        is_sample=is_sample,
        is_cut=len(present) > MOST_FIELDS,
    )
