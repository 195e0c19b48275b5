"""Registers the room with Django; tables carry the short label."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CollectionsConfig(AppConfig):
    name = "collections_app"
    label = "collections"
    verbose_name = _("Collections")
    default_auto_field = "django.db.models.BigAutoField"
