"""`manage.py mcp`: the tools on standard input and output, for an agent on this machine."""

from __future__ import annotations

import logging
import os
import threading
from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections

from access_app.models import Verb
from access_app.services import EVERYTHING, Caller, authenticate
from collections_app.selectors import get_collection
from core_app.errors import RagsiteError
from core_app.wiring import embedder
from mcp_app.calling import identify

logger = logging.getLogger(__name__)

KEY = "RAGSITE_API_KEY"


class Command(BaseCommand):
    help = "Serve the MCP tools on standard input and output. The log goes to standard error."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--key-env",
            metavar="NAME",
            help=f"the environment variable that has an API key (default: {KEY}); without a key everything is reached",
        )
        parser.add_argument("--collection", action="append", help="only this, or of this pattern; repeatable")
        parser.add_argument("--research", action="store_true", help="offer researchTopic, too, where no key decides")

    def handle(
        self, *args: Any, key_env: str | None, collection: list[str] | None, research: bool, **options: Any
    ) -> None:
        from mcp_app.server import server  # noqa: PLC0415 - heavy

        key = os.environ.get(key_env or KEY)
        if key is not None and not key.strip():
            raise CommandError(f"{key_env or KEY} is empty. Put an API key into it, or take it away.")
        if key is None and key_env is not None:
            raise CommandError(f"There is no environment variable {key_env}. Put an API key into it.")
        narrowed = _narrowed(_keyless(is_research_wanted=research) if key is None else _of_key(key), collection)
        # Asked for at each call: a key can be revoked meanwhile.
        identify.set(lambda: narrowed if key is None else replace(_of_key(key), collections=narrowed.collections))
        # The first search would have no time for it.
        threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
        server(with_research=narrowed.may(Verb.RESEARCH)).run("stdio")


def _keyless(*, is_research_wanted: bool) -> Caller:
    """As other commands, for tools that only read."""
    verbs = {Verb.READ.value, Verb.SEARCH.value, *([Verb.RESEARCH.value] if is_research_wanted else [])}
    return replace(EVERYTHING, name="mcp", verbs=frozenset(verbs))


def _of_key(key: str) -> Caller:
    close_old_connections()
    try:
        return authenticate(presented=key.strip())
    except RagsiteError as error:
        raise CommandError(error.detail) from None


def _narrowed(who: Caller, names: list[str] | None) -> Caller:
    """The caller within these names. Raises CommandError for those that it does not reach or that are not there."""
    for name in names or ():
        if "*" in name and who.collections == ("*",):
            continue
        if "*" in name or not who.reaches(name):
            raise CommandError(f"The key does not reach '{name}'.")
        try:
            get_collection(name=name)
        except RagsiteError as error:
            raise CommandError(error.detail) from None
    return who if names is None else replace(who, collections=tuple(names))


def _warm_up() -> None:
    try:
        embedder().warm_up()
    except (RagsiteError, OSError, ImportError, RuntimeError):
        logger.exception("the embedding model could not be loaded; searches use words alone")
