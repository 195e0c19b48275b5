"""Registers the room with Django; tables carry the short label."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class StoresConfig(AppConfig):
    name = "stores_app"
    label = "stores"
    verbose_name = _("Stores")
    default_auto_field = "django.db.models.BigAutoField"
