"""Files that Git LFS keeps elsewhere: their pointers are told, not indexed, and take nothing away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.core.management import call_command
from django.test import Client

from collections_app.models import Chunk
from ingest_app.models import Item, Job
from tests.integration.ingest.connecting import make, run, sources
from tests.unit.ingest.origins.repositories import commit, make_repository, serving_git

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]

POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)
LONGER = b"Kept in Git, and a good deal longer than any pointer is. " * 4


def codes(job: Job) -> dict[str, str]:
    return dict(Item.objects.filter(job=job).values_list("source", "code"))


def text_of(source: str) -> list[str]:
    return list(Chunk.objects.filter(document__source=source).order_by("pk").values_list("text", flat=True))


class Place:
    """A folder or a repository with a.md and b.md, and a connector of it that removes what is gone."""

    def __init__(
        self, client: Client, write: Callable[[str, bytes], object], *, location: str, kind: str = "folder"
    ) -> None:
        self.client = client
        self.write = write
        made = make(client, kind=kind, location=location, prefix="", remove_vanished=True)
        self.key = made.json()["id"]

    def run(self) -> Job:
        return run(self.client, self.key)


@pytest.fixture(params=["folder", "git"])
def place(request: pytest.FixtureRequest, client: Client, folder: Path, tmp_path: Path) -> Iterator[Place]:
    if request.param == "folder":
        yield Place(client, lambda name, content: (folder / name).write_bytes(content), location=str(folder))
        return
    path = make_repository(tmp_path / "git" / "guide", {"a.md": b"# A\n\nalpha", "b.md": b"beta"})
    with serving_git(tmp_path / "git") as server:
        location = f"{server.url}/guide/.git"
        yield Place(client, lambda name, content: commit(path, {name: content}), location=location, kind="git")


def test_a_pointer_is_told_and_not_indexed(place: Place) -> None:
    place.write("big.md", POINTER)
    job = place.run()
    assert (job.state, codes(job)) == ("partial", {"a.md": "", "b.md": "", "big.md": "git_lfs"})
    assert Item.objects.get(job=job, source="big.md").error == (
        "It is kept in Git LFS, which is not read. Sync a folder that holds it."
    )
    assert not Chunk.objects.filter(text__contains="oid sha256").exists()


def test_an_older_version_stays_searchable_until_there_is_a_newer(place: Place) -> None:
    place.write("big.md", LONGER)
    place.run()
    before = text_of("big.md")
    assert before
    place.write("big.md", POINTER)
    job = place.run()
    assert (codes(job), (job.result or {})["removed"]) == ({"big.md": "git_lfs"}, 0)
    assert text_of("big.md") == before
    assert sources() == ["a.md", "b.md", "big.md"]
    place.write("big.md", b"A newer one.")
    job = place.run()
    assert (job.state, codes(job)) == ("succeeded", {"big.md": ""})
    assert text_of("big.md") == ["A newer one."]


def test_pointers_of_files_of_any_kind_are_told(place: Place) -> None:
    """The pointer to a document or an archive is not one that is broken."""
    place.write("scan.pdf", POINTER)
    place.write("more.zip", POINTER)
    job = place.run()
    assert codes(job) == {"a.md": "", "b.md": "", "scan.pdf": "git_lfs", "more.zip": "git_lfs"}


def test_an_archive_that_became_a_pointer_keeps_its_files(place: Place, tmp_path: Path) -> None:
    pack = tmp_path / "more.zip"
    with ZipFile(pack, "w") as archive:
        archive.writestr("y.md", "upsilon")
    place.write("more.zip", pack.read_bytes())
    place.run()
    place.write("more.zip", POINTER)
    job = place.run()
    assert (codes(job), (job.result or {})["removed"]) == ({"more.zip": "git_lfs"}, 0)
    assert text_of("more.zip/y.md") == ["upsilon"]


def test_text_about_pointers_is_text(place: Place) -> None:
    place.write("notes.md", b"A pointer begins with:\n\n    " + POINTER)
    job = place.run()
    assert codes(job)["notes.md"] == ""
    assert "oid sha256" in "".join(text_of("notes.md"))


def test_the_command_tells_it_and_would_remove_nothing(client: Client, folder: Path) -> None:
    """A connector and the command are one and the same to a folder."""
    with ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("y.md", "upsilon")
    run(client, make(client, kind="folder", location=str(folder)).json()["id"])
    for name in ("a.md", "more.zip"):
        (folder / name).write_bytes(POINTER)
    written = StringIO()
    call_command("sync", "c", str(folder), "--dry-run", "--delete", stdout=written)
    *listed, told = written.getvalue().splitlines()
    assert listed == ["unreadable: a.md", "unreadable: more.zip"]
    assert told.endswith("and remove 0. Nothing was changed.")
