"""The commands print names of files, places and errors without what a terminal would obey."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from ingest_app import watching
from ingest_app.connectors import run_connector
from ingest_app.management.commands import connectors as connectors_command
from ingest_app.models import Job
from ingest_app.submitting import submit
from tests.integration.ingest.connecting import make, run, work_off

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]

RED, BACKWARDS = "\x1b[31mred\x1b[0m.md", "\N{RIGHT-TO-LEFT OVERRIDE}dm.txt.md"
#: What is printed of them.
SHOWN_RED, SHOWN_BACKWARDS = "\ufffd[31mred\ufffd[0m.md", "\ufffddm.txt.md"


def printed(*command: str) -> list[str]:
    """The lines that a command writes, whether or not it ends with an error: each has to be plain."""
    written = StringIO()
    try:
        call_command(*command, stdout=written, stderr=written, no_color=True)
    except CommandError as error:
        written.write(f"{error}\n")
    lines = written.getvalue().split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    return lines


@pytest.fixture
def hostile(folder: Path) -> Path:
    """The folder, with names that a terminal would obey."""
    for name in (RED, BACKWARDS):
        (folder / name).write_text("text")
    return folder


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that a command waits for are worked off when they are made."""
    monkeypatch.setattr(watching, "submit", lambda **given: work_off(submit(**given)))
    monkeypatch.setattr(connectors_command, "run_connector", lambda **given: work_off(run_connector(**given)))


class TestSync:
    def test_a_dry_run_lists_names(self, hostile: Path) -> None:
        lines = printed("sync", "c", str(hostile), "--dry-run")
        assert {f"new: {SHOWN_RED}", f"new: {SHOWN_BACKWARDS}", "new: a.md"} <= set(lines)

    @pytest.mark.usefixtures("at_once")
    @pytest.mark.parametrize(("option", "called"), [("--delete", "to remove"), ("--prefix=", "gone, kept")])
    def test_it_lists_what_is_gone(self, hostile: Path, option: str, called: str) -> None:
        printed("sync", "c", str(hostile))
        for name in (RED, BACKWARDS):
            (hostile / name).unlink()
        lines = printed("sync", "c", str(hostile), "--dry-run", option)
        assert {f"{called}: {SHOWN_RED}", f"{called}: {SHOWN_BACKWARDS}"} <= set(lines)

    @pytest.mark.usefixtures("at_once")
    def test_a_table_of_what_failed(self, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What could not be indexed, and what could not even be read."""
        (hostile / RED).write_bytes(b"")
        opening = os.open

        def closed(path: Any, *arguments: Any, **options: Any) -> int:
            if str(path).endswith(BACKWARDS):
                raise PermissionError(13, "Permission denied")
            return opening(path, *arguments, **options)

        monkeypatch.setattr(os, "open", closed)
        lines = printed("sync", "c", str(hostile))
        failures = [line.split()[:2] for line in lines if "empty_file" in line or "unreadable" in line]
        assert failures == [[SHOWN_RED, "empty_file"], [SHOWN_BACKWARDS, "unreadable"]]


class TestConnectors:
    def test_places_and_errors_are_listed(self, client: Client, folder: Path) -> None:
        odd = folder / RED
        odd.mkdir()
        (odd / "x.md").write_text("text")
        run(client, make(client, kind="folder", location=str(odd)).json()["id"])
        Job.objects.update(error=f"{BACKWARDS} is in the way.")
        lines = printed("connectors")
        assert f"folder on the server {folder}/{SHOWN_RED}  when asked" in lines[0]
        assert lines[1] == f"    {SHOWN_BACKWARDS} is in the way."

    def test_branches_are_listed(self, client: Client) -> None:
        made = make(client, kind="git", location="https://example.org/guide.git", branch=f"b{BACKWARDS}")
        assert made.status_code == 201
        assert f"guide.git#b{SHOWN_BACKWARDS}  when asked" in printed("connectors", "c")[0]

    @pytest.mark.usefixtures("at_once")
    def test_a_dry_run_lists_names(self, client: Client, hostile: Path) -> None:
        key = make(client, kind="folder", location=str(hostile)).json()["id"]
        lines = printed("connectors", f"--run={key}", "--dry-run")
        assert {f"new: {SHOWN_RED}", f"new: {SHOWN_BACKWARDS}"} <= set(lines)

    @pytest.mark.usefixtures("at_once")
    def test_a_table_of_what_failed(self, client: Client, hostile: Path) -> None:
        (hostile / RED).write_bytes(b"")
        key = make(client, kind="folder", location=str(hostile)).json()["id"]
        (failure,) = (line for line in printed("connectors", f"--run={key}") if "empty_file" in line)
        assert failure.startswith(f"{SHOWN_RED} ")
