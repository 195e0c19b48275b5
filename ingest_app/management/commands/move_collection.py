"""`manage.py move-collection`: have a collection searched by another system, or here again."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core_app.errors import RagsiteError
from ingest_app.models import Job
from ingest_app.move_jobs import HERE, start_move
from ingest_app.services import TAKE_OVER_SECONDS, attend
from ingest_app.steering import cancel_job
from ingest_app.watching import watch


class Command(BaseCommand):
    help = (
        "Have a collection searched by the system of a connection; everything of it stays here, too. "
        "Searches and writes go on meanwhile. Ctrl-C cancels."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the collection")
        parser.add_argument("--to", required=True, help=f"the connection; '{HERE}' brings it back")
        parser.add_argument("--as", dest="name_there", default="", help="its name there; its own by default")

    def handle(self, *args: Any, name: str, to: str, name_there: str, **options: Any) -> None:
        try:
            job = start_move(name=name, service=to, name_there=name_there)
            try:
                # Without a worker it is done here.
                job = attend(job=job, seconds=TAKE_OVER_SECONDS)
            except KeyboardInterrupt:
                job = cancel_job(job=job)
            ended = watch(job=job, label=name, unit="chunk").job
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        if ended.state == Job.State.CANCELLED:
            raise CommandError("Cancelled: the collection is searched where it was.")
        if ended.state == Job.State.FAILED:
            raise CommandError(ended.error)
        result = ended.result or {}
        if to == HERE:
            self.stdout.write(f"Collection '{name}' is searched here.")
            return
        self.stdout.write(f"Collection '{name}' is searched at '{to}' as '{result['name_there']}'.")
        self.stdout.write(f"Chunks compared: {result['chunks']:,}. Checksum: {result['checksum']}.")
