"""What a filter lets through, seen before it is used: how many chunks, the first of them, what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from psycopg import sql

from collections_app.models import Collection
from collections_app.reading import StoredChunk, stored_chunks
from collections_app.sampling import some_chunks
from collections_app.selectors import get_held
from collections_app.where_sql import Condition, condition, filter_errors
from core_app.snapshot import in_time, snapshot
from core_app.sql import statement
from core_app.where import Where
from core_app.where.wording import Missing, in_words, missing_keys

#: Chunks are counted no further.
MOST_COUNTED = 10_000
SHOWN = 5
#: Chunks of which an estimate is made.
SAMPLED = 1_000
#: Of each statement. Together they stay below half a second, whatever the filter asks for.
COUNT_SECONDS, SAMPLE_SECONDS, TOTAL_SECONDS = 0.2, 0.12, 0.08


@dataclass(frozen=True, kw_only=True)
class FilterPreview:
    """What a filter lets through, as far as could be found out in the time."""

    #: Chunks that pass; None where not even an estimate could be made.
    count: int | None
    #: Whether there are more.
    is_capped: bool = False
    #: Whether `count` was judged by some chunks only; `sampled` says by how many.
    is_estimate: bool = False
    sampled: int = 0
    chunks: Sequence[StoredChunk] = field(default_factory=list)
    #: Whether there is no filter, so that all chunks pass.
    is_everything: bool = False
    meaning: str = ""
    missing: Sequence[Missing] = ()


def preview_filter(*, collection_name: str, where: Where | None) -> FilterPreview:
    """Count and show what a filter lets through. Raises NotFound, and InvalidInput for a filter that cannot be used."""
    narrowed = condition(where)
    with filter_errors(), snapshot():
        collection = get_held(name=collection_name)
        counted = in_time(lambda: _counted(collection, narrowed), seconds=COUNT_SECONDS)
        if counted is None:
            return _estimated(collection, narrowed, where)
        count, ids = counted
        return FilterPreview(
            count=min(count, MOST_COUNTED),
            is_capped=count > MOST_COUNTED,
            chunks=_shown(ids),
            **_said(where),
        )


def _said(where: Where | None) -> dict[str, Any]:
    return {"is_everything": where is None, "meaning": in_words(where), "missing": missing_keys(where)}


def _counted(collection: Collection, narrowed: Condition) -> tuple[int, list[int]]:
    query = sql.SQL(statement("collections_app", "preview_filter")).format(where=narrowed.sql)
    given = {"collection_id": collection.pk, "most": MOST_COUNTED + 1, "shown": SHOWN, **narrowed.params}
    with connection.cursor() as cursor:
        cursor.execute(query, given)
        count, ids = cursor.fetchone()
        return count, ids


def _estimated(collection: Collection, narrowed: Condition, where: Where | None) -> FilterPreview:
    looked_at = in_time(lambda: _sampled(collection, narrowed), seconds=SAMPLE_SECONDS)
    if looked_at is None:
        return FilterPreview(count=None, is_estimate=True, **_said(where))
    sampled, passed, ids = looked_at
    total = in_time(lambda: _total(collection), seconds=TOTAL_SECONDS)
    if total is None:
        total = _planned_total(collection)
    return FilterPreview(
        count=round(total * passed / max(sampled, 1)),
        is_estimate=True,
        sampled=sampled,
        chunks=_shown(ids),
        **_said(where),
    )


def _sampled(collection: Collection, narrowed: Condition) -> tuple[int, int, list[int]]:
    source = some_chunks(collection, SAMPLED)
    query = sql.SQL(statement("collections_app", "preview_sample")).format(rows=source.sql, where=narrowed.sql)
    with connection.cursor() as cursor:
        cursor.execute(query, {**source.params, "shown": SHOWN, **narrowed.params})
        sampled, passed, ids = cursor.fetchone()
        return sampled, passed, ids


def _total(collection: Collection) -> int:
    query = sql.SQL(statement("collections_app", "count_chunks")).format(where=sql.SQL("TRUE"))
    with connection.cursor() as cursor:
        cursor.execute(query, {"collection_id": collection.pk})
        return int(cursor.fetchone()[0])


def _planned_total(collection: Collection) -> int:
    """What the planner believes."""
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "planned_count"), {"collection_id": collection.pk})
        plan = cursor.fetchone()[0]
    return int(plan[0]["Plan"]["Plan Rows"])


def _shown(chunk_ids: Sequence[int]) -> list[StoredChunk]:
    found = stored_chunks(chunk_ids=chunk_ids) if chunk_ids else {}
    return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]
