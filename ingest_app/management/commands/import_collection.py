"""`manage.py import_collection`: an exported collection, into a new or an existing one, however large."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core_app.errors import RagsiteError
from ingest_app.exchange_rows import Report
from ingest_app.exchange_target import Way
from ingest_app.importing import Watch, check_import, import_in_batches


class Command(BaseCommand):
    help = (
        "Import what `manage.py export` wrote. What the collection has already stays as it is. After Ctrl-C what was "
        "stored by then stays; run it again and it goes on from there."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the exported collection")
        parser.add_argument("name", help="the collection; made where there is none")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and write nothing")

    def handle(self, *args: Any, file: Path, name: str, dry_run: bool, **options: Any) -> None:
        try:
            with file.open("rb") as stream:
                if dry_run:
                    self._show(check_import(name=name, stream=stream, bounded=False))
                    return
                report = import_in_batches(name=name, stream=stream, watch=Watch(stored=self._progress))
        except RagsiteError as error:
            first = "".join(f"\n  {line}: {reasons[0]}" for line, reasons in (error.errors or {}).items())
            raise CommandError(error.detail + first) from None
        except OSError as error:
            raise CommandError(f"The file could not be read: {error.strerror}.") from None
        except KeyboardInterrupt:
            raise CommandError("Stopped. What was imported by then stays; run it again to go on.") from None
        self._show(report)

    def _progress(self, report: Report) -> None:
        self.stdout.write(f"Documents: {report.documents.total:,}, chunks: {report.chunks.total:,}")

    def _show(self, report: Report) -> None:
        for what, tally in (("Documents", report.documents), ("Chunks", report.chunks)):
            self.stdout.write(f"{what}: {tally.new:,} new, {tally.replaced:,} replaced, {tally.unchanged:,} unchanged.")
        self.stdout.write(f"Chunks that the file does not have, removed: {report.removed:,}.")
        how = "as they are in the file" if report.way is Way.STORED else "made by this server"
        self.stdout.write(f"Vectors: {how}; texts to embed: {report.embedded:,}.")
        if report.refused:
            self.stdout.write(f"Lines that cannot be stored: {report.refused:,}.")
            for one in report.refusals:
                self.stdout.write(f"  line {one.line}: {one.reason}")
