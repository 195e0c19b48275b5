"""The embedded database for real: first and second start, kills, races, stale files, passwords."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from ragsite.runtime import postgres_files
from ragsite.runtime.folders import AlreadyRunning, UnableToStart
from ragsite.runtime.plan import ROOT
from ragsite.runtime.postgres import EmbeddedPostgres
from ragsite.runtime.processes import with_working_folder

#: Starts a server in the folder and then sleeps, to be killed.
_HOLDER = """
import sys, time
from pathlib import Path
from ragsite.runtime.folders import UnableToStart
from ragsite.runtime.postgres import EmbeddedPostgres
try:
    server = EmbeddedPostgres(Path(sys.argv[1]), for_tests=True)
    server.start()
except UnableToStart as error:
    sys.exit(type(error).__name__)
print("started", flush=True)
time.sleep(float(sys.argv[2]))
server.stop()
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "a folder with spaces" / "data"


@pytest.fixture
def postgres(data: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(data, for_tests=True)
    server.start()
    yield server
    server.stop()


def hold(data: Path, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(data), str(seconds)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def query(server: EmbeddedPostgres, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.address.url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def test_first_start_makes_an_ordinary_role_and_the_extension(postgres: EmbeddedPostgres) -> None:
    assert postgres.is_alive()
    assert query(postgres, "SELECT rolsuper, rolcreaterole FROM pg_roles WHERE rolname = current_user") == [
        (False, False)
    ]
    assert query(postgres, "SELECT '[1,2]'::vector::text") == [("[1,2]",)]
    assert query(postgres, "SELECT lower('ÄÖ'), current_setting('listen_addresses')") == [("äö", "")]
    query(postgres, "CREATE DATABASE from_template")
    address = postgres.address.url.replace("/ragsite?", "/from_template?")
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT '[1]'::vector::text").fetchone() == ("[1]",)


def test_outside_tests_the_role_may_not_create_databases(data: Path) -> None:
    server = EmbeddedPostgres(data)
    server.start()
    try:
        assert query(server, "SELECT rolcreatedb FROM pg_roles WHERE rolname = current_user") == [(False,)]
        assert query(server, "SHOW fsync") == [("on",)]
    finally:
        server.stop()


def test_a_second_start_finds_the_data_and_the_first_left_nothing(postgres: EmbeddedPostgres) -> None:
    query(postgres, "CREATE TABLE kept AS SELECT 7 AS number")
    sockets = postgres.address.sockets
    postgres.stop()
    assert with_working_folder(name="postgres", folders=[postgres.folder]) == []
    assert not sockets.exists()
    assert not postgres.is_alive()
    postgres.start()
    assert query(postgres, "SELECT number FROM kept") == [(7,)]


def test_a_kill_of_the_server_is_noticed_and_recovered_under_the_same_address(
    postgres: EmbeddedPostgres,
) -> None:
    query(postgres, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS number")
    address = postgres.address
    assert postgres.process is not None
    postgres.process.kill()
    postgres.process.wait()
    assert not postgres.is_alive()
    postgres.launch()
    deadline = time.monotonic() + 60
    while not postgres.is_alive():
        assert time.monotonic() < deadline, postgres.log.read_text(encoding="utf-8")
        time.sleep(0.05)
    assert postgres.address == address
    assert query(postgres, "SELECT count(*) FROM kept") == [(1000,)]


def test_a_stale_pid_file_with_the_pid_of_a_living_process_is_no_server(postgres: EmbeddedPostgres) -> None:
    pid_file = postgres.folder / "postmaster.pid"
    assert postgres.process is not None
    postgres.process.kill()
    postgres.process.wait()
    lines = pid_file.read_text(encoding="utf-8").splitlines()
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n", encoding="utf-8")
        postgres.stop()
        postgres.start()
        assert postgres.is_alive()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_start_after_a_kill_of_the_starter_ends_what_it_left(data: Path) -> None:
    holder = hold(data, 600)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "started\n"
    holder.kill()
    holder.communicate()
    server = EmbeddedPostgres(data, for_tests=True)
    server.start()
    try:
        assert server.is_alive()
        assert server.process is not None
        found = with_working_folder(name="postgres", folders=[server.folder])
        family = {server.process.pid, *(child.pid for child in psutil.Process(server.process.pid).children())}
        assert {process.pid for process in found} <= family
    finally:
        server.stop()


def test_of_two_racing_starters_one_gets_the_server_and_the_other_a_sentence(data: Path) -> None:
    racers = [hold(data, 3), hold(data, 3)]
    results = [racer.communicate(timeout=120) for racer in racers]
    assert sorted(racer.returncode for racer in racers) == [0, 1]
    assert sorted(output for output, _ in results) == ["", "started\n"]
    assert [errors.strip() for _, errors in results if errors] == ["AlreadyRunning"]


def test_a_second_starter_is_refused_and_harms_nothing(postgres: EmbeddedPostgres, data: Path) -> None:
    second = EmbeddedPostgres(data, for_tests=True)
    with pytest.raises(AlreadyRunning):
        second.start()
    second.stop()
    assert postgres.is_alive()


@pytest.mark.parametrize("password", ["", "wrong"])
def test_nobody_gets_in_without_the_password(postgres: EmbeddedPostgres, password: str) -> None:
    sockets = str(postgres.address.sockets)
    for user in ("ragsite", postgres_files.SUPERUSER):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(host=sockets, user=user, dbname="postgres", password=password or None)


def test_nothing_outside_the_data_folder_changes_its_mode(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    before = {path: path.stat().st_mode for path in (*private.parents, private)}
    server = EmbeddedPostgres(private / "data", for_tests=True)
    server.start()
    try:
        assert {path: path.stat().st_mode for path in before} == before
        assert server.folder.stat().st_mode & 0o777 == 0o700
        assert server.address.sockets.stat().st_mode & 0o777 == 0o700
        assert (private / "data").stat().st_mode & 0o777 == 0o700
    finally:
        server.stop()


def test_a_half_made_database_is_made_anew(data: Path) -> None:
    half = data / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n", encoding="ascii")
    server = EmbeddedPostgres(data, for_tests=True)
    server.start()
    try:
        assert server.is_alive()
        assert not half.exists()
    finally:
        server.stop()


def test_a_server_that_cannot_start_says_why_and_leaves_the_folder_free(
    postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.stop()
    monkeypatch.setattr(postgres_files, "tuning", lambda **_: "no_such_setting = 1\n")
    with pytest.raises(UnableToStart, match="no_such_setting"):
        postgres.start()
    monkeypatch.undo()
    postgres.start()
    assert postgres.is_alive()


def test_what_pause_raises_ends_a_start_cleanly(data: Path) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    server = EmbeddedPostgres(data, for_tests=True)
    with pytest.raises(KeyboardInterrupt):
        server.start(pause=interrupt)
    assert with_working_folder(name="postgres", folders=[server.folder]) == []
    server.start()
    server.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a user namespace in between")
def test_root_runs_it_as_somebody_else(postgres: EmbeddedPostgres) -> None:
    assert postgres.process is not None
    mapped = Path(f"/proc/{postgres.process.pid}/uid_map").read_text(encoding="ascii").split()
    uid = psutil.Process(postgres.process.pid).uids().real
    assert uid != 0 or mapped[0] != "0"
    os.kill(postgres.process.pid, signal.SIGINT)
    assert postgres.process.wait(timeout=60) == 0
