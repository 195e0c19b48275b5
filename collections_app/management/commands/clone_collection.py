"""`manage.py clone_collection`: a copy of a collection under another name."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from collections_app.cloning import MOST_CHUNKS, clone_collection
from core_app.errors import RagsiteError


class Command(BaseCommand):
    help = f"Copy a collection of at most {MOST_CHUNKS:,} chunks. Nothing is embedded again. All is copied or nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the collection")
        parser.add_argument("new_name", help="what the copy is called")

    def handle(self, *args: Any, name: str, new_name: str, **options: Any) -> None:
        try:
            made = clone_collection(name=name, new_name=new_name)
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(f"Collection '{made.collection.name}' has the same {made.count:,} chunks.")
