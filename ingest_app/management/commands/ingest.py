"""`manage.py ingest`: files and folders into a collection, with a progress bar and a table of what failed."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from collections_app.models import Collection
from collections_app.selectors import get_collection
from collections_app.services import create_collection
from core_app.api import parse_json
from core_app.errors import Conflict, NotFound, RagsiteError
from core_app.names import printable
from core_app.wiring import app_settings
from ingest_app.origins.folders import file_at, files_below
from ingest_app.origins.found import FoundFile, Unreadable
from ingest_app.submitting import Source
from ingest_app.watching import index_all


class Command(BaseCommand):
    help = "Index files and folders. Needs a running worker; Ctrl-C cancels the job."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="made when it does not exist")
        parser.add_argument("paths", nargs="+", type=Path, help="files, or folders with all files below them")
        parser.add_argument("--metadata", default="{}", help="a JSON object for every chunk of these files")
        parser.add_argument("--language", help="of the words, where the collection is made now: such as german, simple")

    def handle(
        self, *args: Any, collection: str, paths: list[Path], metadata: str, language: str | None, **options: Any
    ) -> None:
        given = metadata_from(metadata)
        for path in paths:
            if not path.is_dir() and not path.is_file():
                raise CommandError(f"{printable(str(path))}: no such file or folder.")
        try:
            ensure_collection(collection, language=language)
            refused: list[tuple[str, str, str]] = []
            tally = index_all(collection=collection, sources=_sources(paths, given, refused), label=collection)
            tally.failures += refused
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        for line in tally.table():
            self.stderr.write(line)
        self.stdout.write(tally.sentence())
        if tally.complaint:
            raise CommandError(tally.complaint)


def metadata_from(text: str) -> Mapping[str, Any]:
    """The value of `--metadata`. Raises CommandError unless it is a JSON object."""
    try:
        given = parse_json(text)
    except RagsiteError:
        given = None
    if not isinstance(given, dict):
        raise CommandError("--metadata must be a JSON object.")
    return given


def ensure_collection(name: str, *, language: str | None = None) -> Collection:
    """The collection of this name or alias, made where there is none.

    Raises RagsiteError for a bad name or language, and Conflict where it is there in another language.
    """
    try:
        found = get_collection(name=name)
    except NotFound:
        return create_collection(name=name, language=language or "english")
    if language not in (None, found.language):
        raise Conflict(
            f"The words of collection '{found.name}' are in {found.language}. Change that in the console, or leave out "
            "--language.",
            code="language_mismatch",
        )
    return found


def _sources(
    paths: Iterable[Path], metadata: Mapping[str, Any], refused: list[tuple[str, str, str]]
) -> Iterator[Source]:
    for file in _files(paths):
        try:
            content = file.read()
        except Unreadable as error:
            refused.append((file.name, error.code, error.detail))
        else:
            yield Source(name=file.name, content=content, metadata=metadata)


def _files(paths: Iterable[Path]) -> Iterator[FoundFile]:
    largest = app_settings().ingestion.max_file_bytes
    for path in paths:
        if path.is_dir():
            yield from files_below(path.resolve(), max_bytes=largest)
        else:
            yield file_at(path, name=path.name, max_bytes=largest)
