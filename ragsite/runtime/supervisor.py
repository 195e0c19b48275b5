"""Runs one server: starts its processes in order, watches them, and stops all of them. Stays light itself."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Mapping, Sequence
from functools import partial
from types import FrameType

from core_app.config import DATA_VARIABLE
from ragsite.embedded import RUNTIME_FILE
from ragsite.runtime import logs
from ragsite.runtime.broker import embedded_broker, find_server
from ragsite.runtime.children import Child, Process, end_all, failure, say
from ragsite.runtime.folders import (
    FolderLock,
    SocketFolder,
    UnableToStart,
    make_private_folder,
    write_private,
)
from ragsite.runtime.health import check_port_is_free, is_healthy
from ragsite.runtime.plan import (
    BROKER_VARIABLE,
    DATABASE_VARIABLE,
    ROOT,
    Options,
    Plan,
    base_url,
    given,
    server_plan,
)
from ragsite.runtime.postgres import EmbeddedPostgres
from ragsite.runtime.processes import end_leftovers, spawn, with_environment

READY_SECONDS = 300.0
_TICK_SECONDS = 0.2
_PROCESSES_FILE = "processes.json"
_LEFTOVER_STEPS = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 10.0))
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """Somebody pressed Ctrl-C or asked the supervisor to end."""


class StepFailed(UnableToStart):
    """A command that should have ended well did not."""


class Supervisor:
    """One run of one server, from the lock on its data folder to the last process gone."""

    def __init__(self, options: Options, *, plan: Plan | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._options = options
        self._plan = plan or server_plan(options)
        self._data = options.data
        self._environment = dict(os.environ if environ is None else environ)
        self._environment |= {DATA_VARIABLE: str(self._data), "PYTHONUNBUFFERED": "1"}
        self._children: dict[str, Child] = {}
        self._steps: dict[str, Process] = {}
        self._postgres: EmbeddedPostgres | None = None
        self._broker_sockets = SocketFolder(self._data / "broker.sockets")
        #: Of `rag_database` and `broker` those that somebody else runs.
        self._configured: set[str] = set()
        self._signals = 0
        self._settled = False

    def run(self) -> int:
        """Serve until asked to stop; returns the exit status."""
        for number in _STOP_SIGNALS:
            signal.signal(number, self._note_signal)
        lock = FolderLock(self._data / "supervisor.lock")
        try:
            make_private_folder(self._data)
            lock.acquire()
        except UnableToStart as error:
            say(str(error))
            return 1
        try:
            self._start()
            while True:
                self.pause(_TICK_SECONDS)
        except StopRequested:
            return 0
        except UnableToStart as error:
            say(str(error))
            return 1
        finally:
            self._stop()
            lock.release()

    def pause(self, seconds: float) -> None:
        """Wait; meanwhile show logs and start dead children again. Raises StopRequested and UnableToStart."""
        if self._signals:
            raise StopRequested
        for child in self._children.values():
            child.show_log(everything=self._options.verbose)
            if child.watch(now=time.monotonic(), settled=self._settled):
                self._record()
        time.sleep(seconds)

    def _note_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1

    def _start(self) -> None:
        began = time.monotonic()
        self._end_leftovers()
        check_port_is_free(self._options.host, self._options.port)
        for name in ("logs", "beat"):
            make_private_folder(self._data / name)
        self._preflight()
        self._start_database()
        self._start_broker()
        addresses = {"rag_database": DATABASE_VARIABLE, "broker": BROKER_VARIABLE}
        found = {key: given(self._environment, variable) for key, variable in addresses.items()}
        write_private(self._data / RUNTIME_FILE, json.dumps(found))
        for name, command in self._plan.prepare.items():
            self._run_step(name, command, log=self._begin_log(name))
        for name, command in self._plan.children.items():
            self._start_child(name, command)
        for name, command in self._plan.accounts.items():
            self._run_step(name, command)
        self._wait_until_healthy()
        self._load_demo()
        self._announce(time.monotonic() - began)

    def _preflight(self) -> None:
        """Refuse what cannot work before anything is started, and learn what need not be started."""
        for name, command in self._plan.check.items():
            log = self._begin_log(name)
            try:
                self._run_step(name, command, log=log)
            except StepFailed:
                raise UnableToStart(log.tail()) from None
            self._configured |= set(json.loads(log.path.read_text(encoding="utf-8").splitlines()[-1]))

    def _start_database(self) -> None:
        if "rag_database" in self._configured or given(self._environment, DATABASE_VARIABLE):
            return
        log = self._begin_log("postgres", alarms=logs.DATABASE_ALARMS)
        self._postgres = EmbeddedPostgres(self._data)
        self._environment[DATABASE_VARIABLE] = self._postgres.start(pause=self.pause).url
        assert self._postgres.process is not None
        self._children["postgres"] = Child(
            name="postgres", launch=self._postgres.launch, log=log, process=self._postgres.process
        )

    def _start_broker(self) -> None:
        if "broker" in self._configured or given(self._environment, BROKER_VARIABLE):
            return
        broker = embedded_broker(self._data, self._broker_sockets, server=find_server())
        self._environment[BROKER_VARIABLE] = broker.url
        if broker.command is None:
            say("No redis-server or valkey-server was found: messages go through folders, which is slower.")
        else:
            # Asked, not killed, when we die: it writes its last messages down.
            self._start_child("broker", broker.command, alarms=logs.BROKER_ALARMS, when_parent_dies=signal.SIGTERM)

    def _begin_log(self, name: str, *, alarms: re.Pattern[str] = logs.ALARMS) -> logs.LogFile:
        log = logs.LogFile(self._data / "logs" / f"{name}.log", alarms=alarms)
        log.begin()
        return log

    def _start_child(
        self,
        name: str,
        command: Sequence[str],
        *,
        alarms: re.Pattern[str] = logs.ALARMS,
        when_parent_dies: signal.Signals = signal.SIGKILL,
    ) -> None:
        log = self._begin_log(name, alarms=alarms)
        launch = partial(
            spawn,
            command,
            environment=dict(self._environment),
            folder=ROOT,
            output=log.path,
            when_parent_dies=when_parent_dies,
        )
        self._children[name] = Child(name=name, launch=launch, log=log, process=launch())
        self._record()

    def _run_step(self, name: str, command: Sequence[str], *, log: logs.LogFile | None = None) -> None:
        """Run a command to its end while the children are watched; without a log it has the console."""
        output = log.path if log else None
        self._steps[name] = spawn(command, environment=self._environment, folder=ROOT, output=output)
        self._record()
        while (code := self._steps[name].poll()) is None:
            self.pause(0.05)
        del self._steps[name]
        self._record()
        if code != 0:
            raise StepFailed(failure(name, code, log))

    def _wait_until_healthy(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not is_healthy(self._options.host, self._options.port):
            if time.monotonic() > deadline:
                folder = self._data / "logs"
                raise UnableToStart(f"/health did not answer 200 within {READY_SECONDS:.0f} s; see {folder}.")
            self.pause(0.1)
        self._settled = True

    def _load_demo(self) -> None:
        """Once for a data folder: a demo that somebody deleted stays deleted."""
        done = self._data / "demo.loaded"
        if done.exists():
            return
        for name, command in self._plan.demo.items():
            try:
                self._run_step(name, command)
            except StepFailed as error:
                say(f"{error} The server runs without the demo; the next start tries again.")
            else:
                done.touch(mode=0o600)

    def _announce(self, seconds: float) -> None:
        url = base_url(self._options.host, self._options.port)
        say(
            f"Ragsite is ready (after {seconds:.0f} s).\n"
            f"  Console  {url}/admin/\n"
            f"  Swagger  {url}/swagger\n"
            f"  Health   {url}/health\n"
            f"  Logs     {self._data / 'logs'}\n"
            "Press Ctrl-C to stop."
        )

    def _record(self) -> None:
        """Note who runs, for a start after a kill that gave us no chance to stop them."""
        pids = {name: child.process.pid for name, child in self._children.items()}
        pids |= {name: process.pid for name, process in self._steps.items()}
        write_private(self._data / _PROCESSES_FILE, json.dumps(pids))

    def _end_leftovers(self) -> None:
        with contextlib.suppress(FileNotFoundError, ValueError):
            recorded = json.loads((self._data / _PROCESSES_FILE).read_text(encoding="utf-8"))
            ours = with_environment(recorded.values(), variable=DATA_VARIABLE, value=str(self._data))
            if living := end_leftovers(ours, _LEFTOVER_STEPS):
                raise UnableToStart(f"A process (pid {living[0].pid}) of an earlier run does not end.")

    def _stop(self) -> None:
        """Reverse order: beat, workers and web together, then the broker, the database last."""
        if self._children:
            say("Stopping ...")
        asked = max(1, self._signals)

        def hurry() -> bool:  # asked once more while stopping
            return self._signals > asked

        serving = [c.process for name, c in self._children.items() if name not in ("postgres", "broker")]
        end_all([*self._steps.values(), *reversed(serving)], hurry=hurry)
        end_all([c.process for name, c in self._children.items() if name == "broker"], hurry=hurry)
        if self._postgres is not None:
            self._postgres.stop()
        self._broker_sockets.remove()
        for name in (RUNTIME_FILE, _PROCESSES_FILE):
            (self._data / name).unlink(missing_ok=True)
        if self._children:
            say("Stopped.")
