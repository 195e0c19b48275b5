"""Registers the room with Django; tables carry the short label."""

from __future__ import annotations

from django.apps import AppConfig


class IngestConfig(AppConfig):
    name = "ingest_app"
    label = "ingest"
    verbose_name = "Ingest"
    default_auto_field = "django.db.models.BigAutoField"
