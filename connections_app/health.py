"""How the services behind connections are: asked side by side, within a few seconds.

A connection is asked by one thread at a time, and its answer is good for a few seconds: whoever reads the list often
does not ask its services more often.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime
from typing import Literal

from django.utils import timezone
from django.utils.translation import gettext as _

from connections_app.models import Connection
from connections_app.opening import opened
from connections_app.registry import listed
from core_app.errors import RagsiteError
from core_app.health import Check, State
from core_app.model_providers import ProviderKind
from core_app.providers import ProviderHealth

logger = logging.getLogger(__name__)

SECONDS = 8.0
#: A model may have to be loaded first.
TRIAL_SECONDS = 60.0
#: On the page of the server's health; more are in the list.
_CHECKED = 20
#: More than there are connections in most places: one whose service hangs must not hold up another.
_AT_A_TIME = 64
#: An answer tells when it was given.
_GOOD_FOR_SECONDS = 5.0
_pool = ThreadPoolExecutor(max_workers=_AT_A_TIME, thread_name_prefix="connection-health")

#: A connection and its settings: with others it is asked anew.
_Key = tuple[int, datetime]
_running: dict[_Key, Future[ProviderHealth]] = {}
#: With the time by `time.monotonic`.
_answers: dict[_Key, tuple[float, ProviderHealth]] = {}
_guard = threading.Lock()


def health_of(*, connections: Sequence[Connection]) -> list[ProviderHealth]:
    """One for each, in their order. Raises nothing for what a service or its client does."""
    return _answers_of([_asked(connection) for connection in connections], SECONDS)


def try_out(*, connection: Connection) -> ProviderHealth:
    """As `health_of`, but a model is given one short text, which may cost a little."""
    known = listed().get(connection.provider)
    if known is None or known.kind in (None, ProviderKind.STORE):
        return health_of(connections=[connection])[0]
    return _answers_of([_pool.submit(_health, connection, "try_out")], TRIAL_SECONDS)[0]


def _answers_of(asked: Sequence[Future[ProviderHealth]], seconds: float) -> list[ProviderHealth]:
    wait(asked, timeout=seconds)
    return [one.result() if one.done() else _unhealthy("It did not say how it is in time.") for one in asked]


def _asked(connection: Connection) -> Future[ProviderHealth]:
    """The answer of a moment ago, or the one that is being waited for, or a new one."""
    key = (connection.pk, connection.updated_at)
    with _guard:
        oldest = time.monotonic() - _GOOD_FOR_SECONDS
        for old in [one for one, (at, _) in _answers.items() if at < oldest]:
            del _answers[old]
        if key in _answers:
            known: Future[ProviderHealth] = Future()
            known.set_result(_answers[key][1])
            return known
        if key not in _running:
            _running[key] = _pool.submit(_answer, key, connection)
        return _running[key]


def _answer(key: _Key, connection: Connection) -> ProviderHealth:
    health = _health(connection)
    with _guard:
        _answers[key] = (time.monotonic(), health)
        del _running[key]
    return health


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


def _health(connection: Connection, how: Literal["health_check", "try_out"] = "health_check") -> ProviderHealth:
    """Asks no database: it runs in a thread of its own."""
    told = {"connection": connection.name, "provider": connection.provider}
    try:
        with opened(connection) as provider:
            health: ProviderHealth = getattr(provider, how)()
    except RagsiteError as error:
        logger.warning("a connection's service cannot be asked: %s", error.detail, extra=told, exc_info=True)
        return _unhealthy(error.detail)
    except Exception:  # whatever a client raises: one that is broken must not hide the others
        logger.exception("a connection's health cannot be told", extra=told)
        return _unhealthy("Its health cannot be told; the server's log has the cause.")
    if not health.is_healthy:
        logger.warning("a connection's service is unhealthy: %s", health.error, extra=told)
    return health


def _unhealthy(error: str) -> ProviderHealth:
    return ProviderHealth(is_healthy=False, checked_at=timezone.now(), error=error)
