"""How the services behind connections are: asked side by side, within a few seconds."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from django.utils import timezone
from django.utils.translation import gettext as _

from connections_app.models import Connection
from connections_app.opening import opened
from core_app.errors import RagsiteError
from core_app.health import Check, State
from core_app.providers import ProviderHealth

logger = logging.getLogger(__name__)

SECONDS = 8.0
#: On the page of the server's health; more are in the list.
_CHECKED = 20
_AT_A_TIME = 8
_pool = ThreadPoolExecutor(max_workers=_AT_A_TIME, thread_name_prefix="connection-health")


def health_of(*, connections: Sequence[Connection]) -> list[ProviderHealth]:
    """One for each, in their order. Raises nothing for what a service or its client does."""
    asked = [_pool.submit(_health, connection) for connection in connections]
    wait(asked, timeout=SECONDS)
    found = []
    for one in asked:
        if one.done():
            found.append(one.result())
        else:
            one.cancel()
            found.append(_unhealthy("It did not say how it is in time."))
    return found


def check_connections() -> list[tuple[Connection, Check]]:
    """Each connection and how its service does."""
    connections = list(Connection.objects.order_by("name")[:_CHECKED])
    found = health_of(connections=connections)
    return [(one, _check(one, health)) for one, health in zip(connections, found, strict=True)]


def _check(connection: Connection, health: ProviderHealth) -> Check:
    docs = "connections.md"
    if health.is_healthy:
        return Check(part="connection", state=State.GOOD, says=_("Its service answers."), docs=docs)
    cure = _("Test the connection and mend its settings, or look after the service it leads to.")
    return Check(part="connection", state=State.BAD, says=health.error, cure=cure, docs=docs)


def _health(connection: Connection) -> ProviderHealth:
    """Asks no database: it runs in a thread of its own."""
    try:
        with opened(connection) as provider:
            return provider.health_check()
    except RagsiteError as error:
        return _unhealthy(error.detail)
    except Exception:  # whatever a client raises: one that is broken must not hide the others
        logger.exception("a connection's health cannot be told", extra={"provider": connection.provider})
        return _unhealthy("Its health cannot be told; the server's log has the cause.")


def _unhealthy(error: str) -> ProviderHealth:
    return ProviderHealth(is_healthy=False, checked_at=timezone.now(), error=error)
