"""`manage.py filters`: the filters that a collection keeps by name, listed, saved, renamed, removed."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from collections_app.filters import delete_filter, list_filters, rename_filter, save_filter
from collections_app.previewing import FilterPreview, preview_filter
from core_app.errors import RagsiteError
from core_app.names import printable
from core_app.where import parse_where_text
from core_app.where.parsing import decode_where


class Command(BaseCommand):
    help = "List the filters that a collection keeps, save one by a name, rename or remove one, or try one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("collection")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--save", metavar="NAME", help="keep --where by this name; what had it is replaced")
        what.add_argument("--rename", nargs=2, metavar=("NAME", "NEW"), help="give one another name")
        what.add_argument("--remove", metavar="NAME", help="forget this one")
        what.add_argument("--try", dest="trial", action="store_true", help="say what --where lets through")
        parser.add_argument("--where", metavar="JSON", help='a filter, such as {"source": "guide.md"}')
        parser.add_argument("--description", help="with --save: what it is for")

    def handle(self, *args: Any, collection: str, **options: Any) -> None:
        if (options["where"] is not None) != (options["save"] is not None or options["trial"]):
            raise CommandError("--where belongs to --save or --try, and they need it.")
        if options["description"] is not None and options["save"] is None:
            raise CommandError("--description belongs to --save.")
        try:
            if options["save"] is not None:
                self._save(collection, options["save"], options["where"], options["description"])
            elif options["rename"] is not None:
                name, new_name = options["rename"]
                rename_filter(collection_name=collection, name=name, new_name=new_name)
                self.stdout.write("Renamed.")
            elif options["remove"] is not None:
                delete_filter(collection_name=collection, name=options["remove"])
                self.stdout.write("Removed.")
            elif options["trial"]:
                where = parse_where_text(options["where"])
                self._tell(preview_filter(collection_name=collection, where=where))
            else:
                self._list(collection)
        except RagsiteError as error:
            raise CommandError(printable(error.detail)) from None

    def _save(self, collection: str, name: str, text: str, description: str | None) -> None:
        where = decode_where(text)
        _, is_new = save_filter(collection_name=collection, name=name, where=where, description=description)
        self.stdout.write("Saved." if is_new else "Replaced.")

    def _list(self, collection: str) -> None:
        found = list_filters(collection_name=collection)
        for row in found:
            self.stdout.write(f"{printable(row.name)}  {printable(json.dumps(row.where, ensure_ascii=False))}")
            if row.description:
                self.stdout.write(f"    {printable(row.description)}")
        if not found:
            self.stdout.write("There are no filters.")

    def _tell(self, found: FilterPreview) -> None:
        self.stdout.write(printable(found.meaning))
        for one in found.missing:
            self.stdout.write(f"  {printable(one.sentence)}")
        if found.count is None:
            self.stdout.write("It takes too long to count what passes.")
        else:
            about, more = "about " if found.is_estimate else "", "+" if found.is_capped else ""
            self.stdout.write(f"Passages: {about}{found.count:,}{more}")
        for chunk in found.chunks:
            self.stdout.write(f"  {printable(chunk.id)}  {printable(' '.join(chunk.text.split())[:100])}")
