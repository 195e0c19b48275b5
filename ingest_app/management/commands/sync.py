"""`manage.py sync`: a collection brought in step with a folder."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from collections_app.models import Collection
from collections_app.selectors import get_collection
from core_app.errors import NotFound, RagsiteError
from ingest_app.management.commands.ingest import ensure_collection, metadata_from
from ingest_app.syncing import SyncPlan, plan_sync, remove_vanished, sources_of
from ingest_app.watching import index_all

#: Names listed of each kind in a dry run.
LISTED = 50


class Command(BaseCommand):
    help = (
        "Bring a collection in step with a folder: new and changed files are indexed, unchanged ones skipped by their "
        "hash. Needs a running worker; Ctrl-C cancels."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="made when it does not exist")
        parser.add_argument("folder", type=Path, help="all files below it; hidden ones are left out")
        parser.add_argument(
            "--delete", action="store_true", help="remove what came from this folder and is gone from it"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")
        parser.add_argument("--metadata", default="{}", help="a JSON object for every chunk of these files")

    def handle(
        self, *args: Any, collection: str, folder: Path, delete: bool, dry_run: bool, metadata: str, **options: Any
    ) -> None:
        given = metadata_from(metadata)
        if not folder.is_dir():
            raise CommandError(f"{folder}: no such folder.")
        try:
            if dry_run:
                self._announce(plan_sync(collection=_found(collection), folder=folder, metadata=given), delete=delete)
                return
            into = ensure_collection(collection)
            plan = plan_sync(collection=into, folder=folder, metadata=given)
            self._bring_in_step(into, plan, given, delete=delete)
        except RagsiteError as error:
            raise CommandError(error.detail) from None

    def _bring_in_step(self, into: Collection, plan: SyncPlan, metadata: Mapping[str, Any], *, delete: bool) -> None:
        sources = sources_of(plan.to_send, origin=plan.origin, metadata=metadata)
        tally = index_all(collection=into.name, sources=sources, label=into.name)
        tally.unchanged += plan.unchanged
        tally.failures += [(name, "unreadable", sentence) for name, sentence in plan.unreadable]
        removed = 0
        if delete and not tally.cancelled:
            removed = remove_vanished(collection=into, sources=plan.vanished, origin=plan.origin)
        for line in tally.table():
            self.stderr.write(line)
        self.stdout.write(f"{tally.sentence()}, {_of_vanished(plan, removed, delete=delete)}")
        if tally.complaint:
            raise CommandError(tally.complaint)

    def _announce(self, plan: SyncPlan, *, delete: bool) -> None:
        self._list("new", [file.name for file in plan.new])
        self._list("changed", [file.name for file in plan.changed])
        self._list("archive to look into", [file.name for file in plan.archives])
        self._list("unreadable", [name for name, _ in plan.unreadable])
        self._list("to remove" if delete else "gone from the folder, kept", plan.vanished)
        self.stdout.write(
            f"Would index {len(plan.new):,} new and {len(plan.changed):,} changed files, look into "
            f"{len(plan.archives):,} archives, leave {plan.unchanged:,} unchanged and remove "
            f"{len(plan.vanished) if delete else 0:,}. Nothing was changed."
        )

    def _list(self, what: str, names: Sequence[str]) -> None:
        for name in names[:LISTED]:
            self.stdout.write(f"{what}: {name}")
        if len(names) > LISTED:
            self.stdout.write(f"{what}: and {len(names) - LISTED:,} more")


def _found(name: str) -> Collection | None:
    try:
        return get_collection(name=name)
    except NotFound:
        return None


def _of_vanished(plan: SyncPlan, removed: int, *, delete: bool) -> str:
    if delete or not plan.vanished:
        return f"{removed:,} removed"
    return f"{len(plan.vanished):,} gone from the folder and kept (--delete removes them)"
