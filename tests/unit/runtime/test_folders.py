"""Locks, private files, and the short folder for sockets."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from ragsite.runtime.folders import (
    LONGEST_SOCKET_NAME,
    SOCKET_PATH_LIMIT,
    AlreadyRunning,
    FolderLock,
    SocketFolder,
    UnableToStart,
    make_private_folder,
    short_temporary_folder,
    write_private,
)


def test_a_short_temporary_folder_is_taken_as_it_is() -> None:
    assert short_temporary_folder("/var/tmp") == "/var/tmp"


def test_a_long_temporary_folder_is_passed_over(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 90)
    long.mkdir()
    found = Path(short_temporary_folder(str(long)))
    assert found != long
    assert len(str(found / "ragsite-12345678" / LONGEST_SOCKET_NAME)) <= SOCKET_PATH_LIMIT


def test_the_socket_folder_is_private_recorded_and_removed(tmp_path: Path) -> None:
    sockets = SocketFolder(tmp_path / "record")
    folder = sockets.make()
    try:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "record").read_text(encoding="utf-8").strip() == str(folder)
    finally:
        sockets.remove()
    assert not folder.exists()
    assert not (tmp_path / "record").exists()


def test_an_old_socket_folder_is_cleared_away_or_was_already_gone(tmp_path: Path) -> None:
    first = SocketFolder(tmp_path / "record").make()
    again = SocketFolder(tmp_path / "record")
    second = again.make()
    assert not first.exists()
    second.rmdir()  # as after a reboot
    third = again.make()
    assert third.is_dir()
    again.remove()


def test_a_record_that_names_something_else_removes_nothing(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    write_private(tmp_path / "record", str(precious))
    SocketFolder(tmp_path / "record").remove()
    assert precious.is_dir()


def test_a_link_in_the_place_of_a_socket_folder_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    link = Path(tempfile.mkdtemp(dir=tmp_path)) / "ragsite-link"
    link.symlink_to(precious)
    write_private(tmp_path / "record", str(link))
    SocketFolder(tmp_path / "record").remove()
    assert precious.is_dir()


def test_only_one_holds_the_lock(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path / "lock"), FolderLock(tmp_path / "lock")
    first.acquire()
    with pytest.raises(AlreadyRunning, match="Another Ragsite is running on this data folder"):
        second.acquire()
    assert first.held
    assert not second.held
    first.release()
    second.acquire()
    second.release()


def test_private_files_and_folders_have_private_modes(tmp_path: Path) -> None:
    folder = make_private_folder(tmp_path / "a" / "b")
    write_private(folder / "file", "one")
    write_private(folder / "file", "two")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "file").stat().st_mode & 0o777 == 0o600
    assert (folder / "file").read_text(encoding="utf-8") == "two"


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    (tmp_path / "open").chmod(0o755)
    assert make_private_folder(tmp_path / "open").stat().st_mode & 0o777 == 0o755


def test_a_file_in_the_place_of_the_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnableToStart, match="cannot be made"):
        make_private_folder(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_socket_folder_given_to_another_account_is_removed_by_its_maker_alone(tmp_path: Path) -> None:
    maker = SocketFolder(tmp_path / "record")
    folder = maker.make()
    os.chown(folder, 65534, 65534)
    record = (tmp_path / "record").read_text(encoding="utf-8")
    SocketFolder(tmp_path / "record").remove()
    assert folder.exists()
    write_private(tmp_path / "record", record)
    maker.remove()
    assert not folder.exists()
