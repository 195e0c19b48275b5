"""`python -m benchmarks.latency`: how long words, meaning and whole searches take, beside what else could do the same.

Starts a database of its own, in a temporary folder unless `--data` names one, and for the part `http` a whole server
and chromadb's. bm25s, tantivy and chromadb are no part of Ragsite: docs/benchmarks.md says how to have them. What is
missing is left out.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.latency.plot import svg
from ragsite.runtime.postgres import EmbeddedPostgres

PARTS = ("words", "meaning", "service", "http")
#: Fewer chunks get no vector index.
LEAST = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000, help="chunks that are searched (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=200, help="queries of each kind (default: %(default)s)")
    parser.add_argument(
        "--embedded", type=int, default=1000, help="real vectors, to make others of (default: %(default)s)"
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="this part; may be given several times")
    parser.add_argument("--growth", type=_sizes, help="only how times grow, e.g. 20000,100000,300000")
    parser.add_argument("--plot", type=Path, help="write a picture of the growth to this file, as SVG")
    parser.add_argument("--data", type=Path, help="keep the database in this folder, and use what is there")
    parser.add_argument("--chroma", help="the chroma command of another environment, for the part http")
    parser.add_argument("--chroma-ef", type=int, help="chromadb's ef_search (default: its own, which finds less)")
    options = parser.parse_args()
    if min(options.growth or [options.chunks]) < LEAST:
        parser.error(f"use at least {LEAST:,} chunks: fewer have no vector index.")
    with _folder(options.data) as data:
        server = EmbeddedPostgres(Path(data))
        address = server.start()
        try:
            os.environ.update(_settings(address.url, data))
            _run(options)
        finally:
            server.stop()


@contextmanager
def _folder(kept: Path | None) -> Iterator[str]:
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="ragsite-latency-") as data:
            yield data
    else:
        kept.mkdir(parents=True, exist_ok=True)
        yield str(kept.resolve())


def _settings(url: str, data: str) -> dict[str, str]:
    """Every search embeds its query, and takes as long as it takes."""
    return {
        "DJANGO_SETTINGS_MODULE": "ragsite.settings",
        "ConnectionStrings__RagDatabase": url,
        "ConnectionStrings__Broker": "memory://",
        "VectorDatabase__PoolSize": "0",
        "Embedding__QueryCacheSize": "0",
        "Search__CutAtBudget": "false",
        "Telemetry__LogLevel": "ERROR",
        "RAGSITE_DATA": data,
    }


def _sizes(text: str) -> list[int]:
    return sorted({int(part) for part in text.split(",")})


def _run(options: argparse.Namespace) -> None:
    """Measure on the database that the environment names; each table is printed as soon as it is there."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from benchmarks.latency.loading import Material
    from core_app.wiring import embedder

    # As `serve` does: before that, queries are embedded by torch.
    embedder().warm_up()
    folder = os.environ.get("RAGSITE_TEST_DATA")
    material = Material.of(Path(folder) if folder else None, embedded=options.embedded)
    if options.growth:
        from benchmarks.latency import growth

        text, p95s = growth.measure(material, options.growth, queries=options.queries)
        _tell(text)
        if options.plot:
            options.plot.write_text(svg(options.growth, p95s), encoding="utf-8")
    else:
        _in_process(material, options)
        _over_http(material, options)


def _in_process(material: Any, options: argparse.Namespace) -> None:
    from benchmarks.latency import meaning, service, words
    from benchmarks.latency.loading import load

    parts = {"words": words.measure, "meaning": meaning.measure, "service": service.measure}
    wanted = [measure for name, measure in parts.items() if name in (options.only or PARTS)]
    if wanted:
        loaded = load(material, name="latency", count=options.chunks)
        for measure in wanted:
            _tell(measure(loaded, material.library, queries=options.queries))


def _over_http(material: Any, options: argparse.Namespace) -> None:
    from benchmarks.latency import over_http

    if "http" not in (options.only or PARTS):
        return
    for name in _settings("", ""):
        del os.environ[name]  # the server that is measured has a database of its own, and the settings as shipped
    if options.chroma is None:
        _tell("### Over HTTP\n\nLeft out: name the chroma command of an environment that has chromadb with --chroma.")
    else:
        _tell(
            over_http.measure(
                material,
                count=options.chunks,
                queries=options.queries,
                chroma=options.chroma,
                chroma_ef=options.chroma_ef,
            )
        )


def _tell(text: str) -> None:
    print(f"\n{text}", flush=True)


if __name__ == "__main__":
    main()
