"""Registers the room with Django."""

from __future__ import annotations

from django.apps import AppConfig


class ConnectionsConfig(AppConfig):
    name = "connections_app"
    label = "connections"
    verbose_name = "Connections"
    default_auto_field = "django.db.models.BigAutoField"
