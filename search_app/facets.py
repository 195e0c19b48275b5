"""How often which values stand in what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from collections_app.models import Chunk
from search_app.clock import Clock
from search_app.findings import Findings
from search_app.results import SearchWarning, Value, ValueCount

#: Values of one field.
MOST_VALUES = 50
MOST_FACETS = 20
_CUT = SearchWarning(code="facets_cut", detail="The mode's time was over: values were not counted.")


def count_in_time(
    chunk_ids: Sequence[int], *, fields: Sequence[str], findings: Findings, clock: Clock
) -> dict[str, list[ValueCount]]:
    """As `count_values`; nothing, and a warning, where there is no time for it."""
    seconds = clock.seconds_left
    if seconds <= 0:
        findings.warn(_CUT.code, _CUT.detail)
        return {}
    with clock.stage("facets"):
        counted = findings.attempt(
            "facets_failed",
            "The values could not be counted.",
            lambda: count_values(chunk_ids=chunk_ids, fields=fields, guests=findings.guests),
            seconds=seconds,
            cut=_CUT,
        )
    findings.end_bound()
    return counted or {}


def count_values(
    *, chunk_ids: Sequence[int], fields: Sequence[str], guests: Mapping[int, Chunk] = MappingProxyType({})
) -> dict[str, list[ValueCount]]:
    """By field its most frequent values among these chunks, ties in the order of the values.

    A list counts for each of its values once; what is neither text, number nor truth value is left out.
    """
    if not fields:
        return {}
    found = list(Chunk.objects.filter(pk__in=list(chunk_ids)).values_list("metadata", flat=True))
    found += [guests[chunk_id].metadata for chunk_id in chunk_ids if chunk_id in guests]
    return {field: _counted(field, found) for field in fields}


def _counted(field: str, found: Sequence[Mapping[str, Any]]) -> list[ValueCount]:
    counts: Counter[tuple[str, Value]] = Counter()
    for metadata in found:
        value = metadata.get(field)
        values = value if isinstance(value, list) else [value]
        counts.update({(_kind(one), one) for one in values if isinstance(one, str | int | float | bool)})
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0][0], entry[0][1]))
    return [ValueCount(value=value, count=count) for (_, value), count in ordered[:MOST_VALUES]]


def _kind(value: Value) -> str:
    """1 and True are one key of a dictionary, and two values; 1 and 1.0 are one."""
    if isinstance(value, bool):
        return "flag"
    return "text" if isinstance(value, str) else "number"
