"""Celery's door to the room."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.db import close_old_connections

from stores_app.delivering import deliver_due
from stores_app.schedule import DELIVER_CHANGES


@shared_task(name=DELIVER_CHANGES)
def deliver_changes(**_: Any) -> None:
    """Send what has changed to where collections are searched."""
    close_old_connections()
    deliver_due()
