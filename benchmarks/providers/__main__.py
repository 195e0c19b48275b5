"""`python -m benchmarks.providers`: the same chunks through each provider, beside the client it is made of.

Starts a database of its own, a second Ragsite, a Chroma server and Milvus Lite's, each in a temporary folder. Providers
whose client is not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from benchmarks.storage import servers
from ragsite.runtime.postgres import EmbeddedPostgres


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.providers", description=__doc__)
    parser.add_argument("--chunks", type=int, default=20_000, help="chunks that are searched (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=200, help="queries (default: %(default)s)")
    parser.add_argument("--embedded", type=int, default=1000, help="real vectors, to make others of")
    parser.add_argument("--only", action="append", help="this provider; may be given several times")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-providers-")))
        postgres = EmbeddedPostgres(folder / "postgres")
        address = postgres.start()
        stack.callback(postgres.stop)
        # Before Django's settings are read: they belong to this process alone.
        far = stack.enter_context(servers.ragsite(folder / "far"))
        chroma = Path(sys.executable).with_name("chroma")
        chroma_at = stack.enter_context(servers.chroma(str(chroma), folder / "chroma")) if chroma.exists() else ""
        milvus_at = stack.enter_context(servers.milvus_lite(folder / "milvus")) if find_spec("milvus_lite") else ""
        os.environ.update(_settings(address.url, str(folder / "data")))
        _run(options, far, chroma_at, milvus_at)


def _settings(url: str, data: str) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "ragsite.settings",
        "ConnectionStrings__RagDatabase": url,
        "ConnectionStrings__Broker": "memory://",
        "VectorDatabase__PoolSize": "0",
        "Telemetry__LogLevel": "ERROR",
        "RAGSITE_DATA": data,
    }


def _run(options: argparse.Namespace, far: str, chroma_at: str, milvus_at: str) -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    from benchmarks.latency.loading import Material
    from benchmarks.providers.measuring import corpus_of, measure, table
    from benchmarks.providers.pairs import pairs

    test_data = os.environ.get("RAGSITE_TEST_DATA")
    material = Material.of(Path(test_data) if test_data else None, embedded=options.embedded)
    corpus = corpus_of(material, count=options.chunks, queries=options.queries)
    rows = []
    for pair in pairs(far=far, chroma=chroma_at, milvus=milvus_at):
        if options.only and pair.name not in options.only:
            continue
        print(f"{pair.name} ...", file=sys.stderr, flush=True)
        rows.append(measure(pair, corpus))
    print(table(rows))


if __name__ == "__main__":
    main()
