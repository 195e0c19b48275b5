"""The command line of `script/server` and the commands it makes of it (api.md, Running)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ragsite.runtime.plan import ROOT, Options, base_url, given, server_plan
from ragsite.up import parse


def test_defaults() -> None:
    assert parse([]) == Options(data=ROOT / "var", host="127.0.0.1", port=8000, demo=True, verbose=False)


def test_own_flags_are_taken_and_others_passed_on_to_serve(tmp_path: Path) -> None:
    options = parse(["--port", "8123", "--cross-encoder", "name", "--data", str(tmp_path), "--no-demo"])
    assert (options.port, options.data, options.demo) == (8123, tmp_path, False)
    assert options.serve_flags == ("--cross-encoder", "name")
    assert server_plan(options).children["web"][-2:] == ("--cross-encoder", "name")


def test_a_flag_of_serve_is_not_taken_for_the_start_of_one_of_ours() -> None:
    assert parse(["--ver"]).serve_flags == ("--ver",)


def test_a_relative_data_folder_becomes_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse(["--data", "here"]).data == tmp_path / "here"


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "٣"])
def test_a_port_that_cannot_be_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refusal:
        parse([f"--port={port}"])
    assert refusal.value.code == 2
    assert "--port" in capsys.readouterr().err


def test_every_process_runs_under_our_own_python(tmp_path: Path) -> None:
    plan = server_plan(Options(data=tmp_path))
    commands = [*plan.prepare.values(), *plan.children.values(), *plan.accounts.values(), *plan.demo.values()]
    assert {command[0] for command in commands} == {sys.executable}
    assert list(plan.children) == ["web", "worker", "control", "sync", "maintenance", "beat"]
    queues = {"worker": "default", "control": "control", "sync": "sync", "maintenance": "maintenance"}
    for name, queue in queues.items():
        command = plan.children[name]
        assert command[command.index("-Q") + 1] == queue
        assert command[command.index("--pool") + 1] == "solo"
    assert str(tmp_path / "beat" / "schedule") in plan.children["beat"]


def test_no_demo_means_no_command_for_it(tmp_path: Path) -> None:
    assert server_plan(Options(data=tmp_path, demo=False)).demo == {}


def test_variables_are_found_in_any_case_and_empty_ones_are_not() -> None:
    assert given({"CONNECTIONSTRINGS__BROKER": "redis://x"}, "ConnectionStrings__Broker") == "redis://x"
    assert given({"ConnectionStrings__Broker": ""}, "ConnectionStrings__Broker") is None


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),  # noqa: S104
        ("::", "http://[::1]:80"),
        ("localhost", "http://localhost:80"),
    ],
)
def test_what_to_open(host: str, url: str) -> None:
    assert base_url(host, 80) == url
