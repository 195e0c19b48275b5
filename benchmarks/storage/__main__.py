"""`python -m benchmarks.storage --chroma PATH`: the table in docs/benchmarks.md.

PATH is the `chroma` command of an environment of its own: `python -m venv E && E/bin/pip install chromadb`.
Both servers get the same documents in turn, in one run; compare the ratios, not the numbers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.storage import measures, servers
from benchmarks.storage.clients import Chroma, Client, Ragsite
from benchmarks.storage.corpus import FILTERS, ONE_PERCENT, Corpus, make, queries
from ragsite.embedded import running_server

NAMES = ("Ragsite", "chromadb")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.storage", description=__doc__)
    parser.add_argument("--chroma", required=True, help="the chroma command to compare with")
    parser.add_argument("--adding", type=int, default=20_000, help="documents to add (default: %(default)s)")
    parser.add_argument("--emptying", type=int, default=50_000, help="documents to empty (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="emptyings of each server (default: %(default)s)")
    parser.add_argument("--querying", type=int, default=100_000, help="documents to query (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=100, help="queries of each kind (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write the numbers to this file, too")
    options = parser.parse_args()
    report: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory(prefix="ragsite-storage-") as folder,
        servers.ragsite(Path(folder) / "ragsite") as ours,
        servers.chroma(options.chroma, Path(folder) / "chroma") as theirs,
    ):
        clients: list[Client] = [Ragsite(ours), Chroma(theirs)]
        if options.adding:
            report["adding"] = _adding(clients, make(options.adding))
        if options.emptying:
            report["emptying"] = _emptying(clients, make(options.emptying, seed=8), options.rounds)
        if options.querying:
            report["queries"] = _queries(clients, make(options.querying, seed=9), options.queries)
            report["documents"] = _documents(Ragsite(ours), Path(folder) / "ragsite", options.queries)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


def _head(title: str, first: str) -> None:
    print(f"\n{title}\n\n| {first} | {' | '.join(NAMES)} | ratio |\n|---|---|---|---|")


def _row(label: str, ours: float, theirs: float, *, ratio: float) -> None:
    print(f"| {label} | {ours:,.1f} | {theirs:,.1f} | {ratio:.2f} |", flush=True)


def _adding(clients: list[Client], corpus: Corpus) -> Any:
    _head(f"Adding {len(corpus):,} documents, documents a second", "until")
    ours, theirs = (measures.adding(client, "adding", corpus) for client in clients)
    _row("searchable", ours.searchable, theirs.searchable, ratio=ours.searchable / theirs.searchable)
    _row("indexed", ours.indexed, theirs.indexed, ratio=ours.indexed / theirs.indexed)
    return {"Ragsite": vars(ours), "chromadb": vars(theirs)}


def _emptying(clients: list[Client], corpus: Corpus, rounds: int) -> Any:
    _head(f"Emptying {len(corpus):,} documents, {rounds} times", "")
    small = make(2000, seed=5)
    results = []
    for client in clients:
        client.create("beside")
        for body in client.bodies(small):
            client.add("beside", body)

        def search(client: Client = client) -> None:
            client.query("beside", small.vectors[0], {}, 10)

        beside, seconds = measures.Beside(), []
        for number in range(rounds):
            measures.fill(client, f"emptied-{number}", corpus)
            seconds.append(measures.emptying(client, f"emptied-{number}", corpus, search, beside))
        results.append((statistics.median(seconds), beside))
    (ours, beside), (theirs, their_beside) = results
    _row("seconds", ours, theirs, ratio=theirs / ours)
    for label, series in (("p95 of another's search at rest, ms", "rest"), ("the same meanwhile, ms", "during")):
        mine, others = measures.p95(getattr(beside, series)), measures.p95(getattr(their_beside, series))
        _row(label, mine, others, ratio=others / mine)
    return {
        "Ragsite": ours,
        "chromadb": theirs,
        "rest": measures.p95(beside.rest),
        "during": measures.p95(beside.during),
    }


def _queries(clients: list[Client], corpus: Corpus, count: int) -> Any:
    head = " | ".join(f"{name} p50 | p95 | recall@10 | fewest" for name in NAMES)
    print(f"\nQueries of {len(corpus):,} documents, ms\n\n| filter | {head} | ratio of p50 |\n|---|{'---|' * 9}")
    for client in clients:
        measures.fill(client, "queried", corpus)
    vectors = queries(count)
    report: dict[str, Any] = {}
    for label, where in {"none": {}, **FILTERS}.items():
        ours, theirs = (measures.queries(client, "queried", corpus, vectors, where) for client in clients)
        cells = " | ".join(f"{q.p50:.1f} | {q.p95:.1f} | {q.recall:.3f} | {q.fewest}" for q in (ours, theirs))
        print(f"| {label} | {cells} | {theirs.p50 / ours.p50:.2f} |", flush=True)
        report[label] = {"Ragsite": vars(ours), "chromadb": vars(theirs)}
    return report


def _documents(client: Ragsite, folder: Path, count: int) -> Any:
    """A page of documents by metadata over HTTP, and what Postgres alone needs for it."""
    with psycopg.connect(running_server(folder)["rag_database"]) as bare:
        pairs = [
            (_timed(lambda: client.documents("queried", ONE_PERCENT)), _timed(lambda: measures.bare_page(bare)))
            for _ in range(count)
        ]
    over_http, in_sql = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"\nGET documents?where= of 1 %: p50 {over_http:.1f} ms; the bare SQL {in_sql:.1f} ms", flush=True)
    return {"http": over_http, "sql": in_sql}


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
