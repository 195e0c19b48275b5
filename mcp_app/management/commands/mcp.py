"""`manage.py mcp`: the tools on standard input and output, for an agent on this machine."""

from __future__ import annotations

import logging
import os
import threading
from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from access_app.models import Verb
from access_app.services import EVERYTHING, Caller, authenticate
from core_app.errors import RagsiteError
from core_app.wiring import embedder
from mcp_app.calling import caller

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Serve the MCP tools on standard input and output. The log goes to standard error."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--key-env",
            default="RAGSITE_API_KEY",
            metavar="NAME",
            help="the environment variable that has an API key (default: %(default)s); without it all is reached",
        )
        parser.add_argument("--collection", action="append", help="only this, or of this pattern; repeatable")
        parser.add_argument("--research", action="store_true", help="offer researchTopic, too, where no key decides")

    def handle(self, *args: Any, key_env: str, collection: list[str] | None, research: bool, **options: Any) -> None:
        from mcp_app.server import server  # noqa: PLC0415 - heavy

        who = self._caller(os.environ.get(key_env, ""), is_research_wanted=research)
        if collection is not None:
            who = replace(who, collections=_within(who, collection))
        caller.set(who)
        # The first search would have no time for it.
        threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
        server(with_research=who.may(Verb.RESEARCH)).run("stdio")

    def _caller(self, key: str, *, is_research_wanted: bool) -> Caller:
        if not key:
            kept = EVERYTHING.verbs if is_research_wanted else EVERYTHING.verbs - {Verb.RESEARCH.value}
            return replace(EVERYTHING, name="mcp", verbs=kept)
        try:
            return authenticate(presented=key)
        except RagsiteError as error:
            raise CommandError(error.detail) from None


def _warm_up() -> None:
    try:
        embedder().warm_up()
    except (RagsiteError, OSError, ImportError, RuntimeError):
        logger.exception("the embedding model could not be loaded; searches use words alone")


def _within(who: Caller, names: list[str]) -> tuple[str, ...]:
    """Names that the caller reaches. Raises CommandError for others, and for patterns under a key of its own."""
    if who.collections == ("*",):
        return tuple(names)
    for name in names:
        if "*" in name or not who.reaches(name):
            raise CommandError(f"The key does not reach '{name}'.")
    return tuple(names)
