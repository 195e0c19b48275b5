"""Finding a running embedded server, and the key that signs its sessions."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragsite.embedded import RUNTIME_FILE, data_folder, running_server, secret_key


def test_the_data_folder_is_the_variable_or_var(tmp_path: Path) -> None:
    assert data_folder(root=tmp_path, environ={}) == tmp_path / "var"
    assert data_folder(root=tmp_path, environ={"RAGSITE_DATA": ""}) == tmp_path / "var"
    assert data_folder(root=tmp_path, environ={"RAGSITE_DATA": "/srv/rag"}) == Path("/srv/rag")


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff", b'"x"'])
def test_without_a_readable_runtime_file_nothing_runs(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / RUNTIME_FILE).write_bytes(content)
    assert running_server(tmp_path) == {}


def test_the_running_server_is_what_the_file_says(tmp_path: Path) -> None:
    (tmp_path / RUNTIME_FILE).write_text('{"rag_database": "postgresql://h/d", "broker": "redis://h", "pid": 7}')
    assert running_server(tmp_path) == {"rag_database": "postgresql://h/d", "broker": "redis://h"}


def test_the_key_stays_the_same_and_is_the_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    key = secret_key(folder)
    assert len(key) >= 50
    assert secret_key(folder) == key
    path = folder / "secret_key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in folder.iterdir()] == ["secret_key"]


def test_processes_that_start_together_agree_on_the_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: secret_key(tmp_path), range(64)))
    assert len(keys) == 1


def test_an_empty_file_of_an_earlier_crash_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "secret_key").touch()
    key = secret_key(tmp_path)
    assert key
    assert secret_key(tmp_path) == key


def test_a_folder_that_cannot_be_written_still_gives_a_key(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    assert len(secret_key(blocked / "data")) >= 50
