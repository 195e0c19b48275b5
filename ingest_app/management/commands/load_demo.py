"""`manage.py load_demo`: the project's own documentation as a first collection to search."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from collections_app.models import Collection
from collections_app.services import create_collection
from ingest_app.submitting import Source, submit
from ingest_app.watching import watch

DEMO_COLLECTION = "demo"


class Command(BaseCommand):
    help = "Load the demo collection from the project's own documentation; a second run does nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        if Collection.objects.filter(name=DEMO_COLLECTION).exists():
            return
        folder = settings.BASE_DIR / "docs"
        files = [settings.BASE_DIR / "README.md", *sorted(folder.rglob("*.md"))]
        sources = [
            Source(name=file.relative_to(settings.BASE_DIR).as_posix(), content=file.read_bytes())
            for file in files
            if file.is_file()
        ]
        if not sources:
            return
        create_collection(
            name=DEMO_COLLECTION, metadata={"description": "The documentation of this server, to try searches on."}
        )
        watch(job=submit(collection_name=DEMO_COLLECTION, sources=sources), label="Loading the demo")
