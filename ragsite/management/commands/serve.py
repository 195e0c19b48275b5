"""`manage.py serve`: the web server alone. `script/server` starts it together with everything it needs."""

from __future__ import annotations

import gc
import logging
import threading
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter

from access_app.authentication import is_loopback
from core_app.errors import RagsiteError, Unavailable
from core_app.wiring import app_settings, chat_model, embedder, loaded_settings, pair_scorer
from ragsite.malformed_requests import JsonErrorsProtocol
from ragsite.reranker_flags import LinesKept, add_reranker_flags
from rerank_app.catalogue import banner

logger = logging.getLogger(__name__)


def refuse_open_bind(host: str) -> None:
    """Raise CommandError where other machines could reach a server that asks for no key."""
    loaded = loaded_settings()
    if loaded.is_development and not is_loopback(host) and loaded.values.security.require_keys == "auto":
        raise CommandError(
            f"Refusing to listen on {host}: in Development this server asks for no API key. "
            'Set Security:RequireKeys to "always" (Security__RequireKeys=always), or bind to 127.0.0.1.'
        )


class _Help(LinesKept, DjangoHelpFormatter):
    """Django's order of flags, with lines kept."""


class Command(BaseCommand):
    help = "Run the web server alone: REST API, console and Swagger UI. Stop it with Ctrl-C."
    requires_system_checks: list[str] = []
    suppressed_base_arguments = {"--version", "--settings", "--pythonpath", "--traceback", "--verbosity"}
    suppressed_base_arguments |= {"--no-color", "--force-color"}

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **{"formatter_class": _Help, **options})
        if Path(prog_name).name == "server.py":
            parser.prog = "server.py"
        return parser

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")
        add_reranker_flags(parser)

    def handle(
        self, *args: Any, host: str, port: int, cross_encoder: str, cross_encoder_path: str, **options: Any
    ) -> None:
        loaded = loaded_settings()
        refuse_open_bind(host)
        # Read by the keyless rule: only now is it known who can reach this process.
        settings.RAGSITE_BIND = host
        if loaded.is_development and is_loopback(host):
            settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, host]
        for warning in loaded.warnings:
            logger.warning(warning)
        if settings.CELERY_BROKER_URL.startswith("memory:"):
            logger.warning(
                "ConnectionStrings:Broker is not set: uploads are kept, and no worker hears of them until it is"
            )
        _load_cross_encoder(name=cross_encoder, path=cross_encoder_path)
        threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
        uvicorn.run(
            "ragsite.asgi:application",
            host=host,
            port=port,
            http=JsonErrorsProtocol,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=5,
        )


def _load_cross_encoder(*, name: str, path: str) -> None:
    """Before the port opens. The flags win over the environment and the files, a path over a name (A11.4).

    Raises CommandError where the model cannot be loaded.
    """
    if name or path:
        section = app_settings().rerank.model_copy(update={"cross_encoder": name, "cross_encoder_path": path})
        settings.RAGSITE = app_settings().model_copy(update={"rerank": section})
    try:
        scorer = pair_scorer()
    except Unavailable as error:
        # Libraries' traces are hundreds of lines in which nobody finds the one that says what is wrong.
        trace = error if logger.isEnabledFor(logging.DEBUG) else None
        cause = " ".join(str(error.__cause__ or error.detail).split())
        logger.critical("the cross-encoder could not be loaded: %s", cause, exc_info=trace)
        raise CommandError(error.detail) from error
    if scorer is None:
        for line in banner():
            logger.info(line)


def _warm_up() -> None:
    """Load the embedding model before the first search needs it; the server answers meanwhile."""
    try:
        embedder().warm_up()
    except (RagsiteError, OSError, ImportError, RuntimeError):
        logger.exception("the embedding model could not be loaded; searches use words alone until it can")
    if not app_settings().llm.connection:
        chat_model()  # importing its library takes seconds
    # A million objects of libraries that stay for good: looking through them again and again would stop
    # large requests for a tenth of a second each time.
    gc.collect()
    gc.freeze()
