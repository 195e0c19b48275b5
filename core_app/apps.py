"""Registers the room with Django, for its translations, checks and templates only: it has no tables."""

from __future__ import annotations

from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "core_app"
    label = "core"
