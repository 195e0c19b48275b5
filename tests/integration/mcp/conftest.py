"""The SDK's own client, on this very server over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from pytest_django.live_server_helper import LiveServer

from collections_app.services import create_collection
from tests.integration.ingest.filling import ingest

#: `connected(work, key="")`: what `work` gives with a client.
Connected = Callable[..., Any]


@pytest.fixture
def connected(live_server: LiveServer) -> Connected:
    def run(work: Callable[[Client], Awaitable[Any]], *, key: str = "", **headers: str) -> Any:
        async def connect() -> Any:
            sent = {**headers, **({"Authorization": f"Bearer {key}"} if key else {})}
            async with httpx2.AsyncClient(headers=sent, timeout=30) as http:
                transport = streamable_http_client(f"{live_server.url}/mcp", http_client=http)
                async with Client(transport) as client:
                    return await work(client)

        return asyncio.run(connect())

    return run


@pytest.fixture
def tea(transactional_db: None) -> str:
    create_collection(name="tea", metadata={"description": "About tea."})
    ingest("tea", "# Oolong\n\nOolong steeps for five minutes.", "<script>alert(1)</script> \u202eRye bread.")
    create_collection(name="secret")
    ingest("secret", "The oolong is hidden in the cellar.")
    return "tea"
