"""Registers the room with Django; tables carry the short label."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class AccessConfig(AppConfig):
    name = "access_app"
    label = "access"
    verbose_name = _("Access")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """The built-in groups follow the migrations; changes of users and groups are recorded."""
        from access_app import built_in_groups, people  # noqa: PLC0415 (models are not there before)

        people.listen()
        post_migrate.connect(built_in_groups.give_after_migrating, dispatch_uid="ragsite-built-in-groups")
