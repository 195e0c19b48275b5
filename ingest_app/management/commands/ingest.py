"""`manage.py ingest`: files and folders into a collection, with a progress bar."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from collections_app.models import Collection
from collections_app.services import create_collection
from core_app.api import parse_json
from core_app.errors import RagsiteError
from core_app.wiring import app_settings
from ingest_app.models import Item
from ingest_app.selectors import JobReport
from ingest_app.submitting import Source, submit
from ingest_app.watching import watch


class Command(BaseCommand):
    help = "Index files and folders. Needs a running worker; Ctrl-C cancels the job."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="made when it does not exist")
        parser.add_argument("paths", nargs="+", type=Path, help="files, or folders with all files below them")
        parser.add_argument("--metadata", default="{}", help="a JSON object for every chunk of these files")

    def handle(self, *args: Any, collection: str, paths: list[Path], metadata: str, **options: Any) -> None:
        try:
            given = parse_json(metadata)
        except RagsiteError:
            given = None
        if not isinstance(given, dict):
            raise CommandError("--metadata must be a JSON object.")
        for path in paths:
            if not path.is_dir() and not path.is_file():
                raise CommandError(f"{path}: no such file or folder.")
        try:
            if not Collection.objects.filter(name=collection).exists():
                create_collection(name=collection)
            failed = sum(self._ingest(collection, batch) for batch in _batches(_sources(paths, given)))
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        if failed:
            raise CommandError(f"{failed} of the files could not be indexed.")

    def _ingest(self, collection: str, sources: list[Source]) -> int:
        found = watch(job=submit(collection_name=collection, sources=sources), label=collection)
        self._explain(found)
        return found.failed

    def _explain(self, found: JobReport) -> None:
        for item in found.items or ():
            if item.state == Item.State.FAILED:
                self.stderr.write(f"{item.source}: {item.error}")
        chunks = sum(item.chunks for item in found.items or ())
        self.stdout.write(
            f"{found.job.get_state_display()}: {found.done} indexed ({chunks} chunks), "
            f"{found.skipped} unchanged, {found.failed} failed"
        )


def _sources(paths: Iterable[Path], metadata: dict[str, Any]) -> Iterator[Source]:
    for path in paths:
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(path)))
            named = [(file, file.relative_to(path).as_posix()) for file in files]
        else:
            named = [(path, path.name)]
        for file, name in named:
            yield Source(name=name, content=file.read_bytes(), metadata=metadata)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _batches(sources: Iterable[Source]) -> Iterator[list[Source]]:
    """Jobs small enough to be held in memory: by number of files and by bytes."""
    section = app_settings().ingestion
    batch: list[Source] = []
    size = 0
    for source in sources:
        if batch and (len(batch) >= section.max_files or size + len(source.content) > section.max_request_bytes):
            yield batch
            batch, size = [], 0
        batch.append(source)
        size += len(source.content)
    if batch:
        yield batch
