"""Where connections may have files: below the folders that the operator names, or in one of their own."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from core_app.errors import InvalidInput
from core_app.wiring import app_settings, data_folder

#: Below the data folder, where no folder is named.
OWN = "connections"
#: Bytes: of what Linux's file systems take, and somewhat below for what is put beside a file or into a folder.
LONGEST_NAME, LONGEST_PATH = 200, 1_000


def allowed_path(text: str) -> Path:
    """The path that a connection's settings name, links resolved; a relative one is below the connections' own folder.

    Raises InvalidInput for one that lies elsewhere.
    """
    own = data_folder() / OWN
    if not text.strip() or "\x00" in text:
        raise InvalidInput("Name a file or a folder.", code="invalid_path")
    if _bytes(text) > LONGEST_PATH or any(_bytes(part) > LONGEST_NAME for part in Path(text).parts):
        raise InvalidInput(
            f"A file or a folder has a name of at most {LONGEST_NAME} bytes, and a path of {LONGEST_PATH:,}.",
            code="invalid_path",
        )
    path = (own / text).resolve()
    allowed = [own.resolve(), *(Path(folder).resolve() for folder in app_settings().security.connection_folders)]
    if not any(path != folder and path.is_relative_to(folder) for folder in allowed):
        raise InvalidInput(
            "Connections may not use this place. Send a name alone, for a place of its own, or ask the operator to add "
            "the folder above it to Security:ConnectionFolders.",
            code="invalid_path",
        )
    return path


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def make_private(path: Path) -> None:
    """An empty file where there is none, and the folders above it: for the server's user alone. Raises OSError."""
    for folder in reversed(path.parents):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        path.touch(mode=0o600, exist_ok=False)
