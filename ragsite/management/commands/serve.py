"""`manage.py serve`: the web server alone. `script/server` starts it together with everything it needs."""

from __future__ import annotations

import gc
import logging
import threading
from argparse import ArgumentParser
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from access_app.authentication import is_loopback
from core_app.errors import RagsiteError
from core_app.wiring import embedder, loaded_settings
from ragsite.malformed_requests import JsonErrorsProtocol

logger = logging.getLogger(__name__)


def refuse_open_bind(host: str) -> None:
    """Raise CommandError where other machines could reach a server that asks for no key."""
    loaded = loaded_settings()
    if loaded.is_development and not is_loopback(host) and loaded.values.security.require_keys == "auto":
        raise CommandError(
            f"Refusing to listen on {host}: in Development this server asks for no API key. "
            'Set Security:RequireKeys to "always" (Security__RequireKeys=always), or bind to 127.0.0.1.'
        )


class Command(BaseCommand):
    help = "Run the web server alone: REST API, console and Swagger UI. Stop it with Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
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


def _warm_up() -> None:
    """Load the embedding model before the first search needs it; the server answers meanwhile."""
    try:
        embedder().warm_up()
    except (RagsiteError, OSError, ImportError, RuntimeError):
        logger.exception("the embedding model could not be loaded; searches use words alone until it can")
    # A million objects of libraries that stay for good: looking through them again and again would stop
    # large requests for a tenth of a second each time.
    gc.collect()
    gc.freeze()
