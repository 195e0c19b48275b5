"""`manage.py export`: a collection as lines of JSON, to a file or to standard output."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from collections_app.exporting import export_collection
from core_app.errors import RagsiteError
from ingest_app.beir import write_folder


class Command(BaseCommand):
    help = "Write a collection out as lines of JSON: its settings, documents and chunks, with their vectors."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the collection")
        parser.add_argument("--output", metavar="FILE", type=Path, help="write there, not to standard output")
        parser.add_argument("--beir", metavar="FOLDER", type=Path, help="write passages, queries and judgements there")
        parser.add_argument("--split", default="test", help="what the judgements in it are called (default: test)")
        parser.add_argument("--no-vectors", action="store_true", help="leave them out: whoever imports it embeds anew")

    def handle(self, *args: Any, name: str, output: Path | None, no_vectors: bool, **options: Any) -> None:
        try:
            if options["beir"] is not None:
                self._beir(name, options["beir"], options["split"])
                return
            lines = export_collection(name=name, vectors=not no_vectors)
            if output is None:
                for some in lines:
                    sys.stdout.buffer.write(some)
                sys.stdout.buffer.flush()
            else:
                with output.open("wb") as file:
                    file.writelines(lines)
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        except OSError as error:
            raise CommandError(f"It could not be written: {error.strerror}.") from None
        if output is not None:
            self.stdout.write(f"Collection '{name}' was exported.")

    def _beir(self, name: str, folder: Path, split: str) -> None:
        done = write_folder(name=name, folder=folder, split=split)
        self.stdout.write(
            f"Passages written: {done.passages:,}; queries: {done.queries:,}; judgements: {done.judgements:,}."
        )
