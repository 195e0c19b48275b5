"""Exported models on disk: one file for each model name, whole or not there, for nobody but us to write."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

from inference_app.fast_queries.models import Unusable

_FOLDER = "query_models"


def exported_file(*, data_folder: Path, model: str, digest: str) -> Path:
    """Where the export of this model lies, or will. Makes the folder; raises Unusable where it cannot be trusted."""
    folder = data_folder.absolute() / _FOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_ours = _is_ours(folder, stat.S_ISDIR)
    except OSError as error:
        raise Unusable(f"the data folder cannot be written ({error.strerror})") from error
    if not is_ours:
        raise Unusable("the folder of exported models can be written by others")
    readable = re.sub(r"[^A-Za-z0-9.]+", "_", model)[-40:].strip("._")
    told_apart = hashlib.sha256(model.encode()).hexdigest()[:8]
    return folder / f"{readable}-{told_apart}-{digest}.onnx"


def is_trusted(path: Path) -> bool:
    """Whether it is there, and nobody else can have written it: a graph decides what is computed."""
    try:
        return _is_ours(path, stat.S_ISREG)
    except OSError:
        return False


def store(path: Path, *, write: Callable[[Path], None]) -> None:
    """Make the file by `write`, unless another process has made it meanwhile; what it replaces is removed.

    Raises whatever `write` raises, and OSError; nothing half is left then. A process that is killed leaves a
    temporary file to the next one that comes here.
    """
    folder = path.parent
    lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if is_trusted(path):
            return
        # Whoever holds the lock is the only one at work here.
        _remove(folder, "*.part")
        part = folder / f"{path.stem}.part"
        try:
            os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            write(part)
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        of_this_model = path.name.rsplit("-", 1)[0]
        _remove(folder, f"{of_this_model}-*.onnx", but=path)
    finally:
        os.close(lock)


def _remove(folder: Path, pattern: str, *, but: Path | None = None) -> None:
    for path in folder.glob(pattern):
        if path != but:
            path.unlink(missing_ok=True)


def _is_ours(path: Path, kind: Callable[[int], bool]) -> bool:
    found = path.lstat()
    return kind(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
