"""The audit log's one entrance: what was changed, written in the transaction that changes it.

A service calls `record("subject.verb", row, before=..., after=...)` within its transaction and is done: who acts, by
which door and in which request is known from the context. What is rolled back leaves no entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from django.db.models import Model

from access_app.acting import current
from access_app.audit_values import bounded, clipped
from access_app.audit_words import ACTIONS
from access_app.models import AuditEntry
from access_app.reach import names_of
from core_app.json_values import is_same_json

MAX_NAME_CHARACTERS = 300


def record(
    action: str,
    row: Model,
    *,
    collection: str | None = None,
    name: str | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    outcome: str = AuditEntry.Outcome.DONE,
) -> None:
    """One entry about `row`. Call it in the transaction of the change, before a row that goes is deleted.

    Of `before` and `after` only what differs is kept, cut to a size for people; where both are given and nothing
    differs, nothing was changed and nothing is recorded. Never hand in a secret, a password or a vector.
    `collection` is its name, where that cannot be told from the row without asking the database.
    """
    assert action in ACTIONS, f"say what '{action}' is in access_app/audit_words.py"
    if before is not None and after is not None:
        before, after = _difference(before, after)
        if not before and not after:
            return
    actor = current()
    AuditEntry.objects.create(
        actor=clipped(str(actor), MAX_NAME_CHARACTERS),
        door=actor.door,
        request_id=str(structlog.contextvars.get_contextvars().get("request_id", ""))[:64],
        action=action,
        object_type=row._meta.label_lower,
        object_id=key_of(row),
        object_name=clipped(str(row) if name is None else name, MAX_NAME_CHARACTERS),
        collection=_collection_of(row) if collection is None else collection,
        before=bounded(before),
        after=bounded(after),
        outcome=outcome,
    )


def key_of(row: Model) -> str:
    """What the entries about a row are found by: its key or, where that changes with the row, what stays."""
    return str(getattr(row, "audit_key", row.pk))


def submitter_of(row: Model) -> str | None:
    """Who submitted this job, or had it tried again, as the log has it; None where it does not know."""
    entries = AuditEntry.objects.filter(object_type=row._meta.label_lower, object_id=key_of(row))
    return (
        entries.filter(action__in=("job.submitted", "job.retried"))
        .order_by("-at", "-id")
        .values_list("actor", flat=True)
        .first()
    )


def _collection_of(row: Model) -> str:
    """The name of the one collection that a row belongs to; rows about several belong to none."""
    names = names_of(row)
    return names[0] if names and len(names) == 1 and not isinstance(getattr(row, "collections", None), list) else ""


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What differs; of values within values their part of it."""
    old: dict[str, Any] = {key: value for key, value in before.items() if key not in after}
    new: dict[str, Any] = {key: value for key, value in after.items() if key not in before}
    for key in (key for key in before if key in after):
        one, other = before[key], after[key]
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            one, other = _difference(one, other)
        if not is_same_json(one, other):
            old[key], new[key] = one, other
    return old, new
