"""`python -m benchmarks.latency.embedding FOLDER`: one query's embedding by torch and by onnxruntime.

Both embed the same distinct queries of a judged set, one after the other and turn about, so that a slower minute of
the machine counts for both. Both are warm; no cache of vectors is between.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

_WARM_UP = 20


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency.embedding", description=__doc__)
    parser.add_argument("folder", type=Path, help="a judged set in BEIR's layout, for its queries.jsonl")
    parser.add_argument("--queries", type=int, default=200, help="so many distinct queries (default: 200)")
    parser.add_argument("--rounds", type=int, default=3, help="embed each so often (default: 3)")
    options = parser.parse_args()
    texts = _distinct(options.folder / "queries.jsonl", options.queries)
    with tempfile.TemporaryDirectory(prefix="ragsite-embedding-") as data:
        os.environ.update(
            DJANGO_SETTINGS_MODULE="ragsite.settings",
            VectorDatabase__PoolSize="0",
            Telemetry__LogLevel="WARNING",
            RAGSITE_DATA=data,
        )
        _report(_embedder("torch"), _embedder("auto"), texts, options.rounds)


def _distinct(path: Path, wanted: int) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    texts = list(dict.fromkeys(json.loads(line)["text"] for line in lines))
    if len(texts) < wanted:
        sys.exit(f"{path} has {len(texts)} distinct queries: ask for fewer with --queries.")
    return texts[:wanted]


def _embedder(engine: str) -> Any:
    """One of the configured model, with this engine for queries, warm."""
    import django
    from django.utils.module_loading import import_string

    django.setup()
    from core_app.wiring import app_settings
    from ragsite.wiring import EMBEDDERS

    section = app_settings().embedding.model_copy(update={"query_engine": engine})
    embedder = import_string(EMBEDDERS["sentence-transformers"])(section)
    embedder.warm_up()
    return embedder


def _report(torchs: Any, ours: Any, texts: list[str], rounds: int) -> None:
    if ours.query_engine.name != "onnxruntime":
        sys.exit(f"There is nothing to compare, torch embeds queries: {ours.query_engine.reason}.")
    for text in texts[:_WARM_UP]:
        torchs.embed_query(text), ours.embed_query(text)
    seconds: dict[str, list[float]] = {"torch": [], "onnxruntime": []}
    least = 1.0
    for turn in range(rounds * len(texts)):
        text, vectors = texts[turn % len(texts)], []
        order = [("torch", torchs), ("onnxruntime", ours)]
        for name, embedder in order if turn % 2 else reversed(order):
            started = time.perf_counter()
            vectors.append(embedder.embed_query(text))
            seconds[name].append(time.perf_counter() - started)
        one, other = vectors
        least = min(least, float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other))))
    print("| engine | p50, ms | p95, ms | p50 in parts of torch's | smallest cosine |")
    print("|---|---|---|---|---|")
    half = float(np.median(seconds["torch"]))
    for name, taken in seconds.items():
        p50, p95 = np.percentile(taken, [50, 95])
        cosine = "" if name == "torch" else f"{least:.7f}"
        print(f"| {name} | {p50 * 1000:.1f} | {p95 * 1000:.1f} | {p50 / half:.2f} | {cosine} |")


if __name__ == "__main__":
    main()
