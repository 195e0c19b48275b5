"""`manage.py forget_queries`: old queries go now, not by and by."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from core_app.errors import RagsiteError
from search_app.forgetting import count_before, forget, moment_before


class Command(BaseCommand):
    help = "Delete queries from the query log. Ctrl-C stops after the batch in hand; what is gone is gone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--older-than",
            type=int,
            metavar="DAYS",
            help="delete what was asked before so many days; 0 deletes all (default: Retention:QueryLogDays)",
        )

    def handle(self, *args: Any, older_than: int | None, **options: Any) -> None:
        try:
            before = moment_before(days=older_than)
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        gone = 0
        try:
            with tqdm(total=count_before(before=before), desc="forgetting", unit="query", file=self.stderr) as bar:
                for batch in forget(before=before):
                    gone += batch
                    bar.update(batch)
        except KeyboardInterrupt:
            raise CommandError(f"Stopped: {gone:,} queries were deleted. Run it again for the others.") from None
        self.stdout.write(f"Queries deleted: {gone:,}.")
