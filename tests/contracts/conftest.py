"""The providers, each connected to a real service of its kind."""

from __future__ import annotations

import runpy
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pytest_django.live_server_helper import LiveServer

from connections_app.providers.chroma import ChromaProvider
from connections_app.providers.chroma_settings import ChromaSettings
from connections_app.providers.milvus import MilvusProvider, MilvusSettings
from connections_app.providers.remote import RemoteProvider, RemoteSettings
from connections_app.registry import built_in_store
from core_app.ports import DistanceName
from core_app.providers import HeldCollection, Provider
from tests.contracts.calls import WRONG
from tests.contracts.chroma import refusing, running_chroma
from tests.contracts.milvus import running_milvus
from tests.integration.access.conftest import keys_required  # noqa: F401 (a fixture)
from tests.unit.docs.howto_package import make_package

PROVIDERS = ["pgvector", "remote", "sqlite", "chroma_folder", "chroma_server", "milvus", "milvus_server", "howto"]

#: Those that have an address: how to make one that asks there, and waits for so many seconds.
ADDRESSED: Mapping[str, Callable[[str, float], Provider]] = {
    "remote": lambda url, seconds: RemoteProvider(RemoteSettings(url=url, timeout_seconds=seconds)),
    "chroma_server": lambda url, seconds: ChromaProvider(ChromaSettings(url=url, timeout_seconds=seconds)),
    "milvus_server": lambda url, seconds: MilvusProvider(MilvusSettings(url=url, timeout_seconds=seconds)),
}
#: Those that a service can refuse, each with a fixture `NAME_refused`: connected with wrong credentials.
REFUSED = ["remote", "chroma_server"]


def _params(names: Sequence[str]) -> list[Any]:
    """Those that live in this database need it; emptying it after each test of the others would take minutes."""
    needed = pytest.mark.django_db(transaction=True)
    return [pytest.param(name, marks=needed) if name in {"pgvector", "remote"} else name for name in names]


@pytest.fixture(params=_params(PROVIDERS))
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """Empty, but for what others may hold there."""
    connected: Provider = request.getfixturevalue(f"{request.param}_provider")
    yield connected
    connected.close()


@pytest.fixture
def pgvector_provider() -> Provider:
    """This server's own store."""
    return built_in_store()


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
def chroma_folder_provider(tmp_path: Path, settings: Any) -> Provider:
    """A folder of its own, opened in this process."""
    settings.DATA_DIR = tmp_path
    return ChromaProvider(ChromaSettings(folder="contract"))


@pytest.fixture(scope="session")
def chroma_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Chroma server of its own."""
    with running_chroma(tmp_path_factory.mktemp("chroma")) as address:
        yield address


@pytest.fixture
def chroma_server_provider(chroma_address: str) -> Provider:
    """A Chroma server, over HTTP."""
    return ChromaProvider(ChromaSettings(url=chroma_address))


@pytest.fixture
def milvus_provider(tmp_path: Path, settings: Any) -> Provider:
    """A folder of its own."""
    settings.DATA_DIR = tmp_path
    return MilvusProvider(MilvusSettings(folder="contract"))


@pytest.fixture(scope="session")
def milvus_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Milvus Lite's own server, in a process of its own."""
    with running_milvus(tmp_path_factory.mktemp("milvus") / "data") as address:
        yield address


@pytest.fixture
def milvus_server_provider(milvus_address: str) -> Provider:
    """A Milvus server."""
    return MilvusProvider(MilvusSettings(url=milvus_address, index="HNSW"))


@pytest.fixture
def chroma_server_refused() -> Iterator[Provider]:
    """Something in front of a Chroma server that wants a key."""
    with refusing() as address:
        yield ChromaProvider(ChromaSettings(url=address, api_key=SecretStr(WRONG)))


@pytest.fixture
def remote_refused(live_server: LiveServer, keys_required: None) -> Provider:  # noqa: F811
    """Another Ragsite that wants a key."""
    return RemoteProvider(RemoteSettings(url=live_server.url, api_key=SecretStr(WRONG)))


@pytest.fixture(params=ADDRESSED)
def unreachable(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """Connected to an address where nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        connected = ADDRESSED[request.param](f"http://127.0.0.1:{unused.getsockname()[1]}", 1.0)
        yield connected
        connected.close()


@pytest.fixture(params=ADDRESSED)
def slow(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """Connected to somebody who listens and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        connected = ADDRESSED[request.param](f"http://127.0.0.1:{server.getsockname()[1]}", 0.5)
        yield connected
        connected.close()


@pytest.fixture(params=_params(REFUSED))
def refused(request: pytest.FixtureRequest) -> Iterator[Provider]:
    """Connected with credentials that the service does not take; `WRONG` is among them."""
    connected: Provider = request.getfixturevalue(f"{request.param}_refused")
    yield connected
    connected.close()


@pytest.fixture
def howto_provider(tmp_path: Path, settings: Any) -> Provider:
    """The one that docs/howto/add-a-provider.md makes, and so `KeyValueProvider`."""
    make_package(tmp_path)
    found = runpy.run_path(str(tmp_path / "ragsite-folder" / "ragsite_folder.py"))
    settings.DATA_DIR = tmp_path
    made: Provider = found["FolderProvider"](found["FolderSettings"](folder="contract"))
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
