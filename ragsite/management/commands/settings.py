"""`manage.py settings`: the effective configuration, secrets masked."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand

from core_app.config_loading import masked
from core_app.wiring import loaded_settings


class Command(BaseCommand):
    help = "Print the effective settings as JSON; secrets are masked."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        loaded = loaded_settings()
        shown = {"Environment": loaded.environment, **masked(loaded.values)}
        self.stdout.write(json.dumps(shown, indent=2, ensure_ascii=False))
        for warning in loaded.warnings:
            self.stderr.write(f"warning: {warning}")
