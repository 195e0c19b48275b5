"""`manage.py preflight`: whether a server could start like this; asked before anything is started."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from core_app.wiring import app_settings
from ragsite.management.commands.serve import refuse_open_bind


class Command(BaseCommand):
    help = "Check the settings and the address; the last line is a JSON list of the addresses that are configured."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")

    def handle(self, *args: Any, host: str, **options: Any) -> None:
        refuse_open_bind(host)
        given = app_settings().connection_strings
        configured = [name for name in type(given).model_fields if getattr(given, name) is not None]
        self.stdout.write(json.dumps(configured))
