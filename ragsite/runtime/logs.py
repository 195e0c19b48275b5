"""Follows the log files that the children write by themselves: bounded, and their alarms on the console.

The children write to the files directly, so a busy or dead supervisor never blocks or silences them.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

MAXIMUM_BYTES = 10 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024
ALARMS = re.compile(
    r"\b(?:WARNING|ERROR|CRITICAL)\b|\[(?:warning|error|critical)\b"
    r"|\"level\": ?\"(?:warning|error|critical)\"|^\S*(?:Error|Exception): "
)
#: A client's mistake is an ERROR to Postgres, who asks too early is told so with FATAL, and Redis warns of the
#: machine at every start: not alarms.
DATABASE_ALARMS = re.compile(r"\b(?:FATAL|PANIC):(?!  the database system is starting up)")
BROKER_ALARMS = re.compile(r"(?i)\bfatal\b|\berror\b|\bcan't\b")


class LogFile:
    """One child's log: `NAME.log`, and the one before it as `NAME.log.1`."""

    def __init__(self, path: Path, *, alarms: re.Pattern[str] = ALARMS) -> None:
        self.path = path
        self._alarms = alarms
        self._read = 0

    def begin(self) -> None:
        """Put the log of the last run aside and start an empty one with mode 0600."""
        if self.path.exists() and self.path.stat().st_size:
            self.path.replace(self._older)
        self.path.touch(mode=0o600)
        self._read = 0

    def new_lines(self) -> list[str]:
        """What was written since the last call, whole lines only; then keeps the file within its bound."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self._read)
            chunk = file.read(_CHUNK_BYTES)
        complete = chunk if len(chunk) == _CHUNK_BYTES else chunk[: chunk.rfind(b"\n") + 1]
        self._read += len(complete)
        if self._read > MAXIMUM_BYTES:
            # Writers append, so they go on at the new end; a line written in between may be lost.
            shutil.copyfile(self.path, self._older)
            with self.path.open("rb+") as file:
                file.truncate(0)
            self._read = 0
        return complete.decode(errors="replace").splitlines()

    def is_alarm(self, line: str) -> bool:
        """Whether a line belongs on the console even when that is kept quiet."""
        return self._alarms.search(line) is not None

    def tail(self, lines: int = 8) -> str:
        """The last lines, for the message that says why a child could not go on."""
        if not self.path.exists():
            return ""
        with self.path.open("rb") as file:
            file.seek(max(0, self.path.stat().st_size - 16 * 1024))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])

    @property
    def _older(self) -> Path:
        return self.path.with_name(f"{self.path.name}.1")
