"""How well judged sets are searched: nDCG@10, recall, MRR@10 and Hit@1 and @5 of each way of searching.

A SET is a folder in BEIR's layout (corpus.jsonl, queries.jsonl, qrels.tsv) or the name of one that is built from what
is installed; `built` stands for all of those. Starts a database of its own in a temporary folder, so nothing of a
running server is touched.

With --fusions the legs' scores are recorded once, through the same search, and ways of merging them are compared on
the recording: reciprocal ranks, min-max with several weights, z-scores, and the rule for rare identifiers.

With --candidates nothing is scored: what `balanced` finds is written with its scores, which is what
`manage.py train-reranker --candidates` reads.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from benchmarks.quality import beir
from benchmarks.quality.beir import JudgedSet
from benchmarks.quality.metrics import Scores
from benchmarks.quality.sets import BUILT
from ragsite.runtime.postgres import EmbeddedPostgres

#: Name of a chunking → what a collection is created with.
CHUNKINGS: dict[str, dict[str, str]] = {"whole": {"strategy": "whole"}, "default": {}}
_REMEMBERED = "benchmarks.quality.remembered"


def main() -> None:
    options = _options()
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="ragsite-quality-") as scratch, _database(Path(scratch), options.cache):
        for number, name in enumerate(options.sets):
            judged = _judged(name)
            if options.documents:
                judged = judged.subset(options.documents)
            if options.candidates:
                _write_candidates(judged, options)
                return
            results.append(_measured(judged, options, collection=f"benchmark{number}"))
    if options.json:
        written = results[0] if len(results) == 1 else {str(found.pop("name")): found for found in results}
        written.pop("name", None)
        options.json.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description=__doc__,
        epilog=f"Built sets: {', '.join(BUILT)}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sets", nargs="+", metavar="SET", help="a folder, the name of a built set, or `built`")
    parser.add_argument("--documents", type=int, help="only about so many documents, always the same ones")
    parser.add_argument("--chunking", choices=CHUNKINGS, default="whole", help="one chunk a document, or as shipped")
    parser.add_argument("--top-k", type=int, default=100, help="passages of each search (default: %(default)s)")
    parser.add_argument("--fusions", action="store_true", help="compare ways of merging the legs")
    parser.add_argument("--sensitivity", action="store_true", help="and the rule with other constants")
    parser.add_argument("--cache", type=Path, help="a folder that keeps embeddings and recordings for the next run")
    parser.add_argument("--json", type=Path, help="also write the scores to this file")
    parser.add_argument("--candidates", type=Path, help="write what is found of each query to this file instead")
    options = parser.parse_args()
    options.sets = [name for given in options.sets for name in (BUILT if given == "built" else [given])]
    unknown = [name for name in options.sets if name not in BUILT and not Path(name).is_dir()]
    if unknown:
        parser.error(f"{unknown[0]} is no folder and no built set; those are {', '.join(BUILT)}")
    if options.candidates and len(options.sets) > 1:
        parser.error("--candidates takes one set")
    return options


def _judged(name: str) -> JudgedSet:
    return BUILT[name]() if name in BUILT else beir.load(Path(name))


@contextmanager
def _database(scratch: Path, cache: Path | None) -> Iterator[None]:
    """An empty one, and Django on it."""
    server = EmbeddedPostgres(scratch)
    address = server.start()
    try:
        os.environ.update(
            DJANGO_SETTINGS_MODULE="ragsite.settings",
            ConnectionStrings__RagDatabase=address.url,
            ConnectionStrings__Broker="memory://",
            Telemetry__LogLevel="ERROR",
            # A slow minute of the machine must not change what is found.
            Search__CutAtBudget="false",
            Search__QueryLog="off",
            RAGSITE_DATA=str(scratch),
        )
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command

        if cache is not None:
            cache.mkdir(parents=True, exist_ok=True)
            os.environ["RAGSITE_BENCHMARK_CACHE"] = str(cache)
            settings.RAGSITE_WIRING = _REMEMBERED
        call_command("migrate", verbosity=0)
        yield
    finally:
        server.stop()


def _measured(judged: JudgedSet, options: argparse.Namespace, *, collection: str) -> dict[str, object]:
    """Measure one set and print its table."""
    from benchmarks.quality.measure import measure

    chunking = CHUNKINGS[options.chunking]
    if options.fusions or options.sensitivity:
        scores = _fusions(judged, options, collection=collection)
    else:
        scores = measure(judged, collection=collection, chunking=chunking, top_k=options.top_k).scores
    print(f"\n{judged.name}: {len(judged.documents)} documents, {len(judged.queries)} queries\n")
    _print(scores)
    return {
        "name": judged.name,
        "documents": len(judged.documents),
        "queries": len(judged.queries),
        "scores": {way: asdict(found) for way, found in scores.items()},
    }


def _write_candidates(judged: JudgedSet, options: argparse.Namespace) -> None:
    """One line a query: its id, and the ids and fused scores of its documents, best first."""
    from benchmarks.quality import measure

    measure.fill(judged, collection="candidates", chunking=CHUNKINGS[options.chunking])
    with options.candidates.open("w", encoding="utf-8") as file:
        for query, found in measure.candidates(judged, collection="candidates", top_k=options.top_k):
            line = {"query": query, "candidates": [{"document": name, "score": score} for name, score in found]}
            file.write(json.dumps(line) + "\n")


def _fusions(judged: JudgedSet, options: argparse.Namespace, *, collection: str) -> dict[str, Scores]:
    from benchmarks.quality import fusion_table, measure, recording

    kept = None
    if options.cache is not None:
        size = f"-{options.documents}" if options.documents else ""
        kept = options.cache / f"{judged.name}-{options.chunking}{size}.msgpack"
    recorded = recording.kept(kept) if kept is not None else None
    if recorded is None or not recording.is_of(recorded, judged):
        measure.fill(judged, collection=collection, chunking=CHUNKINGS[options.chunking])
        recorded = recording.record(judged, collection=collection)
        if kept is not None:
            recording.keep(recorded, kept)
    rules = fusion_table.RULES if options.sensitivity else {"rule": fusion_table.RULES["rule"]}
    return fusion_table.table(recorded, rules=rules)


def _print(scores: Mapping[str, Scores]) -> None:
    print(
        "| way | nDCG@10 | Hit@1 | Hit@5 | recall@10 | recall@100 | MRR@10 |", "|---|---|---|---|---|---|---|", sep="\n"
    )
    for way, s in scores.items():
        print(
            f"| {way} | {s.ndcg_at_10:.4f} | {s.hit_at_1:.4f} | {s.hit_at_5:.4f} | {s.recall_at_10:.4f} "
            f"| {s.recall_at_100:.4f} | {s.mrr_at_10:.4f} |"
        )


if __name__ == "__main__":
    main()
