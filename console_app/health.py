"""The rows of health as the home page shows them: names, words for states, and where each problem is mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from collections_app.health import check_database, check_stores
from collections_app.models import Collection
from connections_app.health import check_connections
from connections_app.models import Connection
from console_app.permissions import may
from core_app.health import MODEL_CHECKS, Check, State
from ingest_app.health import check_broker_and_workers, check_queue
from stores_app import whereabouts
from stores_app.whereabouts import Described

NAMES: dict[str, str | Promise] = {
    "database": _("Database"),
    "store": _("Store of vectors and words"),
    "queue": _("Waiting jobs"),
    "embedder": _("Embedder"),
    "cross_encoder": _("Cross-encoder"),
    "chat_model": _("Language model"),
    "query_log": _("Query log"),
    "disk": _("Disk"),
    "broker": _("Broker"),
    "workers": _("Workers"),
    "beat": _("Scheduler"),
}
WORDS: dict[State, str | Promise] = {
    State.GOOD: _("Works"),
    State.DEGRADED: _("Degraded"),
    State.BAD: _("Broken"),
    State.OFF: _("Off"),
    State.UNKNOWN: _("Not known"),
}
#: django-unfold's label variants.
TONES: dict[State, str] = {
    State.GOOD: "success",
    State.DEGRADED: "warning",
    State.BAD: "danger",
    State.OFF: "default",
    State.UNKNOWN: "default",
}
#: Pages of the console where a part is looked after, and the ability that opens each.
PAGES: dict[str, tuple[str, str]] = {
    "queue": ("admin:ingest_job_changelist", "view_jobs"),
    "store": ("admin:collections_collection_changelist", "view_collections"),
    "cross_encoder": ("admin:collections_collection_rerank", "query"),
    "query_log": ("admin:search_querylog_changelist", "view_queries"),
}
#: What needs attention comes first.
_URGENCY = (State.BAD, State.DEGRADED, State.UNKNOWN, State.GOOD, State.OFF)


@dataclass(frozen=True, kw_only=True)
class HealthRow:
    """One part of the server, ready to be shown."""

    check: Check
    name: str
    word: str
    tone: str
    #: Where it is looked after in the console; empty where that is nowhere, or not for this user.
    url: str


def health_rows(request: HttpRequest) -> list[HealthRow]:
    """All parts, the troubled first. Takes some seconds where the broker is slow."""
    checks = [check_database(), check_stores(), check_queue(), *(check() for check in MODEL_CHECKS)]
    rows = [_row(request, check) for check in [*checks, *check_broker_and_workers()]]
    if may(request.user, "view_connections", Connection()):
        rows += [_connection_row(connection, check) for connection, check in check_connections()]
    troubled = [(row, place) for row, place in whereabouts.troubled() if may(request.user, "view_collections", row)]
    rows += [_placement_row(collection, place) for collection, place in troubled]
    return in_order(rows)


def in_order(rows: Sequence[HealthRow]) -> list[HealthRow]:
    """By urgency; those of one state as they were checked."""
    return sorted(rows, key=lambda row: _URGENCY.index(row.check.state))


def _connection_row(connection: Connection, check: Check) -> HealthRow:
    return HealthRow(
        check=check,
        name=_("Connection %(name)s") % {"name": connection.name},
        word=str(WORDS[check.state]),
        tone=TONES[check.state],
        url=reverse("admin:connections_connection_change", args=[connection.pk]),
    )


def _placement_row(collection: Collection, place: Described) -> HealthRow:
    """Searches find everything all the same: they look here for what was not sent."""
    check = Check(part="placement", state=State.DEGRADED, says=place.problem, docs="howto/move-a-collection.md")
    return HealthRow(
        check=check,
        name=_("Changes of %(name)s for %(service)s") % {"name": collection.name, "service": place.service},
        word=str(WORDS[check.state]),
        tone=TONES[check.state],
        url=reverse("admin:collections_collection_placement", args=[collection.pk]),
    )


def _row(request: HttpRequest, check: Check) -> HealthRow:
    page = PAGES.get(check.part)
    return HealthRow(
        check=check,
        name=str(NAMES[check.part]),
        word=str(WORDS[check.state]),
        tone=TONES[check.state],
        url=reverse(page[0]) if page and may(request.user, page[1]) else "",
    )
