"""Registers the console with Django."""

from __future__ import annotations

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "console_app"
    label = "console"
