"""The `git` program, without the settings of whoever runs this server, and stopped with all that it started."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from ingest_app.origins.found import Unreadable
from ingest_app.origins.time_limit import TimeLimit

#: The file that holds what the last git printed.
PRINTED = "printed"
#: The first that can be told the address of a host (`http.curloptResolve`).
_OLDEST = (2, 37)
_WAIT_SECONDS = 0.2
# A folder of many files takes long to measure, and a disk as long to read it: git gets five times as much.
_PAUSE_SHARE = 5
_BLOCK = 4096
_MOST_READ = 4096
_SAFE = {
    # A repository brings no program to run along, and no links that lead out of it.
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.symlinks": "false",
    "core.autocrlf": "false",
    "credential.helper": "",
    "submodule.recurse": "false",
    "protocol.allow": "never",
    "protocol.http.allow": "always",
    "protocol.https.allow": "always",
    "http.followRedirects": "false",
    "http.proxy": "",
    "http.sslVerify": "true",
    "transfer.bundleURI": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    # Should this process die, git gives up on a silent server by itself.
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "600",
    # Large packs are looked at through a window, so that what git takes beside it can be measured.
    "core.packedGitWindowSize": "32m",
    "core.packedGitLimit": "256m",
    "pack.threads": "1",
}


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """When a running git is stopped: its folder, its memory, the time."""

    folder: Path
    max_bytes: int
    max_memory_bytes: int
    time_limit: TimeLimit


class GitFailed(Exception):
    """git ended with an error; `complaints` are its last lines."""

    def __init__(self, complaints: str) -> None:
        super().__init__("git failed")
        self.complaints = complaints


def git_program() -> str:
    """Where git is. Raises Unreadable where there is none, or an old one."""
    program = shutil.which("git")
    if program is None:
        raise Unreadable("This server has no git: whoever runs it can install it.", code="git_missing")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - no input
    version = re.search(r"(\d+)\.(\d+)", said.stdout)
    if version is None or (int(version[1]), int(version[2])) < _OLDEST:
        raise Unreadable("The git of this server is too old: 2.37 or newer is needed.", code="git_too_old")
    return program


def run_git(arguments: Sequence[str], *, bounds: Bounds, settings: Sequence[tuple[str, str]] = ()) -> str:
    """The end of what git prints; all of it stands in the folder's file PRINTED.

    Raises GitFailed, Unreadable when a bound is reached, and what the check raises.
    """
    options = [part for pair in [*_SAFE.items(), *settings, *_trusted()] for part in ("-c", "=".join(pair))]
    # Files and not pipes: whatever a server makes git say counts as part of the folder.
    printed, complaints = bounds.folder / PRINTED, bounds.folder / "complaints"
    with printed.open("wb") as output, complaints.open("wb") as errors:
        process = subprocess.Popen(  # noqa: S603 - no shell; URL and branch were checked and stand behind `--`
            [git_program(), *options, *arguments],
            cwd=bounds.folder,
            env=_environment(bounds.folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            _watch(process, bounds)
        finally:
            _kill(process)
    if process.returncode != 0:
        raise GitFailed(_end_of(complaints))
    return _end_of(printed)


def _environment(folder: Path) -> dict[str, str]:
    """Made from nothing: no proxy, no credentials, no settings but ours. In English, for its lines are read."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "http:https",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
    }


def _trusted() -> list[tuple[str, str]]:
    """The certificates that the rest of this server trusts, where they are not the system's."""
    named = (("http.sslCAInfo", "SSL_CERT_FILE"), ("http.sslCAPath", "SSL_CERT_DIR"))
    return [(name, os.environ[variable]) for name, variable in named if os.environ.get(variable)]


def _watch(process: subprocess.Popen[bytes], bounds: Bounds) -> None:
    """Wait for the end, or raise when a bound is reached."""
    pause = _WAIT_SECONDS
    while process.returncode is None:
        left = bounds.time_limit.left()
        with suppress(subprocess.TimeoutExpired):
            process.wait(min(pause, left))
        started = time.monotonic()
        if _memory_of(process.pid) > bounds.max_memory_bytes:
            raise Unreadable("Unpacking the repository takes too much memory.", code="too_large")
        if _size_of(bounds.folder, most=bounds.max_bytes) > bounds.max_bytes:
            raise Unreadable(
                f"The repository takes more than {bounds.max_bytes} bytes of disk, which is the most allowed.",
                code="too_large",
            )
        pause = max(_WAIT_SECONDS, _PAUSE_SHARE * (time.monotonic() - started))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End git and all that it started, unless it has ended: its number might be another's by then."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _memory_of(pid: int) -> int:
    """What git and its children hold for themselves; pages of files that they look at can be taken back."""
    try:
        git = psutil.Process(pid)
        return sum(_own_memory(process) for process in [git, *git.children(recursive=True)])
    except psutil.Error:  # it ended just now
        return 0


def _own_memory(process: psutil.Process) -> int:
    memory = process.memory_info()
    return int(memory.rss - getattr(memory, "shared", 0))


def _size_of(folder: Path, *, most: int) -> int:
    """Bytes that a folder takes on the disk; counted only until it is clear that they are too many.

    What lies so deep that it cannot be looked at is too much: git itself can write there.
    """
    total = 0
    waiting = [folder]
    while waiting and total <= most:
        with _gone_or_refused(), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with _gone_or_refused():
                    # An empty file takes room, too: a small repository can hold millions.
                    total += -(-max(entry.stat(follow_symlinks=False).st_size, 1) // _BLOCK) * _BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
    return total


@contextmanager
def _gone_or_refused() -> Iterator[None]:
    """git renames and removes what it is done with, which is no error; a path that is too long is refused."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise too_deep() from None


def too_deep() -> Unreadable:
    """What a repository is refused with whose paths are longer than this system can follow."""
    return Unreadable("The repository has folders nested too deeply to be read.", code="git_failed")


def _end_of(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _MOST_READ))
        return file.read().decode("utf-8", errors="replace")
