"""Forgets old queries, a few at a time. It may run twice at once, and end anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.utils import timezone

from core_app.config import LONGEST_RETENTION_DAYS
from core_app.errors import InvalidInput
from core_app.sql import statement
from core_app.wiring import app_settings
from search_app.models import QueryLog

BATCH = 2000
#: Of one round, so that what else waits in the queue has its turn.
MOST_BATCHES = 20


def forget_due() -> int:
    """Delete what `Retention:QueryLogDays` no longer keeps, a bounded part of it; returns how many went."""
    days = app_settings().retention.query_log_days
    if days == 0:
        return 0
    batches = forget(before=timezone.now() - timedelta(days=days))
    return sum(gone for _, gone in zip(range(MOST_BATCHES), batches, strict=False))


def forget(*, before: datetime) -> Iterator[int]:
    """Delete all queries asked before this moment; yields the size of each batch as soon as it is gone."""
    after = datetime.min.replace(tzinfo=UTC)
    while True:
        with connection.cursor() as cursor:
            cursor.execute(statement("search_app", "forget_queries"), {"before": before, "after": after, "most": BATCH})
            found = cursor.fetchone()
        assert found is not None
        gone, latest = found
        if not gone:
            return
        after = latest
        yield gone


def moment_before(*, days: int | None) -> datetime:
    """The moment so many days ago, by default those of `Retention:QueryLogDays`. Raises InvalidInput."""
    if days is None:
        days = app_settings().retention.query_log_days
        if days == 0:
            raise InvalidInput(
                "Retention:QueryLogDays is 0: queries are kept for ever. Say how old with --older-than DAYS.",
                code="kept_for_ever",
            )
    if not 0 <= days <= LONGEST_RETENTION_DAYS:
        raise InvalidInput(f"--older-than: must be 0 to {LONGEST_RETENTION_DAYS:,} days.", code="invalid_days")
    return timezone.now() - timedelta(days=days)


def count_before(*, before: datetime) -> int:
    """How many queries were asked before this moment."""
    return QueryLog.objects.filter(asked_at__lt=before).count()
