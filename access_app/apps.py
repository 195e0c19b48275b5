"""Registers the room with Django; tables carry the short label."""

from __future__ import annotations

from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "access_app"
    label = "access"
    verbose_name = "Access"
    default_auto_field = "django.db.models.BigAutoField"
