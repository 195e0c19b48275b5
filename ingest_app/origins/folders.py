"""A folder as an origin: the files in it and below it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ingest_app.origins.found import FoundFile, Unreadable

#: A link that leads nowhere is no file; one that leads where nobody may look could be one.
_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def files_below(root: Path, *, max_bytes: int) -> Iterator[FoundFile]:
    """The files of a folder and the folders in it, in the order of their names, which are their places in it.

    `root` has no links in it any more: whoever checked where it lies checked what is read. No file that is hidden, and
    none that a link leads to outside of the folder. A folder in it that cannot be listed is a file that cannot be read:
    what was in it is not known to be gone. Raises Unreadable where `root` itself cannot be listed.
    """
    try:
        which = _identity(root)
        waiting = [iter(_listed(root))]
    except OSError as error:
        raise Unreadable(f"The folder could not be listed: {error.strerror}.") from None
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
            continue
        path = Path(entry.path)
        if entry.name.startswith(".") or (entry.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root)):
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(iter(_listed(path)))
            elif entry.is_file():
                yield file_at(path, name=path.relative_to(root).as_posix(), max_bytes=max_bytes, root=root)
        except OSError as error:
            if not (entry.is_symlink() and error.errno in _NOWHERE):
                yield _unlistable(root, path, error)
    if _identity(root) != which:
        raise Unreadable("The folder was replaced by another while it was read. Try again.")


def _identity(folder: Path) -> tuple[int, int] | None:
    """Which folder of this machine it is, itself and not one that a link leads to; None where it is gone."""
    try:
        state = folder.lstat()
    except FileNotFoundError:
        return None
    return state.st_dev, state.st_ino


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as listed:
        return sorted(listed, key=lambda entry: entry.name)


def _unlistable(root: Path, path: Path, error: OSError) -> FoundFile:
    def read() -> bytes:
        raise Unreadable(f"It could not be read: {error.strerror}.")

    return FoundFile(name=path.relative_to(root).as_posix(), read=read)


def file_at(path: Path, *, name: str, max_bytes: int, root: Path | None = None) -> FoundFile:
    """One file of this machine, which must lie below `root` when it is opened, if that is given."""
    return FoundFile(name=name, read=partial(_content, path, max_bytes, root))


def _content(path: Path, max_bytes: int, root: Path | None) -> bytes:
    try:
        # What was opened is looked at, not what has this name by now. A pipe must not be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode) or (root is not None and not _is_below(root, descriptor, path)):
                raise Unreadable("It is no file of this folder.")
            if state.st_size > max_bytes:
                raise Unreadable(f"Larger than {max_bytes} bytes. Split it.", code="too_large")
            return file.read(max_bytes)
    except OSError as error:
        raise Unreadable(f"It could not be read: {error.strerror}.") from None


def _is_below(root: Path, descriptor: int, path: Path) -> bool:
    """Whether an open file lies below a folder."""
    opened = Path(f"/proc/self/fd/{descriptor}")  # Linux alone has it
    real = os.path.realpath(opened if opened.exists() else path)
    return Path(real).is_relative_to(root)
