"""What the data folder keeps beside the data: locks, private files, and where the sockets lie."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

#: Longest path a unix socket may have on every system we know (Linux 107 bytes, macOS 103).
SOCKET_PATH_LIMIT = 103
LONGEST_SOCKET_NAME = ".s.PGSQL.5432"
_PREFIX = "ragsite-"
_SHORT_FOLDERS = ("/tmp", "/var/tmp")  # noqa: S108 (a private folder is made inside)


class UnableToStart(Exception):
    """The server cannot start or go on; the text says what to do. Shown on the console alone."""


class AlreadyRunning(UnableToStart):
    """Another process holds the data folder."""

    def __init__(self) -> None:
        super().__init__(
            "Another Ragsite is running on this data folder: stop it first, or choose another with --data."
        )


class FolderLock:
    """An exclusive lock that ends with the process that holds it, however that ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._descriptor is not None

    def acquire(self) -> None:
        """Raises AlreadyRunning at once when somebody else holds it."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise AlreadyRunning from None
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class SocketFolder:
    """A short 0700 temporary folder for sockets, recorded in the data folder to be cleared away."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._made: Path | None = None

    def make(self) -> Path:
        """Clear away what an earlier run left and make a new folder; the old one may be gone (a reboot)."""
        self.remove()
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=short_temporary_folder()))
        write_private(self._record, f"{path}\n")
        self._made = path
        return path

    def remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            recorded = Path(self._record.read_text(encoding="utf-8").strip())
            self._record.unlink()
            # Somebody else may have taken an old name since: touch only what is plainly ours. One that
            # this object made may have been given to another account.
            ours = recorded.name.startswith(_PREFIX) and recorded.lstat().st_uid == os.geteuid()
            if (ours or recorded == self._made) and not recorded.is_symlink():
                shutil.rmtree(recorded, ignore_errors=True)


def short_temporary_folder(preferred: str | None = None) -> str:
    """The first temporary folder in which a socket's path stays below the system's limit."""
    for folder in (preferred or tempfile.gettempdir(), *_SHORT_FOLDERS):
        longest = Path(folder) / f"{_PREFIX}12345678" / LONGEST_SOCKET_NAME
        if len(os.fsencode(longest)) <= SOCKET_PATH_LIMIT and os.access(folder, os.W_OK):
            return folder
    raise UnableToStart("No short writable temporary folder for sockets: set TMPDIR to one, e.g. /tmp.")


def make_private_folder(path: Path) -> Path:
    """Make the folder with mode 0700; one that exists keeps its mode."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise UnableToStart(f"The folder {path} cannot be made: {error.strerror}.") from None
    return path


def write_private(path: Path, text: str) -> None:
    """Write the whole file with mode 0600, or leave the old one."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
