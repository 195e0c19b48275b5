"""Providers as they are used: one for each connection and process, opened at first use."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from connections_app.guarding import guarded
from connections_app.models import Connection
from connections_app.registry import listed, provider_named
from connections_app.sealing import unseal
from connections_app.secret_settings import checked, whole
from core_app.errors import InvalidInput
from core_app.model_providers import AnyProvider, ProviderKind
from core_app.providers import Provider

logger = logging.getLogger(__name__)

#: What nobody used for so long is closed: no process hears of a connection that another one deleted.
_IDLE_SECONDS = 300.0
_BRINGS = {
    ProviderKind.STORE: "leads to a store",
    ProviderKind.EMBEDDINGS: "embeds texts",
    ProviderKind.CHAT: "leads to a chat model",
}
_LACKS = {
    ProviderKind.STORE: "holds no collections",
    ProviderKind.EMBEDDINGS: "embeds no texts",
    ProviderKind.CHAT: "leads to no chat model",
}


@dataclass(eq=False)
class _Open:
    provider: AnyProvider
    #: Of the settings that it was opened with.
    updated_at: datetime
    users: int = 0
    #: By `time.monotonic`.
    used_at: float = 0.0
    is_replaced: bool = False


_open: dict[int, _Open] = {}
_guard = threading.Lock()


def built(connection: Connection) -> AnyProvider:
    """A provider of this connection's settings, which refuses what it does not declare; for the caller to close.

    Raises as `opened` does.
    """
    provider = provider_named(connection.provider)
    secrets = {} if connection.secrets is None else unseal(connection.secrets)
    return guarded(provider(checked(provider.settings_model, whole(connection.settings, secrets))))


@contextmanager
def opened(connection: Connection) -> Iterator[AnyProvider]:
    """The process's provider of a connection, by this row or a newer one; older ones are closed after their last use.

    Raises Unavailable where the provider is not installed or the secrets cannot be read, and InvalidInput where the
    settings no longer fit it.
    """
    one = _taken(connection)
    try:
        yield one.provider
    finally:
        with _guard:
            one.users -= 1
            one.used_at = time.monotonic()
            is_over = one.is_replaced and not one.users
        if is_over:
            _close(one)


@contextmanager
def opened_store(connection: Connection) -> Iterator[Provider]:
    """As `opened`. Raises InvalidInput for a connection that brings a model and holds no collections."""
    check_kind(connection, ProviderKind.STORE)
    with opened(connection) as provider:
        yield cast("Provider", provider)


def check_kind(connection: Connection, kind: ProviderKind) -> None:
    """Raise InvalidInput for a connection that brings something else; one that nobody knows of fails when opened."""
    known = listed().get(connection.provider)
    if known is None or known.kind is None or known.kind is kind:
        return
    raise InvalidInput(
        f"Connection '{connection.name}' {_BRINGS[known.kind]} and {_LACKS[kind]}. Name another one.",
        code="wrong_kind",
    )


def _taken(connection: Connection) -> _Open:
    with _guard:
        idle = _without_idle(but=connection.pk)
        one = _current(connection)
    for other in idle:
        _close(other)
    if one is not None:
        return one
    fresh = _Open(provider=built(connection), updated_at=connection.updated_at)
    with _guard:
        one = _current(connection)
        over = _put(fresh, connection.pk) if one is None else fresh
    if over is not None:
        _close(over)
    return fresh if one is None else one


def _current(connection: Connection) -> _Open | None:
    """What is open for these settings or newer ones, for one more user: a row may be read long before its use."""
    one = _open.get(connection.pk)
    if one is None or one.updated_at < connection.updated_at:
        return None
    one.users += 1
    return one


def _put(fresh: _Open, key: int) -> _Open | None:
    """In the place of what was there; that, if nobody uses it any more."""
    before = _open.get(key)
    _open[key] = fresh
    fresh.users = 1
    if before is None:
        return None
    before.is_replaced = True
    return None if before.users else before


def _without_idle(*, but: int) -> list[_Open]:
    oldest = time.monotonic() - _IDLE_SECONDS
    idle = [key for key, one in _open.items() if key != but and not one.users and one.used_at < oldest]
    return [_open.pop(key) for key in idle]


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
