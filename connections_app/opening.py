"""Providers as they are used: one for each connection and process, opened at first use."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from connections_app.models import Connection
from connections_app.registry import provider_named
from connections_app.sealing import unseal
from connections_app.secret_settings import checked, whole
from core_app.providers import Provider

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Open:
    provider: Provider
    #: Of the settings that it was opened with.
    updated_at: datetime
    users: int = 0
    is_replaced: bool = False


_open: dict[int, _Open] = {}
_guard = threading.Lock()


def built(connection: Connection) -> Provider:
    """A provider of this connection's settings, for the caller to close. Raises as `opened` does."""
    provider = provider_named(connection.provider)
    secrets = {} if connection.secrets is None else unseal(connection.secrets)
    return provider(checked(provider.settings_model, whole(connection.settings, secrets)))


@contextmanager
def opened(connection: Connection) -> Iterator[Provider]:
    """The process's provider of a connection, as it is configured now; those before are closed after their last use.

    Raises Unavailable where the provider is not installed or the secrets cannot be read, and InvalidInput where the
    settings no longer fit it.
    """
    one = _taken(connection)
    try:
        yield one.provider
    finally:
        with _guard:
            one.users -= 1
            is_over = one.is_replaced and not one.users
        if is_over:
            _close(one)


def _taken(connection: Connection) -> _Open:
    with _guard:
        one = _open.get(connection.pk)
        if one is not None and one.updated_at == connection.updated_at:
            one.users += 1
            return one
    fresh = _Open(provider=built(connection), updated_at=connection.updated_at, users=1)
    with _guard:
        before = _open.get(connection.pk)
        _open[connection.pk] = fresh
        is_over = before is not None and not before.users
        if before is not None:
            before.is_replaced = True
    if before is not None and is_over:
        _close(before)
    return fresh


def forget(connection_id: int) -> None:
    """Close this process's provider of a connection that is gone, after its last use."""
    with _guard:
        one = _open.pop(connection_id, None)
        is_over = one is not None and not one.users
        if one is not None:
            one.is_replaced = True
    if one is not None and is_over:
        _close(one)


@atexit.register
def close_all() -> None:
    """Close every provider of this process: a client that holds a lock gives it back."""
    for connection_id in list(_open):
        forget(connection_id)


def _close(one: _Open) -> None:
    try:
        one.provider.close()
    except Exception:  # whatever a client does at its end: it is not needed any more
        logger.exception("a provider could not be closed")
