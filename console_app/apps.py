"""Registers the console with Django."""

from __future__ import annotations

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console_app"
    label = "console"

    def ready(self) -> None:
        """Models have their names in the console."""
        from console_app.model_names import name_models  # noqa: PLC0415 (models are not there before)

        name_models()
