"""`manage.py connectors`: what collections are kept in step with, run and removed by hand."""

from __future__ import annotations

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from collections_app.selectors import get_collection
from core_app.errors import NotFound, RagsiteError
from core_app.names import printable
from ingest_app.comparing import Difference
from ingest_app.connectors import delete_connector, last_jobs, run_connector
from ingest_app.models import Connector, Job
from ingest_app.watching import Tally, watch


class Command(BaseCommand):
    help = "List connectors, run one now, or remove one. `manage.py sync COLLECTION ... --every TIME` makes them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", nargs="?", help="of this collection only")
        parser.add_argument("--run", metavar="ID", type=uuid.UUID, help="run this one now, and watch it")
        parser.add_argument("--dry-run", action="store_true", help="with --run: say what would be done")
        parser.add_argument("--remove", metavar="ID", type=uuid.UUID, help="forget this one; its documents stay")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["run"] is not None:
                self._run(_connector(options["run"]), dry_run=options["dry_run"])
            elif options["remove"] is not None:
                delete_connector(connector=_connector(options["remove"]))
                self.stdout.write("Removed. Its documents stay.")
            else:
                self._list(options["collection"])
        except RagsiteError as error:
            raise CommandError(error.detail) from None

    def _list(self, collection: str | None) -> None:
        found = Connector.objects.select_related("collection").order_by("collection__name", "created_at")
        if collection is not None:
            found = found.filter(collection=get_collection(name=collection))
        jobs = last_jobs(connectors=found)
        for connector in found:
            job = jobs.get(connector.pk)
            when = f"every {connector.every_seconds:,} s" if connector.every_seconds else "when asked"
            last = "never run" if job is None else f"{job.state} {job.created_at:%Y-%m-%d %H:%M} UTC"
            what = f"{connector.get_kind_display().lower()} {printable(str(connector))}"
            self.stdout.write(f"{connector.pk}  {printable(connector.collection.name)}  {what}  {when}  {last}")
            if job is not None and job.error:
                self.stdout.write(f"    {printable(job.error)}")
        if not found:
            self.stdout.write("There are no connectors.")

    def _run(self, connector: Connector, *, dry_run: bool) -> None:
        job = run_connector(connector=connector, dry_run=dry_run)
        found = watch(job=job, label=connector.collection.name)
        tally = Tally()
        tally.add(found)
        result = found.job.result or {}
        tally.unchanged += result.get("unchanged", 0)
        for line in tally.table():
            self.stderr.write(line)
        if found.job.state == Job.State.CANCELLED:
            raise CommandError("Cancelled before all was read.")
        if dry_run and not found.job.error:
            for kind, names in result["names"].items():
                for name in names if kind != Difference.UNCHANGED else ():
                    self.stdout.write(f"{kind}: {printable(name)}")
            counts = ", ".join(f"{result[kind]:,} {kind}" for kind in Difference)
            self.stdout.write(f"Found {counts}, {result['vanished']:,} gone. Nothing was changed.")
        elif not found.job.error:
            self.stdout.write(f"{tally.sentence()}, {result.get('removed', 0):,} removed")
        if found.job.error or tally.complaint:
            raise CommandError(printable(found.job.error) or tally.complaint)


def _connector(key: uuid.UUID) -> Connector:
    found = Connector.objects.select_related("collection").filter(pk=key).first()
    if found is None:
        raise NotFound(f"Connector '{key}' not found", code="connector_not_found")
    return found
