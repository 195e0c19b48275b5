"""`python -m benchmarks.quality FOLDER`: prints nDCG@10, recall@10, recall@100 and MRR@10 of each way of searching.

Starts a database of its own in a temporary folder, so nothing of a running server is touched.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.quality import beir
from ragsite.runtime.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    from benchmarks.quality.measure import Measured


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("folder", type=Path, help="corpus.jsonl, queries.jsonl and qrels.tsv")
    parser.add_argument("--documents", type=int, help="only about so many documents, always the same ones")
    parser.add_argument("--json", type=Path, help="also write the scores to this file")
    options = parser.parse_args()
    judged = beir.load(options.folder)
    if options.documents:
        judged = judged.subset(options.documents)
    with tempfile.TemporaryDirectory(prefix="ragsite-quality-") as data:
        server = EmbeddedPostgres(Path(data))
        address = server.start()
        try:
            os.environ.update(
                DJANGO_SETTINGS_MODULE="ragsite.settings",
                ConnectionStrings__RagDatabase=address.url,
                ConnectionStrings__Broker="memory://",
                Telemetry__LogLevel="ERROR",
                RAGSITE_DATA=data,
            )
            measured = run(judged)
        finally:
            server.stop()
    if options.json:
        options.json.write_text(json.dumps(asdict(measured), indent=2) + "\n", encoding="utf-8")


def run(judged: beir.JudgedSet) -> Measured:
    """Measure on the database that the environment names, and print the table."""
    import django
    from django.core.management import call_command

    django.setup()
    from benchmarks.quality.measure import measure

    call_command("migrate", verbosity=0)
    measured = measure(judged, collection="benchmark")
    print(f"\n{judged.name}: {measured.documents} documents, {measured.queries} queries\n")
    print("| way | nDCG@10 | recall@10 | recall@100 | MRR@10 |")
    print("|---|---|---|---|---|")
    for way, s in measured.scores.items():
        print(f"| {way} | {s.ndcg_at_10:.4f} | {s.recall_at_10:.4f} | {s.recall_at_100:.4f} | {s.mrr_at_10:.4f} |")
    return measured


if __name__ == "__main__":
    main()
