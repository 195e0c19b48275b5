"""`manage.py clone_collection`: a copy of a collection under another name, however large."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from collections_app.cloning import Along, clone_any
from core_app.errors import RagsiteError


class Command(BaseCommand):
    help = "Copy a collection. Nothing is embedded again. All is copied or nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the collection")
        parser.add_argument("new_name", help="what the copy is called")
        parser.add_argument("--without-filters", action="store_true", help="leave its kept filters out")
        parser.add_argument("--without-test-cases", action="store_true", help="leave its test cases out")

    def handle(
        self,
        *args: Any,
        name: str,
        new_name: str,
        without_filters: bool,
        without_test_cases: bool,
        **options: Any,
    ) -> None:
        along = Along(filters=not without_filters, test_cases=not without_test_cases)
        try:
            count = clone_any(name=name, new_name=new_name, along=along, told=self._progress)
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        except KeyboardInterrupt:
            raise CommandError("Stopped. Nothing is left of the copy.") from None
        self.stdout.write(f"Collection '{new_name}' has the same {count:,} chunks.")

    def _progress(self, copied: int) -> None:
        self.stdout.write(f"Chunks: {copied:,}")
