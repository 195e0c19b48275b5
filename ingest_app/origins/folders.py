"""A folder as an origin: the files in it and below it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ingest_app.origins.found import FoundFile, Unreadable


def files_below(folder: Path, *, max_bytes: int) -> Iterator[FoundFile]:
    """The files of a folder and the folders in it, in the order of their names, which are their places in it.

    None that is hidden, and none that a link leads to outside of the folder.
    """
    root = folder.resolve()
    for path in sorted(root.rglob("*")):
        place = path.relative_to(root)
        if any(part.startswith(".") for part in place.parts) or not path.is_file():
            continue
        if path.resolve().is_relative_to(root):
            yield file_at(path, name=place.as_posix(), max_bytes=max_bytes)


def file_at(path: Path, *, name: str, max_bytes: int) -> FoundFile:
    """One file of this machine."""
    return FoundFile(name=name, read=partial(_content, path, max_bytes))


def _content(path: Path, max_bytes: int) -> bytes:
    try:
        if path.stat().st_size > max_bytes:
            raise Unreadable(f"Larger than {max_bytes} bytes. Split it.", code="too_large")
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"It could not be read: {error.strerror}.") from None
