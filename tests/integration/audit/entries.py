"""Looking into the audit log."""

from __future__ import annotations

from access_app.models import AuditEntry


def entries(action: str) -> list[AuditEntry]:
    """All of this action, newest first."""
    return list(AuditEntry.objects.filter(action=action))


def entry(action: str) -> AuditEntry:
    """The newest of this action."""
    return entries(action)[0]
