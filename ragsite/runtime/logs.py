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


#: Logs of earlier runs: errors that jobs and answers refer to are still there after a few restarts.
KEPT = 5


class LogFile:
    """One child's log: `NAME.log`, and those before it as `NAME.log.1`, the newest, to `NAME.log.5`."""

    def __init__(self, path: Path, *, alarms: re.Pattern[str] = ALARMS) -> None:
        self.path = path
        self._alarms = alarms
        self._read = 0

    def begin(self) -> None:
        """Put the log of the last run aside and start an empty one with mode 0600."""
        if self.path.exists() and self.path.stat().st_size:
            self._make_room()
            self.path.replace(self._older(1))
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
            self._make_room()
            shutil.copyfile(self.path, self._older(1))
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

    def _make_room(self) -> None:
        for number in range(KEPT - 1, 0, -1):
            if self._older(number).exists():
                self._older(number).replace(self._older(number + 1))

    def _older(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")
