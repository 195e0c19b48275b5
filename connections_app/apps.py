"""Registers the room with Django."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ConnectionsConfig(AppConfig):
    name = "connections_app"
    label = "connections"
    verbose_name = _("Connections")
    default_auto_field = "django.db.models.BigAutoField"
