"""The configuration as an operator meets it: real processes, their output and exit status (FR-007, NFR-004)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run(tmp_path: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A command of this project in a shell that has nothing configured."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**kept, "RAGSITE_DATA": str(tmp_path / "data"), **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_settings_prints_what_is_in_effect_with_secrets_masked(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "manage.py",
        "settings",
        Search__Candidates="123",
        Security__SecretKey="hunter2-secret",
        ConnectionStrings__RagDatabase="postgresql://u:hunter2@h/d",
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["Environment"] == "Development"
    assert shown["Search"]["Candidates"] == 123
    assert shown["Search"]["UseHybridSearch"] is True
    assert shown["Security"]["SecretKey"] == shown["ConnectionStrings"]["RagDatabase"] == "********"
    assert "hunter2" not in done.stdout + done.stderr


def test_b2_4_a_wrong_word_is_a_warning_and_the_start_goes_on(tmp_path: Path) -> None:
    done = run(tmp_path, "manage.py", "settings", USE_HYBRID_SEARCH="perhaps")
    assert done.returncode == 0
    assert json.loads(done.stdout)["Search"]["UseHybridSearch"] is False
    assert done.stderr.startswith("warning: USE_HYBRID_SEARCH")


@pytest.mark.parametrize(
    ("environ", "line"),
    [
        ({"Search__Candidates": "5"}, "Search:Candidates: Input should be greater than or equal to 10"),
        ({"Serach__Candidates": "5", "Search__Candidate": "5"}, "Search:Candidate: unknown setting"),
        ({"RAGSITE_ENVIRONMENT": "../etc"}, "RAGSITE_ENVIRONMENT: use letters"),
        ({"RAGSITE_ENVIRONMENT": "Production"}, "ConnectionStrings:RagDatabase: set it to postgresql://"),
        ({"ConnectionStrings__RagDatabase": "hunter2 is no DSN"}, "ConnectionStrings:RagDatabase: not a connection"),
    ],
)
@pytest.mark.parametrize("command", [["manage.py", "settings"], ["server.py", "--port", "1"]], ids=["manage", "server"])
def test_a_mistake_stops_every_start_with_a_line_and_no_trace(
    tmp_path: Path, command: list[str], environ: dict[str, str], line: str
) -> None:
    done = run(tmp_path, *command, **environ)
    assert done.returncode == 1
    assert done.stdout == ""
    assert line in done.stderr
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr


def test_the_page_on_configuration_is_up_to_date(tmp_path: Path) -> None:
    done = run(tmp_path, "manage.py", "config_reference", "--check")
    assert done.returncode == 0, done.stderr


def test_an_open_bind_is_refused_while_no_key_is_asked_for(tmp_path: Path) -> None:
    done = run(tmp_path, "server.py", "--host", "0.0.0.0", "--port", "1")  # noqa: S104
    assert done.returncode == 1
    assert "Refusing to listen on 0.0.0.0" in done.stderr
    assert "Security:RequireKeys" in done.stderr
    assert "Traceback" not in done.stderr
