"""Registers the room with Django; tables carry the short label."""

from __future__ import annotations

from django.apps import AppConfig


class StoresConfig(AppConfig):
    name = "stores_app"
    label = "stores"
    verbose_name = "Stores"
    default_auto_field = "django.db.models.BigAutoField"
