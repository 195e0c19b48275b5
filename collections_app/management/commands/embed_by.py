"""`manage.py embed_by`: the connection that embeds a collection."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from collections_app.embedding import choose_embedding, embedding_choice
from core_app.errors import RagsiteError


class Command(BaseCommand):
    help = "Show what embeds a collection, or have a connection embed it; 'built-in' is the server's own model."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection", help="the collection")
        parser.add_argument("connection", nargs="?", help="a connection that embeds; without one it is only shown")

    def handle(self, *args: Any, collection: str, connection: str | None, **options: Any) -> None:
        try:
            if connection is None:
                choice = embedding_choice(name=collection)
            else:
                choice = choose_embedding(name=collection, connection=connection)
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(f"Embedded by '{choice.connection}' with '{choice.model or 'no model'}'.")
        if choice.reason:
            self.stdout.write(choice.reason)
