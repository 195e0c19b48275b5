"""A server that asks everybody for a key, and keys for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from access_app.services import create_key

#: Makes a key of these verbs and collections, and returns a client that sends it.
ClientWith = Callable[..., Client]


@pytest.fixture
def keys_required(settings: Any) -> None:
    """Nobody is let in without a key, not even from this machine."""
    security = settings.RAGSITE.security.model_copy(update={"require_keys": "always"})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"security": security})
    settings.LOADED = replace(settings.LOADED, values=settings.RAGSITE)


def with_key(secret: str) -> Client:
    return Client(headers={"host": "127.0.0.1", "authorization": f"Bearer {secret}"})


@pytest.fixture
def client_with(db: None) -> ClientWith:
    def make(*verbs: str, collections: tuple[str, ...] = ("*",), **more: Any) -> Client:
        _key, secret = create_key(name="test", verbs=verbs, collections=collections, **more)
        return with_key(secret)

    return make
