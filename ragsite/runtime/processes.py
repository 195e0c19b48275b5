"""Starting processes that never outlive us, and finding those that an earlier run left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

_PR_SET_PDEATHSIG = 1
_libc: Any = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None

Pause = Callable[[float], None]


def spawn(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    output: Path | None,
    when_parent_dies: signal.Signals = signal.SIGKILL,
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own; `output` None lets it write to our own console.

    On Linux the kernel sends it `when_parent_dies` when the calling thread ends, so call this from the
    main thread. Elsewhere the next start finds what was left.
    """
    parent = os.getpid()

    def follow_parent() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, int(when_parent_dies))
            if os.getppid() != parent:  # the parent died before the line above
                os._exit(1)

    with contextlib.ExitStack() as stack:
        log = None if output is None else stack.enter_context(output.open("ab"))
        return subprocess.Popen(  # noqa: S603 (the commands are ours, no shell)
            list(command),
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=None if log is None else subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,  # the broker's journal and the logs hold what people searched and sent
            preexec_fn=follow_parent,  # safe: we have one thread
        )


def signal_group(leader: int, number: signal.Signals) -> None:
    """Send a signal to a process started by `spawn` and to everything it started; gone ones are fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def wait_for_end(processes: Iterable[subprocess.Popen[bytes]], *, seconds: float, pause: Pause) -> bool:
    """True when all of them ended within the time."""
    waiting = list(processes)
    deadline = time.monotonic() + seconds
    while waiting := [process for process in waiting if process.poll() is None]:
        if time.monotonic() >= deadline:
            return False
        pause(0.05)
    return True


def with_working_folder(*, name: str, folders: Iterable[Path]) -> list[psutil.Process]:
    """Living processes of that program name whose working folder is one of `folders`."""
    wanted = {str(folder.resolve()) for folder in folders}
    found = []
    for process in psutil.process_iter(["name", "cwd"]):
        if process.info["name"] == name and process.info["cwd"] in wanted and _lives(process):
            found.append(process)
    return found


def with_environment(pids: Iterable[int], *, variable: str, value: str) -> list[psutil.Process]:
    """Those of `pids` that live and carry our mark; a pid that was given to a stranger does not."""
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if _lives(process) and process.environ().get(variable) == value:
                found.append(process)
    return found


def end_leftovers(
    processes: Sequence[psutil.Process], steps: Sequence[tuple[signal.Signals, float]]
) -> list[psutil.Process]:
    """Ask ever more firmly: each step is a signal and the seconds to wait for it. Returns who still lives."""
    living = [process for process in processes if _lives(process)]
    for number, seconds in steps:
        for process in living:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        deadline = time.monotonic() + seconds
        while (living := [process for process in living if _lives(process)]) and time.monotonic() < deadline:
            time.sleep(0.05)
    return living


def _lives(process: psutil.Process) -> bool:
    # Where nobody reaps orphans (a container without an init) an ended process stays as a zombie.
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
