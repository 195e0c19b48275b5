"""`manage.py ensure_admin`: the first staff user, so that a new server can be logged in to at all."""

from __future__ import annotations

import os
import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractUser
from django.core.management.base import BaseCommand
from django.db import transaction

NAME = "admin"
PASSWORD_VARIABLE = "RAGSITE_ADMIN_PASSWORD"  # noqa: S105 (the variable's name)


class Command(BaseCommand):
    help = f"Create the staff user {NAME} when there is no user yet, password: {PASSWORD_VARIABLE} or random."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        users: type[AbstractUser] = get_user_model()
        given = os.environ.get(PASSWORD_VARIABLE, "")
        password = given or secrets.token_urlsafe(12)
        with transaction.atomic():
            if users.objects.exists():
                return
            users.objects.create_superuser(username=NAME, email="", password=password)
        if given:
            self.stdout.write(f"Created the user {NAME} with the password of {PASSWORD_VARIABLE}.")
        else:
            self.stdout.write(f"Created the user {NAME} with the password {password} (shown only this once).")
