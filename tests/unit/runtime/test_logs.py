"""Logs are bounded, put aside at a start, and only alarms reach a quiet console."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragsite.runtime import logs
from ragsite.runtime.logs import LogFile


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def test_lines_are_given_once_and_only_when_whole(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "web.log")
    log.begin()
    append(log.path, "one\ntw")
    assert log.new_lines() == ["one"]
    append(log.path, "o\n")
    assert log.new_lines() == ["two"]
    assert log.new_lines() == []


def test_a_start_puts_the_last_log_aside(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "web.log")
    log.begin()
    append(log.path, "first run\n")
    log.begin()
    assert log.path.read_text(encoding="utf-8") == ""
    assert (tmp_path / "web.log.1").read_text(encoding="utf-8") == "first run\n"
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_a_log_that_grows_is_cut_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAXIMUM_BYTES", 1000)
    log = LogFile(tmp_path / "web.log")
    log.begin()
    append(log.path, "x" * 1500 + "\n")
    log.new_lines()
    assert log.path.stat().st_size == 0
    append(log.path, "after\n")
    assert log.new_lines() == ["after"]
    assert (tmp_path / "web.log.1").stat().st_size == 1501


def test_the_tail_is_the_end_and_empty_without_a_file(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "web.log")
    assert log.tail() == ""
    assert log.new_lines() == []
    append(log.path, "".join(f"line {count}\n" for count in range(100)))
    assert log.tail(2) == "line 98\nline 99"


@pytest.mark.parametrize(
    ("line", "alarm"),
    [
        ("2026-01-01 [error    ] the leg failed", True),
        ("2026-01-01 [warning  ] slow", True),
        ('{"level": "error", "event": "x"}', True),
        ("ValueError: no", True),
        ("django.db.utils.OperationalError: gone", True),
        ("2026-01-01 [info     ] no errors found", False),
        ("errors=0 warnings=0", False),
    ],
)
def test_alarms(line: str, alarm: bool, tmp_path: Path) -> None:
    assert LogFile(tmp_path / "x").is_alarm(line) is alarm


def test_a_clients_mistake_is_no_alarm_of_the_database(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x", alarms=logs.DATABASE_ALARMS)
    assert not log.is_alarm("ERROR:  duplicate key value violates unique constraint")
    assert log.is_alarm("PANIC:  could not write to file")


def test_the_logs_of_a_few_runs_are_kept(tmp_path: Path) -> None:
    for run in range(9):
        log = LogFile(tmp_path / "web.log")
        log.begin()
        log.path.write_text(f"run {run}\n", encoding="utf-8")
    kept = {path.name: path.read_text(encoding="utf-8").strip() for path in tmp_path.iterdir()}
    assert kept == {"web.log": "run 8"} | {f"web.log.{n}": f"run {8 - n}" for n in range(1, 6)}
