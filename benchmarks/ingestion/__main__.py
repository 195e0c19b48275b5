"""`python -m benchmarks.ingestion FOLDER`: ingestion from bytes to searchable chunks, beside the embedder alone.

Every file below FOLDER that can be read is sent as one job; what cannot be read is part of it. Both run in this
process on a database of their own, in turn, so that a slower minute of the machine counts for both.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ragsite.runtime.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest_app.submitting import Source


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingestion", description=__doc__)
    parser.add_argument("folder", type=Path, help="files of any kind, e.g. office_files/good of the test data")
    parser.add_argument("--times", type=int, default=1, help="take each file so often, under other names")
    parser.add_argument("--rounds", type=int, default=3, help="measure so often (default: 3)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ragsite-ingestion-") as data:
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
            _run(options.folder, times=options.times, rounds=options.rounds)
        finally:
            server.stop()


def _run(folder: Path, *, times: int, rounds: int) -> None:
    import django
    from django.core.management import call_command

    django.setup()
    from core_app.wiring import embedder

    call_command("migrate", verbosity=0)
    sources = _sources(folder, times)
    embedder().embed_documents(["The model is loaded."])
    print("| round | files | chunks | embedder alone, chunks/s | ingestion, chunks/s | ratio |")
    print("|---|---|---|---|---|---|")
    for number in range(1, rounds + 1):
        ingested, contexts = _ingest(f"round {number}", sources)
        alone = _embed(contexts)
        model, whole = len(contexts) / alone, len(contexts) / ingested
        print(
            f"| {number} | {len(sources)} | {len(contexts)} | {model:.1f} | {whole:.1f} | {whole / model:.2f} |",
            flush=True,
        )


def _sources(folder: Path, times: int) -> list[Source]:
    from ingest_app.submitting import Source

    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        Source(name=f"{copy}/{path.relative_to(folder).as_posix()}", content=path.read_bytes())
        for copy in range(times)
        for path in files
    ]


def _ingest(name: str, sources: Sequence[Source]) -> tuple[float, list[str]]:
    """Seconds from the first byte read to the last chunk written, and the texts that were embedded for it."""
    from collections_app.context import contextual_text
    from collections_app.models import Chunk
    from collections_app.services import create_collection
    from ingest_app.submitting import submit
    from ingest_app.work import run_job

    create_collection(name=name)
    job = submit(collection_name=name, sources=sources, refuse_unsupported=False)
    started = time.perf_counter()
    run_job(job_id=job.pk, stopping=lambda: False)
    seconds = time.perf_counter() - started
    chunks = Chunk.objects.filter(collection__name=name).select_related("document").order_by("id")
    return seconds, [
        contextual_text(title=chunk.document.title, section=chunk.section_path, text=chunk.text)
        for chunk in chunks
        if chunk.document is not None
    ]


def _embed(texts: Sequence[str]) -> float:
    """Seconds that the model takes for the same texts in the batches it likes best: of similar length."""
    from core_app.wiring import app_settings, embedder

    size = app_settings().embedding.batch_size
    by_length = sorted(texts, key=len)
    started = time.perf_counter()
    for start in range(0, len(by_length), size):
        embedder().embed_documents(by_length[start : start + size])
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
