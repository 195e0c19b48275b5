"""Both servers, each in a temporary folder, started as their users start them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
#: The server answers before it has loaded its embedding model, which none of this needs.
SETTLE_SECONDS = 15


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def ragsite(folder: Path, *flags: str) -> Iterator[str]:
    """The whole server; its address."""
    port = free_port()
    command = [sys.executable, "-m", "ragsite.up", "--data", str(folder), "--port", str(port), "--no-demo", *flags]
    with _running(command, folder.with_suffix(".log"), f"http://127.0.0.1:{port}/health") as url:
        time.sleep(SETTLE_SECONDS)
        yield url.removesuffix("/health")


@contextmanager
def chroma(executable: str, folder: Path) -> Iterator[str]:
    """`chroma run`; its address."""
    port = free_port()
    command = [executable, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with _running(command, folder.with_suffix(".log"), f"http://127.0.0.1:{port}/api/v2/heartbeat") as url:
        yield url.removesuffix("/api/v2/heartbeat")


@contextmanager
def milvus_lite(folder: Path) -> Iterator[str]:
    """Milvus Lite in a process of its own; its address."""
    port = free_port()
    command = [sys.executable, "-m", "milvus_lite", "server", "--data-dir", str(folder), "--host", "127.0.0.1"]
    process = subprocess.Popen(  # noqa: S603 - the command is ours
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@contextmanager
def _running(command: Sequence[str], log: Path, url: str) -> Iterator[str]:
    environment = {**os.environ, "ANONYMIZED_TELEMETRY": "False", "RAGSITE_ADMIN_PASSWORD": "for a benchmark only"}
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - both commands are ours
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait(process, url, log)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with suppress(httpx.HTTPError):  # it does not listen yet
            if httpx.get(url).status_code == 200:
                return
        time.sleep(0.2)
    raise RuntimeError(f"The server did not start:\n{log.read_text(errors='replace')[-2000:]}")
