"""`python -m benchmarks.console`: the lists of chunks and documents over rows that the database makes up.

Starts a database of its own, in a temporary folder unless `--data` names one. Each page is asked for through Django as
a browser would, but for the network: first once, then as often as `--times` says.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ragsite.runtime.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    from django.test import Client


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=__doc__)
    parser.add_argument("--chunks", type=int, default=1_000_000, help="chunks to make up (default: %(default)s)")
    parser.add_argument("--times", type=int, default=10, help="how often each page is asked for (default: %(default)s)")
    parser.add_argument("--data", type=Path, help="keep the database in this folder, and use what is there")
    options = parser.parse_args()
    with _folder(options.data) as data:
        server = EmbeddedPostgres(Path(data))
        address = server.start()
        try:
            os.environ.update(_settings(address.url, data))
            _run(chunks=options.chunks, times=options.times)
        finally:
            server.stop()


@contextmanager
def _folder(kept: Path | None) -> Iterator[str]:
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="ragsite-console-") as data:
            yield data
    else:
        kept.mkdir(parents=True, exist_ok=True)
        yield str(kept.resolve())


def _settings(url: str, data: str) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "ragsite.settings",
        "ConnectionStrings__RagDatabase": url,
        "ConnectionStrings__Broker": "memory://",
        "VectorDatabase__PoolSize": "0",
        "Telemetry__LogLevel": "ERROR",
        "RAGSITE_DATA": data,
    }


def _run(*, chunks: int, times: int) -> None:
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client

    from access_app.models import User

    settings.ALLOWED_HOSTS = ["*"]
    call_command("migrate", verbosity=0)
    _fill(chunks // 10)
    user, _ = User.objects.get_or_create(username="benchmark", is_staff=True, is_superuser=True)
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(user)
    print(f"{'page':<58} {'queries':>7} {'first':>9} {'median':>9} {'slowest':>9}")
    for name, path in _pages():
        _measure(client, name, path, times)


def _fill(documents: int) -> None:
    """Nothing where the database of an earlier run is used."""
    from django.db import connection

    from collections_app.models import Chunk

    if Chunk.objects.exists():
        return
    began = time.perf_counter()
    with connection.cursor() as cursor:
        for part in Path(__file__).with_name("fill.sql").read_text(encoding="utf-8").split(";\n"):
            if part.strip():
                cursor.execute(part, {"documents": documents})
        cursor.execute("VACUUM ANALYZE")
    print(f"{documents * 10:,} chunks made up in {time.perf_counter() - began:.0f} s\n")


def _pages() -> list[tuple[str, str]]:
    from collections_app.models import Chunk, Collection, Document

    large, small = Collection.objects.order_by("name")
    last = Chunk.objects.order_by("-pk").values_list("pk", flat=True)[0]
    first = Chunk.objects.order_by("pk").values_list("pk", flat=True)[0]
    document = Document.objects.order_by("pk")[Document.objects.count() // 2]
    chunk, documents = "/admin/collections/chunk/", "/admin/collections/document/"
    within = f"?collection__id__exact={large.pk}"
    return [
        ("chunks, newest", chunk),
        ("chunks, from the middle", f"{chunk}?after={(first + last) // 2}"),
        ("chunks, the last page", f"{chunk}?after={first + 60}"),
        ("chunks, back from the last page", f"{chunk}?before={first + 60}"),
        ("chunks of the large collection, from the middle", f"{chunk}{within}&after={(first + last) // 2}"),
        ("chunks of the small collection", f"{chunk}?collection__id__exact={small.pk}"),
        ("chunks that are disabled", f"{chunk}?marked=disabled"),
        ("chunks that are edited, of a collection", f"{chunk}{within}&marked=edited"),
        ("filter: ten of them", f'{chunk}{within}&where={{"rare": 7}}'),
        ("filter: none", f'{chunk}{within}&where={{"rare": -7}}'),
        ("filter: a tenth", f'{chunk}{within}&where={{"kind": "common"}}'),
        ("filter: a tenth, from the middle", f'{chunk}{within}&where={{"kind": "common"}}&after={(first + last) // 2}'),
        ("filter: one document by its source", f'{chunk}?where={{"source": "{document.source}"}}'),
        ("filter: a range, few", f'{chunk}{within}&where={{"rare": {{"$lt": 3}}}}'),
        (
            "filter: a word in the text, few",
            f'{chunk}{within}&where={{"%23document": {{"$contains": "document {document.pk}."}}}}',
        ),
        ("chunks of a document", f"{chunk}?document__id__exact={document.pk}"),
        ("one chunk", f"{chunk}{last}/change/"),
        ("documents, newest", documents),
        ("documents, from the middle", f"{documents}?after={document.pk}"),
        ("documents of the small collection", f"{documents}?collection__id__exact={small.pk}"),
        ("documents that failed", f"{documents}?outcome=failed"),
        ("documents by a part of the source, found late", f"{documents}?q=/{document.pk}.m"),
        ("documents by a part of the source, none", f"{documents}{within}&q=nowhere"),
        ("one document", f"{documents}{document.pk}/change/"),
    ]


def _measure(client: Client, name: str, path: str, times: int) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    took = []
    queries = 0
    for _ in range(1 + times):
        with CaptureQueriesContext(connection) as captured:
            began = time.perf_counter()
            answer = client.get(path)
            took.append((time.perf_counter() - began) * 1000)
        queries = len(captured)
        if answer.status_code != 200:
            raise SystemExit(f"{path}: {answer.status_code}")
        if b'role="alert"' in answer.content:
            name = f"{name} (refused)"
            break
    rest = took[1:] or took
    print(
        f"{name:<58} {queries:>7} {took[0]:>6.0f} ms {statistics.median(rest):>6.0f} ms {max(rest):>6.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
