"""A real Chroma server on this machine, and one that refuses every key."""

from __future__ import annotations

import http.server
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

_SECONDS = 60.0


@contextmanager
def running_chroma(folder: Path) -> Iterator[str]:
    """Its address."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(folder), "--host", "127.0.0.1"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--port", str(port)], stdout=log, stderr=log, cwd=folder)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{address}/api/v2/heartbeat", process)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    ends_at = time.monotonic() + _SECONDS
    while time.monotonic() < ends_at and process.poll() is None:
        try:
            if httpx.get(address).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("Chroma does not start")


class _Refuses(http.server.BaseHTTPRequestHandler):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._refuse
        raise AttributeError(name)

    def _refuse(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b'{"error": "Unauthorized", "message": "Forbidden"}'
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def refusing() -> Iterator[str]:
    """The address of a server that takes no key."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
