"""A SQLite file is taken only where it is ours or empty, and is for the server's user alone."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from connections_app import finishing
from core_app.errors import FarSideFailed
from core_app.providers import HeldChunk

sqlite = pytest.importorskip("connections_app.providers.sqlite", reason="the extra `sqlite` is not installed")
VECTOR = np.ones(3, dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path / "connections"


@pytest.fixture
def fails(folder: Path) -> Callable[[str], FarSideFailed]:
    def asked(file: str) -> FarSideFailed:
        provider = sqlite.SqliteProvider(sqlite.SqliteSettings(file=file))
        with pytest.raises(FarSideFailed) as refused:
            provider.list_collections(limit=None, offset=0)
        assert not provider.health_check().is_healthy
        provider.close()
        return refused.value

    return asked


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE customers (id INTEGER)",
        "CREATE TABLE customers (id INTEGER); PRAGMA user_version = 2",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 5",
    ],
)
def test_a_file_of_another_program_is_left_as_it_is(folder: Path, fails: Any, made: str) -> None:
    folder.mkdir()
    file = folder / "crm.db"
    with sqlite3.connect(file) as other:
        other.executescript(made)
    other.close()
    before = file.read_bytes()
    assert "another program" in fails("crm.db").detail
    assert file.read_bytes() == before
    assert [one.name for one in folder.iterdir()] == ["crm.db"]


def test_a_file_of_another_version_is_told(folder: Path, fails: Any) -> None:
    made = sqlite.SqliteProvider(sqlite.SqliteSettings(file="ours.db"))
    made.list_collections(limit=None, offset=0)
    made.close()
    with sqlite3.connect(folder / "ours.db") as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    assert "version 99" in fails("ours.db").detail


def test_what_is_no_database_or_no_file_is_told(folder: Path, fails: Any) -> None:
    folder.mkdir()
    (folder / "text.db").write_text("no database " * 100)
    (folder / "deep").mkdir()
    assert "cannot be read" in fails("text.db").detail
    assert "cannot be read" in fails("deep").detail
    assert "cannot be read" in fails("text.db/below.db").detail


def test_an_empty_file_is_taken_and_only_the_server_reads_it(folder: Path) -> None:
    before = os.umask(0o022)
    try:
        provider = sqlite.SqliteProvider(sqlite.SqliteSettings(file="a/b.db"))
        provider.create_collection(name="x", metadata={}, distance="cosine")
        found = {one.name: oct(one.stat().st_mode & 0o777) for one in [folder, *folder.rglob("*")]}
        assert found == {"connections": "0o700", "a": "0o700"} | dict.fromkeys(
            ("b.db", "b.db-wal", "b.db-shm"), "0o600"
        )
        provider.close()
        again = sqlite.SqliteProvider(sqlite.SqliteSettings(file="a/b.db"))
        assert again.get_collection(name="x").distance == "cosine"
        again.close()
    finally:
        os.umask(before)


def test_values_are_read_no_further_than_they_are_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = sqlite.SqliteProvider(sqlite.SqliteSettings(file="values.db"))
    provider.create_collection(name="x", metadata={}, distance="cosine")
    provider.add(
        name="x", chunks=[HeldChunk(id=f"{n}", text="", metadata={"n": n}, embedding=VECTOR) for n in range(100)]
    )
    read: list[str] = []
    loads = sqlite.json.loads
    monkeypatch.setattr(finishing, "MAX_VALUES", 10)

    def noted(text: str) -> Any:
        read.append(text)
        return loads(text)

    monkeypatch.setattr(sqlite.json, "loads", noted)
    found = provider.metadata_values(name="x", key="n")
    assert (len(found.values), found.truncated, len(read)) == (10, True, 11)
    provider.delete_collection(name="x")
    provider.close()
