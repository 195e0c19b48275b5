"""`manage.py sync`: a collection brought in step with a folder, a git repository or a list of URLs."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from collections_app.models import Collection
from collections_app.selectors import get_collection
from core_app.errors import NotFound, RagsiteError
from core_app.names import printable
from ingest_app.comparing import Compared, Comparison, Difference, remove_vanished
from ingest_app.connectors import NewConnector, create_connector
from ingest_app.management.commands.ingest import ensure_collection, metadata_from
from ingest_app.models import Connector
from ingest_app.places import Place, opened
from ingest_app.submitting import Source
from ingest_app.watching import index_all

#: Names listed of each kind in a dry run.
LISTED = 50
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}
#: What a dry run calls the files of each kind, in the order in which it lists them.
_LISTED_AS = {
    Difference.NEW: "new",
    Difference.CHANGED: "changed",
    Difference.ADOPTED: "takes the place of a document that came another way",
    Difference.ARCHIVE: "archive to look into",
    Difference.REFUSED: "unreadable",
}


class Command(BaseCommand):
    help = (
        "Bring a collection in step with a folder, a git repository or a list of URLs: what is new or changed is "
        "indexed, what is unchanged skipped by its hash. Needs a running worker; Ctrl-C cancels."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="made when it does not exist")
        parser.add_argument("folder", nargs="?", type=Path, help="all below it but hidden files; comes right after")
        parser.add_argument("--git", metavar="URL", help="a repository instead, cloned over http or https")
        parser.add_argument("--branch", default="", help="of the repository; without it, its own default")
        parser.add_argument("--urls", metavar="FILE", type=Path, help="a file with one URL a line instead")
        parser.add_argument("--prefix", help="put before the names of the files; a repository's is its name")
        parser.add_argument("--delete", action="store_true", help="remove what came from there and is gone from it")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")
        parser.add_argument("--metadata", default="{}", help="a JSON object for every chunk of these files")
        parser.add_argument("--language", help="of the words, where the collection is made now: such as german, simple")
        parser.add_argument(
            "--every",
            metavar="TIME",
            type=_time,
            help="such as 30m, 6h or 1d: a connector, which the server runs now and so often from now on",
        )

    def handle(self, *args: Any, collection: str, delete: bool, dry_run: bool, metadata: str, **options: Any) -> None:
        language: str | None = options["language"]
        new = _wanted(options, metadata=metadata_from(metadata), delete=delete)
        try:
            if options["every"] is not None:
                if dry_run:
                    raise CommandError("--every and --dry-run do not go together.")
                self._schedule(ensure_collection(collection, language=language), new)
                return
            place = _place(new, options["urls"])
            if dry_run:
                self._announce(place, _found(collection), new)
            else:
                self._bring_in_step(place, collection, new, language)
        except RagsiteError as error:
            raise CommandError(error.detail) from None

    def _schedule(self, into: Collection, new: NewConnector) -> None:
        connector = create_connector(collection_name=into.name, new=new)
        self.stdout.write(
            f"Connector {connector.pk} of '{into.name}' is made. The server begins in a few seconds; "
            "`manage.py connectors` shows what came of it."
        )

    def _bring_in_step(self, place: Place, name: str, new: NewConnector, language: str | None) -> None:
        unchanged: list[str] = []
        refused: list[tuple[str, str, str]] = []

        def sources(files: Iterator[Compared]) -> Iterator[Source]:
            for file in files:
                if file.difference == Difference.UNCHANGED:
                    unchanged.append(file.name)
                elif file.problem is not None:
                    refused.append((file.name, file.problem.code, file.problem.detail))
                else:
                    yield Source(name=file.name, content=file.content, metadata=new.metadata, origin=place.origin)

        with opened(place, check=lambda: None) as source:
            # Not before: a place that cannot be read leaves no collection behind.
            into = ensure_collection(name, language=language)
            comparison = Comparison(collection=into, origin=place.origin, metadata=new.metadata)
            tally = index_all(collection=into.name, sources=sources(comparison.files(source.files)), label=into.name)
        tally.unchanged += len(unchanged)
        tally.failures += refused
        vanished = [] if tally.cancelled else comparison.vanished(tally.outcomes)
        removed = remove_vanished(collection=into, sources=vanished, origin=place.origin) if new.remove_vanished else 0
        for line in tally.table():
            self.stderr.write(line)
        self.stdout.write(f"{tally.sentence()}, {_of_vanished(len(vanished), removed, delete=new.remove_vanished)}")
        if tally.complaint:
            raise CommandError(tally.complaint)

    def _announce(self, place: Place, collection: Collection | None, new: NewConnector) -> None:
        comparison = Comparison(collection=collection, origin=place.origin, metadata=new.metadata)
        names: defaultdict[Difference, list[str]] = defaultdict(list)
        with opened(place, check=lambda: None) as source:
            for file in comparison.files(source.files):
                names[file.difference].append(file.name)
        for difference, called in _LISTED_AS.items():
            self._list(called, names[difference])
        vanished = comparison.vanished()
        self._list("to remove" if new.remove_vanished else "gone, kept", vanished)
        self.stdout.write(
            f"Would index {len(names[Difference.NEW]) + len(names[Difference.ADOPTED]):,} new and "
            f"{len(names[Difference.CHANGED]):,} changed files, "
            f"look into {len(names[Difference.ARCHIVE]):,} archives, leave {len(names[Difference.UNCHANGED]):,} "
            f"unchanged and remove {len(vanished) if new.remove_vanished else 0:,}. Nothing was changed."
        )

    def _list(self, what: str, names: Sequence[str]) -> None:
        for name in names[:LISTED]:
            self.stdout.write(f"{what}: {printable(name)}")
        if len(names) > LISTED:
            self.stdout.write(f"{what}: and {len(names) - LISTED:,} more")


def _wanted(options: Mapping[str, Any], *, metadata: Mapping[str, Any], delete: bool) -> NewConnector:
    folder, repository, urls = options["folder"], options["git"], options["urls"]
    if sum(given is not None for given in (folder, repository, urls)) != 1:
        raise CommandError("Name a folder, or --git URL, or --urls FILE.")
    if options["branch"] and repository is None:
        raise CommandError("--branch goes with --git.")
    kind = Connector.Kind.URLS if urls is not None else Connector.Kind.GIT if repository else Connector.Kind.FOLDER
    if folder is not None and not folder.is_dir():
        raise CommandError(f"{printable(str(folder))}: no such folder.")
    return NewConnector(
        kind=kind,
        location=str(folder.resolve()) if folder is not None else repository or "",
        branch=options["branch"],
        urls=_lines(urls) if urls is not None else (),
        prefix=options["prefix"],
        metadata=metadata,
        remove_vanished=delete,
        every_seconds=options["every"],
    )


def _place(new: NewConnector, list_file: Path | None) -> Place:
    """A list is known by its file, so that it may change from one time to the next."""
    location = f"{list_file.resolve().as_posix()}" if list_file is not None else new.location
    place = Place(kind=new.kind, location=location, branch=new.branch, urls=new.urls, prefix=new.file_prefix)
    return place.settled()


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise CommandError(f"{printable(str(path))}: cannot be read as text.") from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _time(text: str) -> int:
    found = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if found is None:
        raise ArgumentTypeError("write a time such as 30m, 6h or 1d")
    return int(found[1]) * _SECONDS[found[2]]


def _found(name: str) -> Collection | None:
    try:
        return get_collection(name=name)
    except NotFound:
        return None


def _of_vanished(vanished: int, removed: int, *, delete: bool) -> str:
    if delete or not vanished:
        return f"{removed:,} removed"
    return f"{vanished:,} gone and kept (--delete removes them)"
