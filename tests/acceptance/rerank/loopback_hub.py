"""A hub on this machine with one model, in the layout that the hub's own client asks for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAME = "tiny-people/tiny-cross-encoder"
_COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def hub(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve the model in this folder; the hub's address, and what was asked for so far."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, *, with_body: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            asked.append(f"{self.command} {path}")
            body, status, headers = _found(folder, path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _found(folder: Path, path: str) -> tuple[bytes, int, dict[str, str]]:
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    for revision in ("main", _COMMIT):
        file = path.removeprefix(f"/{NAME}/resolve/{revision}/")
        if file in files:
            body = (folder / file).read_bytes()
            etag = hashlib.sha256(body).hexdigest()
            return body, 200, {"X-Repo-Commit": _COMMIT, "ETag": f'"{etag}"'}
    if path.startswith(f"/api/models/{NAME}/tree/"):
        tree = [
            {"type": "file", "path": file, "size": (folder / file).stat().st_size, "oid": "0" * 40} for file in files
        ]
        return json.dumps(tree).encode(), 200, {"Content-Type": "application/json"}
    if path == f"/api/models/{NAME}" or path.startswith(f"/api/models/{NAME}/revision/"):
        known = {"id": NAME, "sha": _COMMIT, "siblings": [{"rfilename": file} for file in files], "tags": []}
        return json.dumps(known).encode(), 200, {"Content-Type": "application/json"}
    known_model = path.startswith((f"/{NAME}/", f"/api/models/{NAME}"))
    return b"", 404, {"X-Error-Code": "EntryNotFound" if known_model else "RepoNotFound", "X-Repo-Commit": _COMMIT}
