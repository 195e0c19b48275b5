"""`manage.py sync`: a collection in step with a folder (C: incremental sync)."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from collections_app.models import Collection, Document
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from tests.acceptance.cli.running import output_of, refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    below = tmp_path / "docs"
    (below / "deep").mkdir(parents=True)
    (below / "a.md").write_text("# A\n\nalpha")
    (below / "deep" / "b.txt").write_text("beta")
    (below / ".hidden").write_text("hidden")
    return below


def sync(folder: Path, *options: str) -> str:
    return output_of("sync", "c", str(folder), *options)


def sources() -> list[str]:
    return list(Document.objects.order_by("source").values_list("source", flat=True))


def test_what_is_new_or_changed_goes_in_and_the_rest_is_left(worker: None, folder: Path) -> None:
    assert "2 indexed (2 chunks), 0 unchanged, 0 failed, 0 removed" in sync(folder)
    assert sources() == ["a.md", "deep/b.txt"]
    assert "0 indexed (0 chunks), 2 unchanged, 0 failed, 0 removed" in sync(folder)
    (folder / "a.md").write_text("# A\n\nanother")
    (folder / "new.md").write_text("new")
    assert "2 indexed (2 chunks), 1 unchanged, 0 failed, 0 removed" in sync(folder)


def test_what_is_gone_is_removed_only_when_asked(worker: None, folder: Path) -> None:
    sync(folder)
    (folder / "a.md").unlink()
    assert "1 gone and kept (--delete removes them)" in sync(folder)
    assert sources() == ["a.md", "deep/b.txt"]
    assert "1 unchanged, 0 failed, 1 removed" in sync(folder, "--delete")
    assert sources() == ["deep/b.txt"]


def test_what_came_another_way_is_never_removed(worker: None, folder: Path, tmp_path: Path) -> None:
    sync(folder)
    job = submit(collection_name="c", sources=[Source(name="sent.md", content=b"sent")])
    run_job(job_id=job.pk, stopping=lambda: False)
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("other folder")
    sync(other, "--delete")
    assert "0 removed" in sync(folder, "--delete")
    assert sources() == ["a.md", "deep/b.txt", "o.md", "sent.md"]


def test_a_dry_run_says_what_would_be_done(worker: None, folder: Path) -> None:
    printed = sync(folder, "--dry-run")
    assert "new: a.md" in printed
    assert "Would index 2 new and 0 changed files, look into 0 archives, leave 0 unchanged and remove 0." in printed
    assert not Collection.objects.filter(name="c").exists()
    sync(folder)
    (folder / "a.md").unlink()
    (folder / "deep" / "b.txt").write_text("other")
    printed = sync(folder, "--dry-run", "--delete")
    assert "changed: deep/b.txt" in printed
    assert "to remove: a.md" in printed
    assert sources() == ["a.md", "deep/b.txt"]


def test_a_folder_without_files_removes_nothing(worker: None, folder: Path, tmp_path: Path) -> None:
    sync(folder)
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()
    assert "It holds no file" in refused("sync", "c", str(folder), "--delete")
    assert sources() == ["a.md", "deep/b.txt"]


def test_archives_are_looked_into_and_their_files_kept(worker: None, folder: Path) -> None:
    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("z.md", "zed")
    assert "3 indexed (3 chunks)" in sync(folder)
    assert "0 indexed (0 chunks), 3 unchanged, 0 failed, 0 removed" in sync(folder, "--delete")
    (folder / "more.zip").unlink()
    assert "1 removed" in sync(folder, "--delete")
    assert sources() == ["a.md", "deep/b.txt"]


def test_what_is_gone_from_an_archive_goes(worker: None, folder: Path) -> None:
    def pack(*names: str, inner: bytes) -> None:
        with zipfile.ZipFile(folder / "more.zip", "w") as archive:
            archive.writestr("inner.zip", inner)
            for name in names:
                archive.writestr(name, name)

    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("deep.md", "deep")
    pack("y.md", "z.md", inner=inner.getvalue())
    sync(folder)
    pack("y.md", inner=inner.getvalue())
    assert "1 removed" in sync(folder, "--delete")
    assert sources() == ["a.md", "deep/b.txt", "more.zip/inner.zip/deep.md", "more.zip/y.md"]
    pack("y.md", inner=inner.getvalue()[:40])
    refused("sync", "c", str(folder), "--delete")
    (folder / "more.zip").write_bytes(b"PK\3\4 broken")
    refused("sync", "c", str(folder), "--delete")
    kept = {"a.md", "deep/b.txt", "more.zip/inner.zip/deep.md", "more.zip/y.md"}
    assert kept <= set(sources()), "what cannot be opened is not empty"


def test_failures_are_a_table_and_the_exit_code(worker: None, folder: Path) -> None:
    (folder / "scan.pdf").write_bytes(b"%PDF-1.4 nothing")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\1\2")
    assert refused("sync", "c", str(folder)) == "Not all could be indexed."


def test_other_metadata_is_a_change(worker: None, folder: Path) -> None:
    sync(folder)
    assert "2 indexed" in sync(folder, "--metadata", '{"team": "tea"}')
    assert "2 unchanged" in sync(folder, "--metadata", '{"team": "tea"}')


@pytest.mark.parametrize(("name", "sentence"), [("c", "/nowhere: no such folder."), ("a/b", "A collection's name has")])
def test_what_cannot_be_is_refused(folder: Path, name: str, sentence: str) -> None:
    where = str(folder) if "/" in name else "/nowhere"
    assert refused("sync", name, where).startswith(sentence)
