"""Celery's door to the room."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.db import close_old_connections

from search_app.forgetting import forget_due
from search_app.schedule import FORGET_QUERIES


@shared_task(name=FORGET_QUERIES)
def forget_queries(**_: Any) -> None:
    """Forget queries that are older than the settings keep them."""
    close_old_connections()
    forget_due()
