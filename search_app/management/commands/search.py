"""`manage.py search`: the same search as over HTTP, on the command line."""

from __future__ import annotations

import logging
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core_app.errors import RagsiteError
from core_app.names import printable
from search_app.asking import DEFAULT_LIMIT
from search_app.results import Hit
from search_app.services import search


class Command(BaseCommand):
    help = "Search a collection and print the passages with their scores."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection")
        parser.add_argument("query")
        parser.add_argument("--top-k", type=int, default=DEFAULT_LIMIT, help="most passages (default: %(default)s)")
        parser.add_argument("--min-score", type=float, help="least similarity, 0 to 1")

    def handle(
        self, *args: Any, collection: str, query: str, top_k: int, min_score: float | None, **options: Any
    ) -> None:
        # What a server logs of each search is in the way of its answer here.
        logging.disable(logging.INFO)
        try:
            found = search(
                collection_name=collection, query=query, top_k=top_k, min_score=min_score, asked_by="command line"
            )
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        finally:
            logging.disable(logging.NOTSET)
        for warning in found.warnings:
            self.stderr.write(f"warning: {warning.detail}")
        for rank, hit in enumerate(found.hits, start=1):
            self._print(rank, hit)
        passages = "1 passage" if len(found.hits) == 1 else f"{len(found.hits)} passages"
        self.stdout.write(f"{passages} in {found.took_ms:.0f} ms")

    def _print(self, rank: int, hit: Hit) -> None:
        place = [str(hit.metadata["source"])]
        if hit.metadata["page_number"] is not None:
            place.append(f"page {hit.metadata['page_number']}")
        if hit.metadata["section"]:
            place.append(hit.metadata["section"])
        self.stdout.write(f"{rank}. {hit.score:.3f}  {printable(', '.join(place))}")
        self.stdout.write("   " + printable(" ".join((hit.matched or hit.content).split())[:300]) + "\n")
