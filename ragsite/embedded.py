"""How a command in another shell finds the database and broker that `script/server` has started."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile

from core_app.config import DATA_VARIABLE

RUNTIME_FILE = "runtime.json"


def data_folder(*, root: Path, environ: Mapping[str, str]) -> Path:
    """The folder that holds all state of an embedded server."""
    return Path(environ.get(DATA_VARIABLE) or root / "var")


def running_server(folder: Path) -> dict[str, str]:
    """`rag_database` and `broker` of the running embedded server; empty where none runs."""
    try:
        found = json.loads((folder / RUNTIME_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def secret_key(folder: Path) -> str:
    """A random key that stays the same between starts, so that sessions survive them."""
    path = folder / "secret_key"
    fresh = secrets.token_urlsafe(48)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_file() and not path.stat().st_size:
            path.unlink()  # a full disk can leave an empty file behind
        with NamedTemporaryFile("w", encoding="ascii", dir=folder, prefix="secret_key.") as file:
            file.write(fresh)
            file.flush()
            # Linked once it is whole: a process that starts at the same time never reads half a key.
            os.link(file.name, path)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return fresh
    return fresh
