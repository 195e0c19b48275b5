"""`manage.py empty_collection`: everything in a collection goes, the collection stays."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core_app.errors import RagsiteError
from ingest_app.models import Job
from ingest_app.services import TAKE_OVER_SECONDS, attend, preview_emptying, start_emptying
from ingest_app.steering import cancel_job
from ingest_app.watching import watch


class Command(BaseCommand):
    help = "Delete all documents of a collection; its metadata and settings stay. Ctrl-C cancels what has not begun."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the collection")
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and delete nothing")
        parser.add_argument("--yes", action="store_true", help="do not ask for the name again")

    def handle(self, *args: Any, name: str, dry_run: bool, yes: bool, **options: Any) -> None:
        try:
            found = preview_emptying(name=name)
            what = f"{found.chunks:,} chunks and {found.documents:,} documents"
            if dry_run:
                self.stdout.write(f"Would delete {what}.")
                return
            if not yes:
                self._confirm(name, what)
            self._empty(name)
        except RagsiteError as error:
            raise CommandError(error.detail) from None

    def _confirm(self, name: str, what: str) -> None:
        self.stdout.write(f"This deletes {what} of '{name}'. It cannot be undone.")
        try:
            typed = input("Type the collection's name to go on: ")
        except (EOFError, KeyboardInterrupt):
            typed = ""
        if typed != name:
            raise CommandError("This is not the collection's name. Nothing was deleted.")

    def _empty(self, name: str) -> None:
        job = start_emptying(name=name)
        try:
            # Without a worker it is done here.
            job = attend(job=job, seconds=TAKE_OVER_SECONDS)
        except KeyboardInterrupt:
            # Whoever holds the job, this command perhaps, its transaction is taken back as a whole.
            job = cancel_job(job=job)
        ended = watch(job=job, label=name, unit="chunk").job
        if ended.state == Job.State.CANCELLED:
            raise CommandError("Cancelled: nothing was deleted.")
        if ended.state == Job.State.FAILED:
            raise CommandError(ended.error)
        deleted = (ended.result or {})["count_deleted"]
        self.stdout.write(f"Chunks deleted: {deleted:,}.")
