"""Exported models on disk: made once, whole or not there, and nobody else's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from inference_app.fast_queries.files import exported_file, is_trusted, store
from inference_app.fast_queries.models import Unusable


def target(folder: Path, model: str = "small", digest: str = "d" * 32) -> Path:
    return exported_file(data_folder=folder, model=model, digest=digest)


def writing(path: Path) -> None:
    path.write_text("a graph", encoding="utf-8")


def test_names_tell_models_apart(tmp_path: Path) -> None:
    names = ["small", "Small", "a/small", "a_small", "../../etc/passwd", "x" * 500, "моделі", ""]
    paths = {target(tmp_path, name) for name in names} | {target(tmp_path, digest="e" * 32)}
    assert len(paths) == len(names) + 1
    assert {path.parent for path in paths} == {tmp_path / "query_models"}
    assert all(len(path.name) < 120 for path in paths)
    assert (tmp_path / "query_models").stat().st_mode & 0o777 == 0o700


def test_the_file_is_for_us_alone(tmp_path: Path) -> None:
    path = target(tmp_path)
    assert not is_trusted(path)
    store(path, write=writing)
    assert is_trusted(path)
    assert path.stat().st_mode & 0o777 == 0o600
    for mode in (0o620, 0o602):
        path.chmod(mode)
        assert not is_trusted(path)


def test_a_link_is_not_trusted(tmp_path: Path) -> None:
    path = target(tmp_path)
    (tmp_path / "elsewhere").write_text("a graph", encoding="utf-8")
    path.symlink_to(tmp_path / "elsewhere")
    assert not is_trusted(path)


def test_a_folder_that_is_a_link_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "query_models").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unusable, match="can be written by others"):
        target(tmp_path / "data")


def test_two_at_the_same_time_make_it_once(tmp_path: Path) -> None:
    path, made, together = target(tmp_path), [], threading.Barrier(4)

    def once(part: Path) -> None:
        made.append(part)
        writing(part)

    def one(_: int) -> bool:
        together.wait()
        store(path, write=once)
        return path.read_text(encoding="utf-8") == "a graph"

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(4)))
    assert len(made) == 1


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    path = target(tmp_path)
    left = [path.parent / name for name in ("other-1.part", f"{path.stem}.part")]
    for part in left:
        part.write_text("half", encoding="utf-8")
    store(path, write=writing)
    assert path.read_text(encoding="utf-8") == "a graph"
    assert not any(part.exists() for part in left)


def test_older_exports_of_the_same_model_are_removed(tmp_path: Path) -> None:
    older, newer, others = target(tmp_path), target(tmp_path, digest="e" * 32), target(tmp_path, "large")
    for path in (older, others, newer):
        store(path, write=writing)
    assert [path.exists() for path in (older, others, newer)] == [False, True, True]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    def fail(part: Path) -> None:
        part.write_text("half", encoding="utf-8")
        raise OSError("the disk is full")

    older, newer = target(tmp_path), target(tmp_path, digest="e" * 32)
    store(older, write=writing)
    with pytest.raises(OSError, match="the disk is full"):
        store(newer, write=fail)
    assert sorted(path.name for path in older.parent.iterdir()) == [".lock", older.name]
