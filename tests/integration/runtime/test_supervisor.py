"""The supervisor with small children: starts, deaths, stops, and what is left after a kill (nothing)."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from ragsite.runtime.health import check_port_is_free
from ragsite.runtime.plan import ROOT
from ragsite.runtime.processes import with_environment

_PATIENCE_SECONDS = 60.0
Start = Callable[..., "Running"]


class Running:
    """A supervisor in a process of its own, its console in a file."""

    def __init__(self, data: Path, port: int, kind: str, console: Path) -> None:
        self.data, self.port, self.console = data, port, console
        with console.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.runtime.fake_server", str(data), str(port), kind],
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def says(self, text: str) -> str:
        """Wait until the console holds the text; returns all of it."""
        self.until(lambda: text in self.output or self.process.poll() is not None)
        assert text in self.output
        return self.output

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)

    def ends(self) -> int:
        return self.process.wait(timeout=_PATIENCE_SECONDS)

    @property
    def output(self) -> str:
        return self.console.read_text(encoding="utf-8")

    @property
    def pids(self) -> dict[str, int]:
        found: dict[str, int] = json.loads((self.data / "processes.json").read_text(encoding="utf-8"))
        return found

    def everybody(self) -> list[psutil.Process]:
        """All living processes that carry this server's mark, recorded or not."""
        return with_environment(psutil.pids(), variable="RAGSITE_DATA", value=str(self.data))


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def start(tmp_path: Path, port: int) -> Iterator[Start]:
    started: list[Running] = []

    def run(kind: str = "plain") -> Running:
        running = Running(tmp_path / "data", port, kind, tmp_path / f"console-{len(started)}")
        started.append(running)
        return running

    yield run
    for running in started:
        if running.process.poll() is None:
            running.process.terminate()
        running.ends()
        for process in running.everybody():
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything_and_the_status_is_zero(start: Start, number: signal.Signals) -> None:
    running = start("with_offspring")
    output = running.says("Ragsite is ready")
    assert f"http://127.0.0.1:{running.port}/admin/" in output
    assert f"http://127.0.0.1:{running.port}/swagger" in output
    assert len(running.everybody()) == 3
    running.process.send_signal(number)
    assert running.ends() == 0
    assert running.everybody() == []
    assert not (running.data / "runtime.json").exists()


def test_other_shells_find_the_addresses_in_a_private_file(start: Start) -> None:
    running = start()
    running.says("Ragsite is ready")
    runtime = running.data / "runtime.json"
    assert runtime.stat().st_mode & 0o777 == 0o600
    assert json.loads(runtime.read_text(encoding="utf-8")) == {
        "rag_database": "postgresql://given",
        "broker": "memory://",
    }


def test_the_demo_is_loaded_once(start: Start) -> None:
    for expected in (1, 0):
        running = start()
        assert running.says("Ragsite is ready").count("demo loaded") == expected
        running.process.terminate()
        assert running.ends() == 0


def test_a_killed_child_is_started_again(start: Start) -> None:
    running = start()
    running.says("Ragsite is ready")
    before = running.pids["worker"]
    os.kill(before, signal.SIGKILL)
    running.says("worker ended (killed by SIGKILL); starting it again in 0.5 s.")
    running.until(lambda: running.pids["worker"] != before)


def test_five_deaths_within_a_minute_end_everything_and_say_why(start: Start) -> None:
    running = start("dying")
    assert running.ends() == 1
    assert running.output.count("starting it again") == 4
    assert "worker failed (exit status 3)" in running.output
    assert "the cupboard is bare" in running.output
    assert running.everybody() == []


def test_a_child_that_refuses_its_flags_is_not_tried_again(start: Start) -> None:
    running = start("refused")
    assert running.ends() == 1
    assert "starting it again" not in running.output
    assert "no such flag" in running.output
    assert running.everybody() == []


def test_asked_twice_it_does_not_wait_for_a_stubborn_child(start: Start) -> None:
    running = start("stubborn")
    running.says("Ragsite is ready")
    running.process.send_signal(signal.SIGINT)
    running.says("Stopping")
    running.process.send_signal(signal.SIGINT)
    assert running.ends() == 0
    assert running.everybody() == []


def test_a_signal_during_a_step_ends_that_too(start: Start) -> None:
    running = start("slow_step")
    running.until(lambda: (running.data / "processes.json").exists() and "migrate" in running.pids)
    running.process.terminate()
    assert running.ends() == 0
    assert running.everybody() == []


def test_a_kill_of_the_supervisor_leaves_nothing_that_hinders_the_next_start(start: Start) -> None:
    first = start("with_offspring")
    first.says("Ragsite is ready")
    first.process.kill()
    first.ends()
    second = start()
    second.says("Ragsite is ready")
    assert {process.pid for process in second.everybody()} >= set(second.pids.values())


def test_a_pid_that_now_belongs_to_a_stranger_is_left_alone(start: Start, tmp_path: Path) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        (tmp_path / "data").mkdir(mode=0o700)
        (tmp_path / "data" / "processes.json").write_text(json.dumps({"web": stranger.pid}))
        start().says("Ragsite is ready")
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_second_supervisor_on_the_folder_is_refused(start: Start) -> None:
    first = start()
    first.says("Ragsite is ready")
    second = start()
    assert second.ends() == 1
    assert "Another Ragsite is running" in second.output
    assert first.process.poll() is None
    assert (first.data / "runtime.json").exists()


def test_a_port_in_use_is_a_sentence_before_anything_starts(start: Start, port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        running = start()
        assert running.ends() == 1
    assert f"Port {port} on 127.0.0.1 is already in use" in running.output
    assert not (running.data / "logs").exists()


def test_an_address_that_is_not_ours_is_a_sentence(port: int) -> None:
    with pytest.raises(Exception, match="not an address of this machine"):
        check_port_is_free("192.0.2.1", port)


def test_database_and_broker_live_through_kills_and_end_with_the_rest(start: Start) -> None:
    running = start("stores")
    running.says("Ragsite is ready")
    before = running.pids
    for name in ("postgres", "broker"):
        os.kill(before[name], signal.SIGKILL)
    running.until(lambda: all(running.pids[name] != before[name] for name in ("postgres", "broker")))
    addresses = json.loads((running.data / "runtime.json").read_text(encoding="utf-8"))
    assert addresses["broker"].startswith(("redis+socket:///", "filesystem:///"))
    after = [psutil.Process(pid) for pid in running.pids.values()]
    running.process.terminate()
    assert running.ends() == 0
    assert not any(process.is_running() for process in after)
    assert list(running.data.glob("*.sockets")) == []
