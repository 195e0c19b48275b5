"""`manage.py import_collection`: a collection from a file, a connection or a folder of BEIR, however large."""

from __future__ import annotations

import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core_app.errors import RagsiteError
from core_app.names import printable
from ingest_app import beir
from ingest_app.exchange_rows import Report
from ingest_app.exchange_target import Way
from ingest_app.fetch_jobs import SERVER, check_fetch, start_fetch
from ingest_app.importing import Watch, check_import, import_in_batches
from ingest_app.models import Job
from ingest_app.steering import cancel_job
from ingest_app.work import run_job

_BY = "command line"


class Command(BaseCommand):
    help = (
        "Import what `manage.py export` wrote (FILE NAME), a collection of a connection (NAME --from-service), or a "
        "folder of BEIR (NAME --beir). What is there already stays as it is. After Ctrl-C what was stored by then "
        "stays; run it again and it goes on from there."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "given", nargs="+", metavar="[FILE] NAME", help="the exported collection, if it is one, and the collection"
        )
        parser.add_argument("--from-service", metavar="CONNECTION", help="copy a collection that it leads to")
        parser.add_argument("--name-there", default="", help="the collection's name there, where it has another one")
        parser.add_argument("--model", default="", choices=["", SERVER], help="its vectors are of this server's model")
        parser.add_argument("--beir", metavar="FOLDER", type=Path, help="passages, and queries as test cases")
        parser.add_argument("--split", default="test", help="the judgements of the folder (default: test)")
        parser.add_argument("--queries", type=int, metavar="N", help="at most so many test cases")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and write nothing")

    def handle(self, *args: Any, given: list[str], dry_run: bool, **options: Any) -> None:
        service, folder = options["from_service"], options["beir"]
        if service and folder:
            raise CommandError("Import from a connection or from a folder, not from both.")
        if len(given) != (1 if service or folder else 2):
            raise CommandError("Name the file and the collection; with --from-service or --beir the collection alone.")
        try:
            if service:
                self._fetch(given[-1], service, options["name_there"], options["model"], dry_run=dry_run)
            elif folder:
                self._beir(given[-1], folder, options["split"], options["queries"], dry_run=dry_run)
            else:
                self._file(Path(given[0]), given[-1], dry_run=dry_run)
        except RagsiteError as error:
            first = "".join(f"\n  {line}: {reasons[0]}" for line, reasons in (error.errors or {}).items())
            raise CommandError(error.detail + first) from None
        except OSError as error:
            raise CommandError(f"The file could not be read: {error.strerror}.") from None
        except KeyboardInterrupt:
            raise CommandError("Stopped. What was imported by then stays; run it again to go on.") from None

    def _file(self, file: Path, name: str, *, dry_run: bool) -> None:
        with file.open("rb") as stream:
            self._import(stream, name, dry_run=dry_run)

    def _import(self, stream: Any, name: str, *, dry_run: bool) -> None:
        if dry_run:
            self._show(check_import(name=name, stream=stream, bounded=False))
        else:
            self._show(import_in_batches(name=name, stream=stream, watch=Watch(stored=self._progress)))

    def _beir(self, name: str, folder: Path, split: str, most: int | None, *, dry_run: bool) -> None:
        with tempfile.TemporaryFile() as stream:
            beir.write_lines(corpus=beir.corpus_of(folder), stream=stream)
            self._import(stream, name, dry_run=dry_run)
        if dry_run or not beir.has_queries(folder):
            return
        done = beir.Queries()
        for done in beir.import_queries(name=name, folder=folder, split=split, most=most, saved_by=_BY):
            if done.saved and done.saved % 100 == 0:
                self.stdout.write(f"Test cases: {done.saved:,}")
        self.stdout.write(f"Test cases saved: {done.saved:,}; not saved: {done.refused:,}; left out: {done.left:,}.")
        if done.reason:
            self.stdout.write(f"  The first that was not saved: {printable(done.reason)}")

    def _fetch(self, name: str, service: str, name_there: str, model: str, *, dry_run: bool) -> None:
        if dry_run:
            found = check_fetch(name=name, service=service, name_there=name_there, model=model)
            fetched = found.fetched
            self.stdout.write(f"Chunks there: {fetched.chunks:,}; that cannot be held here: {fetched.refused:,}.")
            self.stdout.write(f"Texts to embed: {fetched.embedded:,}.")
            self._refusals(fetched.refusals)
            return
        job = start_fetch(name=name, service=service, name_there=name_there, model=model)
        try:
            self._follow(job)
        except KeyboardInterrupt:
            cancel_job(job=job)
            raise
        if job.state != Job.State.SUCCEEDED:
            raise CommandError(job.error or "The import was cancelled. What was stored by then stays.")
        result = job.result or {}
        self.stdout.write(
            f"Chunks: {result['chunks']:,} there; {result['stored']:,} stored, {result['unchanged']:,} unchanged, "
            f"{result['refused']:,} that cannot be held here."
        )
        self._refusals(result["refusals"])

    def _follow(self, job: Job) -> None:
        """Work on the job where no worker does, and wait for its end."""
        step = ""
        while True:
            run_job(job_id=job.pk, stopping=lambda: False)
            job.refresh_from_db()
            if job.finished_at is not None:
                return
            if job.step != step:
                step = job.step
                self.stdout.write(step)
            time.sleep(0.5)

    def _refusals(self, refusals: list[dict[str, str]]) -> None:
        for one in refusals:
            self.stdout.write(f"  {printable(one['id'])}: {one['reason']}")

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
