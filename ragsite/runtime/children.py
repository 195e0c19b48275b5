"""The processes of a running server: started again when they die, given up when that does not help."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ragsite.runtime.folders import UnableToStart
from ragsite.runtime.logs import LogFile
from ragsite.runtime.processes import signal_group, wait_for_end
from ragsite.runtime.restarts import RestartPolicy

GRACE_SECONDS = 12.0

Process = subprocess.Popen[bytes]


@dataclass(kw_only=True)
class Child:
    """One process, under the name that its log has."""

    name: str
    launch: Callable[[], Process]
    log: LogFile
    process: Process
    policy: RestartPolicy = field(default_factory=RestartPolicy)
    start_again_at: float | None = None

    def watch(self, *, now: float, settled: bool) -> bool:
        """Note a death, start again when it is time: True when a new process was started.

        Until the server has `settled`, an exit by itself is a wrong setting or flag, which trying again
        does not change. Raises UnableToStart with the log's last lines.
        """
        if self.start_again_at is not None:
            if now < self.start_again_at:
                return False
            self.start_again_at = None
            self.process = self.launch()
            return True
        code = self.process.poll()
        if code is None:
            return False
        signal_group(self.process.pid, signal.SIGKILL)  # whatever it had started
        delay = self.policy.died(now) if settled or code < 0 else None
        if delay is None:
            raise UnableToStart(failure(self.name, code, self.log))
        say(f"{self.name} ended ({ending(code)}); starting it again in {delay:g} s.")
        self.start_again_at = now + delay
        return False

    def show_log(self, *, everything: bool) -> None:
        """Copy new lines to the console: all of them, or those that are alarms."""
        for line in self.log.new_lines():
            if everything or self.log.is_alarm(line):
                say(f"{self.name:>8} | {line}")


def end_all(processes: list[Process], *, hurry: Callable[[], bool]) -> None:
    """Ask all of them to end, in this order; kill with their offspring those that do not in time."""
    for process in processes:
        signal_group(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while any(process.poll() is None for process in processes):
        if hurry() or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    for process in processes:
        signal_group(process.pid, signal.SIGKILL)
    wait_for_end(processes, seconds=10, pause=time.sleep)


def failure(name: str, code: int, log: LogFile | None) -> str:
    """Why the server cannot go on without this process."""
    told = f"; the last lines of {log.path}:\n{log.tail()}" if log else "."
    return f"{name} failed ({ending(code)}){told}"


def ending(code: int) -> str:
    """An exit status in words."""
    if code >= 0:
        return f"exit status {code}"
    names: Mapping[int, str] = {number: number.name for number in signal.Signals}
    return f"killed by {names.get(-code, f'signal {-code}')}"


def say(text: str) -> None:
    """Write to the console; that may have been closed, which must not keep us from stopping cleanly."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
