"""`manage.py reranker_reference`: the models in the docs' page on reranking, written from the catalogue."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from rerank_app.catalogue import catalogue

START = (
    "<!-- Written by `manage.py reranker_reference` from rerank_app/reranker_models.toml; edit that, then run it. -->"
)
END = "<!-- End of what it writes. -->"
_WRITTEN = re.compile(f"{re.escape(START)}.*?{re.escape(END)}", re.S)


class Command(BaseCommand):
    help = "Write the models in docs/reranking.md from the catalogue; --check only compares."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="fail when the page is out of date")

    def handle(self, *args: Any, check: bool, **options: Any) -> None:
        path: Path = settings.BASE_DIR / "docs" / "reranking.md"
        page = path.read_text(encoding="utf-8")
        if not _WRITTEN.search(page):
            raise CommandError(f"docs/reranking.md has lost the place of the models. Put there: {START} {END}")
        wanted = _WRITTEN.sub(lambda _: "\n".join([START, *_models(), END]), page)
        if not check:
            path.write_text(wanted, encoding="utf-8")
        elif page != wanted:
            raise CommandError("docs/reranking.md is out of date: run manage.py reranker_reference.")


def _models() -> Iterator[str]:
    known = catalogue()
    for group in known.groups:
        yield f"\n### {group.title.capitalize()}: {group.use}\n"
        yield "| model | size | parameters, millions | 10 documents | accuracy | languages | for |"
        yield "|---|---|---|---|---|---|---|"
        for model in group.models:
            yield (
                f"| `{model.name}` | {model.size} | {model.parameters:g} | {model.latency} "
                f"| {model.tier}: {model.accuracy} | {model.languages} | {model.use} |"
            )
    yield f"\nThe time for 10 documents was {known.measured}, by models of these shapes with random weights."
    yield f"{known.note} [Find more]({known.hub}).\n"
