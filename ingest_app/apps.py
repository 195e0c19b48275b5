"""Registers the room with Django; tables carry the short label."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class IngestConfig(AppConfig):
    name = "ingest_app"
    label = "ingest"
    verbose_name = _("Ingest")
    default_auto_field = "django.db.models.BigAutoField"
