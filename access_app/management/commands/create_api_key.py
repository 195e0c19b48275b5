"""`manage.py create_api_key`: a key for an application; its secret is printed once."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from access_app.models import Verb
from access_app.services import create_key
from core_app.errors import RagsiteError

MAX_DAYS = 36_500


class Command(BaseCommand):
    help = "Create an API key and print its secret, which cannot be read again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="who or what will use the key")
        parser.add_argument(
            "--verb", action="append", choices=Verb.values, required=True, help="what it allows; repeatable"
        )
        parser.add_argument(
            "--collection", action="append", required=True, help="name or pattern; repeatable; '*' means all"
        )
        parser.add_argument("--days", type=int, help="days until it expires (default: never)")

    def handle(
        self, *args: Any, name: str, verb: list[str], collection: list[str], days: int | None, **options: Any
    ) -> None:
        if days is not None and not 1 <= days <= MAX_DAYS:
            raise CommandError(f"--days must be a number from 1 to {MAX_DAYS}.")
        expires_at = timezone.now() + timedelta(days=days) if days is not None else None
        try:
            _key, secret = create_key(name=name, verbs=verb, collections=collection, expires_at=expires_at)
        except RagsiteError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(secret)
