"""The providers, each connected to a real service of its kind."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from connections_app.providers.remote import RemoteProvider, RemoteSettings
from core_app.ports import DistanceName
from core_app.providers import HeldCollection, Provider

PROVIDERS = ["remote", "sqlite", "milvus", "milvus_server"]


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """Empty, but for what others may hold there."""
    connected: Provider = request.getfixturevalue(f"{request.param}_provider")
    yield connected
    connected.close()


@pytest.fixture
def remote_provider(live_server: LiveServer) -> Provider:
    """Another Ragsite, over HTTP."""
    return RemoteProvider(RemoteSettings(url=live_server.url))


@pytest.fixture
def sqlite_provider(tmp_path: Path, settings: Any) -> Provider:
    """A file of its own."""
    sqlite = pytest.importorskip("connections_app.providers.sqlite", reason="the extra `sqlite` is not installed")
    settings.DATA_DIR = tmp_path
    made: Provider = sqlite.SqliteProvider(sqlite.SqliteSettings(file="contract.db"))
    return made


@pytest.fixture
def milvus_provider(tmp_path: Path, settings: Any) -> Provider:
    """A folder of its own."""
    milvus = pytest.importorskip("connections_app.providers.milvus", reason="the extra `milvus` is not installed")
    settings.DATA_DIR = tmp_path
    made: Provider = milvus.MilvusProvider(milvus.MilvusSettings(folder="contract"))
    return made


@pytest.fixture(scope="session")
def milvus_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of Milvus Lite's own server, in a process of its own."""
    pytest.importorskip("milvus_lite", reason="the extra `milvus` is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = tmp_path_factory.mktemp("milvus") / "data"
    command = [sys.executable, "-m", "milvus_lite", "server", "--data-dir", str(data), "--host", "127.0.0.1"]
    server = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as looking:
                if looking.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture
def milvus_server_provider(milvus_url: str) -> Provider:
    """A server, which is Milvus Lite in a process of its own."""
    milvus = pytest.importorskip("connections_app.providers.milvus", reason="the extra `milvus` is not installed")
    made: Provider = milvus.MilvusProvider(milvus.MilvusSettings(url=milvus_url, index="HNSW"))
    return made


@pytest.fixture
def collection(provider: Provider) -> Iterator[Callable[..., HeldCollection]]:
    """Makes collections of that provider, which are gone after the test."""
    made: list[str] = []

    def make(metadata: Mapping[str, Any] | None = None, distance: DistanceName = "cosine") -> HeldCollection:
        name = f"contract-{uuid.uuid4().hex[:12]}"
        one = provider.create_collection(name=name, metadata=metadata or {}, distance=distance)
        made.append(name)
        return one

    yield make
    for name in made:
        provider.delete_collection(name=name)
