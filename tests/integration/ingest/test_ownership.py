"""Two connectors of one collection that have files of the same names."""

from __future__ import annotations

import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from collections_app.models import Chunk, Collection, Document
from ingest_app import comparing, indexing, item_work
from ingest_app.models import Item, Job
from ingest_app.parsing import sniff
from ingest_app.submitting import Source, submit
from tests.integration.ingest.connecting import ADDRESS, make, run, sources, work_off

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]


@pytest.fixture
def other(folder: Path) -> Path:
    below = folder.parent / "other"
    below.mkdir()
    return below


def code_of(job: Job, source: str) -> str:
    return Item.objects.get(job=job, source=source).code


def overlapping(client: Client, first: Path, second: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> Job:
    """The first's job, during whose `step` of its first file the second's is begun and ended."""
    key = make(client, kind="folder", location=str(first)).json()["id"]
    quicker = make(client, kind="folder", location=str(second)).json()["id"]
    job = Job.objects.get(pk=client.post(f"{ADDRESS}/{key}/run").json()["id"])
    doing = getattr(indexing, step)

    def late(**arguments: Any) -> Any:
        monkeypatch.setattr(item_work, step, doing)
        run(client, quicker)
        return doing(**arguments)

    monkeypatch.setattr(item_work, step, late)
    return work_off(job)


@pytest.mark.parametrize("step", ["draft_item", "write_draft"])
@pytest.mark.parametrize("text", ["# A\n\nalpha", "another text"])
def test_the_quicker_of_two_keeps_its_document(
    client: Client, folder: Path, other: Path, monkeypatch: pytest.MonkeyPatch, step: str, text: str
) -> None:
    """Neither another text nor the same one makes it the slower's."""
    (other / "a.md").write_text(text)
    job = overlapping(client, folder, other, monkeypatch, step)
    assert (job.state, code_of(job, "a.md")) == ("partial", "taken_by_another")
    document = Document.objects.get(source="a.md")
    assert (document.origin, document.error_code) == (f"folder:{other}", "")
    assert [chunk.text for chunk in Chunk.objects.filter(document=document)] == [text]


def test_a_file_that_cannot_be_read_does_not_mark_the_other_s_document(
    client: Client, folder: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").write_bytes(b"\x00\x01\x02")
    (other / "a.md").write_text("text")
    job = overlapping(client, folder, other, monkeypatch, "draft_item")
    assert Item.objects.get(job=job, source="a.md").state == "failed"
    assert Document.objects.get(source="a.md").error_code == ""


def test_a_dry_run_counts_every_kind(client: Client, folder: Path) -> None:
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    run(client, key)
    (folder / "a.md").write_bytes(b"")
    run(client, key)
    (folder / "a.md").write_text("# A\n\nmended")
    assert (run(client, key, "?dry_run=true").result or {})["names"] == {"changed": ["a.md"], "unchanged": ["b.md"]}
    Document.objects.filter(source="b.md").update(origin="")
    job = run(client, key, "?dry_run=true")
    assert job.result is not None
    assert (job.result["adopted"], job.result["changed"], job.result["unchanged"]) == (1, 1, 0)


def test_what_fails_beside_much_that_has_not_changed_fails_in_part(client: Client, folder: Path) -> None:
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    (folder / "c.md").write_bytes(b"")
    for _ in range(2):
        assert run(client, key).state == "partial"


def test_an_older_version_that_fails_late_does_not_mark_a_newer_one() -> None:
    first = submit(collection_name="c", sources=[Source(name="s.md", content=b"%PDF-1.4 nothing")])
    work_off(submit(collection_name="c", sources=[Source(name="s.md", content=b"newer")]))
    assert work_off(first).state == "failed"
    assert Document.objects.get(source="s.md").error_code == ""


def test_a_repository_that_cannot_be_read_leaves_no_collection() -> None:
    with pytest.raises(CommandError):
        call_command("sync", "fresh", "--git", "http://127.0.0.1:9/none.git", stdout=StringIO())
    assert not Collection.objects.filter(name="fresh").exists()


def test_a_text_in_place_of_an_archive_takes_its_files_along(client: Client, folder: Path) -> None:
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("x.md", "x")
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    run(client, key)
    (folder / "all.zip").write_text("a text")
    assert (run(client, key).result or {})["removed"] == 1
    assert sources() == ["a.md", "all.zip", "b.md"]


def test_a_folder_in_the_place_of_the_one_that_was_listed_fails_the_job(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    run(client, key)

    def moving(**arguments: Any) -> Any:
        if not (aside := folder.with_name("aside")).exists():
            folder.rename(aside)
            folder.mkdir()
        return sniff(**arguments)

    monkeypatch.setattr(comparing, "sniff", moving)
    assert run(client, key).code == "unreadable"
    assert sources() == ["a.md", "b.md"]
