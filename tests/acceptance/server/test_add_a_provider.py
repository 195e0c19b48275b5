"""A1: docs/howto/add-a-provider.md, followed as it stands, on a server of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server.test_whole_server import ROOT, Server
from tests.unit.docs.howto_package import commands, make_package

#: Where the page's commands ask.
ADDRESS = "http://127.0.0.1:8000"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder in which the page is followed: of Ragsite it has the environment and the scripts."""
    for name in (".venv", "script"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """As `script/server` starts it, which the page calls; to be started by the test."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(tmp_path / "plugins")]))
    server = Server(tmp_path / "data")
    yield server
    server.http.close()
    if server.process is not None:
        server.stop()


def run(command: str, *, place: Path) -> str:
    environ = os.environ | {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        ["bash", "-euc", command], cwd=place, env=environ, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def answers(command: str, *, place: Path, port: int) -> list[Any]:
    """What each `curl` of a block answers."""
    told = run(command.replace(ADDRESS, f"http://127.0.0.1:{port}"), place=place)
    decoder, found = json.JSONDecoder(), []
    while told := told.strip():
        value, end = decoder.raw_decode(told)
        found.append(value)
        told = told[end:]
    return found


def test_a_1_1_the_five_steps_add_a_provider(place: Path, server: Server) -> None:
    assert make_package(place) == ["ragsite-folder/pyproject.toml", "ragsite-folder/ragsite_folder.py"]
    install, start, connect, use = commands()
    run(install, place=place)
    assert start == 'PYTHONPATH="$PWD/plugins" script/server\n'
    server.start()
    listed, made, tested = answers(connect, place=place, port=server.port)
    folder = next(one for one in listed["providers"] if one["name"] == "folder")
    assert (folder["label"], folder["is_usable"], folder["reason"]) == ("Folder", True, None)
    assert folder["connection_schema"]["required"] == ["folder"]
    assert (made["name"], made["provider"], made["settings"]) == ("notes", "folder", {"folder": "notes"})
    assert tested["status"] == "healthy"
    collection, added, found = answers(use, place=place, port=server.port)
    assert collection["name"] == "tea"
    assert added["ids"] == ["a", "b"]
    assert [one["id"] for one in found["results"]] == ["a"]
    assert list((server.data / "connections" / "notes").glob("*.value"))
