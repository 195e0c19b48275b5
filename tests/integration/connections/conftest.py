"""A connection to this very server, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from connections_app.opening import close_all

JSON = "application/json"


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """What was opened for rows that are gone after the test."""
    yield
    close_all()


@pytest.fixture
def far(live_server: LiveServer, client: Client) -> str:
    """The name of a connection to a running Ragsite."""
    body = {"name": "far", "provider": "remote", "settings": {"url": live_server.url}}
    assert client.post("/api/connections", body, JSON).status_code == 201
    return "far"
