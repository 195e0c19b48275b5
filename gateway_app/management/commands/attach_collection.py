"""`manage.py attach_collection`: search a collection of a connection as it is."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core_app.errors import RagsiteError
from core_app.wiring import embedder
from stores_app.attaching import attach_collection


class Command(BaseCommand):
    help = (
        "Make a collection here that stands for one of a connection: searched there, by meaning alone, never written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("service", help="the connection")
        parser.add_argument("name_there", help="the collection's name there")
        parser.add_argument("--as", dest="name", help="its name here; the same as there by default")
        parser.add_argument(
            "--same-model", action="store_true", help="the server's model made the vectors there, so text finds them"
        )

    def handle(
        self, *args: Any, service: str, name_there: str, name: str | None, same_model: bool, **options: Any
    ) -> None:
        model = embedder().model if same_model else None
        try:
            made = attach_collection(
                service=service, name_there=name_there, name=name or name_there, embedding_model=model
            )
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(f"Collection '{made.name}' stands for '{name_there}' of '{service}'.")
        if model is None:
            self.stdout.write("Only vectors find it: with --same-model, or a model set for it, text does, too.")
