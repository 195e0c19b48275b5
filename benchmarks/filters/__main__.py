"""`python -m benchmarks.filters`: the table in docs/benchmarks.md.

Chunks are made by generate_series in a database of its own, which is gone afterwards. Each figure is of several calls.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django

from ragsite.runtime.postgres import EmbeddedPostgres

#: What a filter builder may be asked for: what few pass and what many pass, with an index and without.
FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "equal, a quarter passes": {"lang": "en"},
    "equal, 40 pass": {"source": "folder/file-77.md"},
    "equal, nothing passes": {"lang": "xx"},
    "a list holds, 2 %": {"tags": {"$contains": "t9"}},
    "a number from, half passes": {"year": {"$gte": 2008}},
    "a number from, nothing passes": {"year": {"$gt": 3000}},
    "a date from, nothing passes": {"day": {"$gt": "2031-01-01"}},
    "a key is missing": {"reviewed": {"$exists": False}},
    "not equal": {"lang": {"$ne": "en"}},
    "text holds, 0.1 %": {"#document": {"$contains": "walrus"}},
    "text holds, nothing passes": {"#document": {"$contains": "zebra"}},
    "pattern on text, nothing passes": {"#document": {"$regex": "(?i)(a|b|c)+z{3}[0-9]+q"}},
    "two levels": {
        "$or": [
            {"lang": "en", "year": {"$gte": 2020, "$lt": 2023}},
            {"$not": {"tags": {"$contains": "t3"}, "#document": {"$contains": "zebra"}}},
        ]
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.filters", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="chunks (default: %(default)s)")
    parser.add_argument("--calls", type=int, default=7, help="of each kind (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragsite-filters-") as data:
        server = EmbeddedPostgres(Path(data))
        try:
            os.environ.update(
                DJANGO_SETTINGS_MODULE="ragsite.settings",
                RAGSITE_ENVIRONMENT="Development",
                RAGSITE_DATA=data,
                ConnectionStrings__RagDatabase=server.start().url,
                VectorDatabase__PoolSize="0",
                Embedding__Provider="hashing",
                Embedding__Model="hashing-256",
            )
            _measure(rows=options.rows, calls=options.calls)
        finally:
            server.stop()


def _measure(*, rows: int, calls: int) -> None:
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    _fill(rows)
    print(f"{rows:,} chunks, {calls} calls of each, ms\n\n| call | median | slowest | answer |\n|---|---|---|---|")
    for label, call in _calls():
        times: list[float] = []
        said = ""
        for _ in range(calls):
            began = time.perf_counter()
            said = call()
            times.append((time.perf_counter() - began) * 1000)
        print(f"| {label} | {statistics.median(times):.0f} | {max(times):.0f} | {said} |", flush=True)


def _fill(rows: int) -> None:
    from django.db import connection

    from collections_app.services import create_collection

    fill = (Path(__file__).parent / "fill.sql").read_text(encoding="utf-8")
    began = time.perf_counter()
    with connection.cursor() as cursor:
        for name, count in (("beside", rows // 10), ("docs", rows)):
            cursor.execute(fill, {"collection_id": create_collection(name=name).pk, "rows": count})
        cursor.execute("VACUUM ANALYZE collections_chunk")
    print(f"Filled in {time.perf_counter() - began:.0f} s.", flush=True)


def _calls() -> Iterator[tuple[str, Callable[[], str]]]:
    from collections_app.fields import observed_fields, suggest_values
    from collections_app.previewing import preview_filter
    from core_app.where import parse_where

    def fields() -> str:
        found = observed_fields(collection_name="docs")
        return f"{len(found.fields)} fields of {found.rows:,} chunks{' (a sample)' if found.is_sample else ''}"

    def suggested(key: str, typed: str) -> Callable[[], str]:
        def call() -> str:
            found = suggest_values(collection_name="docs", key=key, typed=typed)
            return f"{len(found.values)} values{' (of a sample)' if found.is_sample else ''}"

        return call

    def previewed(where: dict[str, Any]) -> Callable[[], str]:
        def call() -> str:
            found = preview_filter(collection_name="docs", where=parse_where(where))
            count = "not counted" if found.count is None else f"{found.count:,}{'+' if found.is_capped else ''}"
            return f"{'about ' if found.is_estimate else ''}{count}, {len(found.chunks)} rows"

        return call

    yield "fields", fields
    yield "suggest `lang`, nothing typed", suggested("lang", "")
    yield "suggest `source`, `file-77`", suggested("source", "file-77")
    for label, where in FILTERS.items():
        yield f"preview: {label}", previewed(where)


if __name__ == "__main__":
    main()
