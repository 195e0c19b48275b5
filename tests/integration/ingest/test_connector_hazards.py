"""Nothing goes that is still there or somebody else's, and no connector holds up another."""

from __future__ import annotations

import json
import os
import threading
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test import Client
from django.utils import timezone

from collections_app.models import Chunk, Collection, Document
from collections_app.services import create_collection, delete_collection
from ingest_app import comparing, connectors, indexing, item_work, places, removing, syncing
from ingest_app.models import Connector, Item, Job
from ingest_app.origins.folders import files_below
from ingest_app.origins.found import Unreadable
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from tests.integration.ingest.connecting import ADDRESS, make, outcome, run, sources, work_off

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]


class WorkerDied(BaseException):
    """Stands for a kill."""


def pack(path: Path, **files: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.md", text)


def other_folder(folder: Path) -> Path:
    other = folder.parent / "other"
    other.mkdir()
    return other


def test_a_folder_that_cannot_be_listed_is_not_empty(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "x.md").write_text("x")
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    run(client, key)
    listing = os.scandir

    def closed(path: Any = ".") -> Any:
        if str(path).endswith("/sub"):
            raise PermissionError(13, "Permission denied")
        return listing(path)

    monkeypatch.setattr(os, "scandir", closed)
    job = run(client, key)
    assert [(item.source, item.code) for item in Item.objects.filter(job=job)] == [("sub", "unreadable")]
    assert sources() == ["a.md", "b.md", "sub/x.md"]


@pytest.mark.parametrize("prefix", ["", "p/"])
def test_a_place_that_cannot_be_listed_removes_nothing(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    new = {"location": str(folder), "remove_vanished": True, "prefix": prefix}
    key = make(client, kind="folder", **new).json()["id"]
    run(client, key)
    before = sources()

    def closed(path: Any = ".") -> Any:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "scandir", closed)
        job = run(client, key)
    assert (job.state, job.code) == ("failed", "unreadable")
    assert sources() == before != []


def test_a_folder_that_becomes_another_after_it_was_checked_is_not_read(
    client: Client, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "s.md").write_text("secret")
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    checking = places.check_allowed

    def swapping(place: places.Place) -> None:
        checking(place)
        folder.rename(folder.with_name("moved"))
        folder.symlink_to(secret)

    monkeypatch.setattr(syncing, "check_allowed", swapping)
    assert run(client, key).state == "failed"
    assert not Chunk.objects.exists()


def test_links_that_lead_nowhere_and_hidden_ones_are_left_out(client: Client, folder: Path) -> None:
    for name in (".loop", "loop"):
        (folder / name).symlink_to(folder / name)
    (folder / "gone").symlink_to(folder / "nothing")
    job = run(client, make(client, kind="folder", location=str(folder)).json()["id"])
    assert outcome(job)[:2] == ("succeeded", {"a.md": "succeeded", "b.md": "succeeded"})


def test_a_link_that_nobody_may_look_behind_is_not_gone(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "b.md").unlink()
    (folder / ".kept").mkdir()
    (folder / ".kept" / "b.md").write_text("beta")
    (folder / "b.md").symlink_to(folder / ".kept" / "b.md")
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    run(client, key)
    assert sources() == ["a.md", "b.md"]
    (folder / ".kept" / "b.md").unlink()
    # No name can be so long, which is an error of looking, too.
    (folder / "b.md").unlink()
    (folder / "b.md").symlink_to(folder / ("n" * 300))
    job = run(client, key)
    assert Item.objects.get(job=job, source="b.md").code == "unreadable"
    assert sources() == ["a.md", "b.md"]


def test_what_is_opened_lies_in_the_folder(tmp_path: Path) -> None:
    """The name may lead elsewhere by then."""
    folder, secret = tmp_path / "docs", tmp_path / "secret.md"
    folder.mkdir()
    secret.write_text("secret")
    (folder / "a.md").write_text("a")
    (found,) = files_below(folder, max_bytes=100)
    (folder / "a.md").unlink()
    (folder / "a.md").symlink_to(secret)
    with pytest.raises(Unreadable):
        found.read()
    (folder / "a.md").unlink()
    os.mkfifo(folder / "a.md")
    with pytest.raises(Unreadable):
        found.read()


def test_two_names_that_become_one_are_told(client: Client, folder: Path) -> None:
    for byte in (b"\xfe", b"\xff"):
        Path(os.fsdecode(os.fsencode(folder) + b"/c" + byte + b".md")).write_text("text")
    job = run(client, make(client, kind="folder", location=str(folder)).json()["id"])
    codes = list(Item.objects.filter(job=job, source="c.md").order_by("ordinal").values_list("code", flat=True))
    assert codes == ["", "duplicate_source"]


@pytest.mark.parametrize("place", ["loop/x", "n" * 600])
def test_odd_paths_are_refused_or_not_there(client: Client, folder: Path, place: str) -> None:
    (folder / "loop").symlink_to(folder / "loop")
    made = make(client, kind="folder", location=f"{folder}/{place}")
    assert made.status_code == 201
    job = run(client, made.json()["id"])
    assert (job.state, job.code) == ("failed", "no_folder")
    assert make(client, kind="folder", location=f"{folder}/{'n/' * 2000}").json()["code"] == "invalid_connector"


def test_archives_take_nothing_from_another_connector(client: Client, folder: Path) -> None:
    other = other_folder(folder)
    pack(folder / "d.zip", x="mine")
    pack(other / "d.zip", x="yours", y="yours")
    run(client, make(client, kind="folder", location=str(folder)).json()["id"])
    key = make(client, kind="folder", location=str(other), remove_vanished=True).json()["id"]
    job = run(client, key)
    assert Item.objects.get(job=job, source="d.zip/x.md").code == "taken_by_another"
    assert Item.objects.get(job=job, source="d.zip/y.md").state == "succeeded"
    (other / "d.zip").unlink()
    (other / "z.md").write_text("z")
    assert (run(client, key).result or {})["removed"] == 1
    assert "d.zip/x.md" in sources()


def test_nobody_else_s_documents_are_removed(client: Client, folder: Path) -> None:
    """Even if they were named."""
    run(client, make(client, kind="folder", location=str(folder)).json()["id"])
    collection = Collection.objects.get(name="c")
    assert comparing.remove_vanished(collection=collection, sources=["a.md"], origin="folder:/elsewhere") == 0
    assert sources() == ["a.md", "b.md"]


def test_a_dry_run_tells_what_would_be_replaced(client: Client, folder: Path) -> None:
    job = submit(collection_name="c", sources=[Source(name="a.md", content=b"sent by hand")])
    work_off(job)
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    result = run(client, key, "?dry_run=true").result
    assert result is not None
    assert result["names"] == {"adopted": ["a.md"], "new": ["b.md"]}


def test_a_file_that_kills_workers_is_set_aside_and_the_sync_goes_on(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    job = Job.objects.get(pk=client.post(f"{ADDRESS}/{key}/run").json()["id"])
    drafting = indexing.draft_item

    def dying(*, item: Item, **others: Any) -> Any:
        if item.source == "a.md":
            raise WorkerDied
        return drafting(item=item, **others)

    monkeypatch.setattr(item_work, "draft_item", dying)
    for _ in range(3):
        with pytest.raises(WorkerDied):
            run_job(job_id=job.pk, stopping=lambda: False)
        Job.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    state, items, _ = outcome(work_off(job))
    assert (state, items) == ("partial", {"a.md": "failed", "b.md": "succeeded"})
    assert Item.objects.get(job=job, source="a.md").code == "quarantined"


def test_a_place_that_kills_workers_is_set_aside(client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    job = Job.objects.get(pk=client.post(f"{ADDRESS}/{key}/run").json()["id"])

    def dying(**_: Any) -> Any:
        raise WorkerDied

    monkeypatch.setattr(comparing, "sniff", dying)
    for _ in range(3):
        with pytest.raises(WorkerDied):
            run_job(job_id=job.pk, stopping=lambda: False)
        Job.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    work_off(job)
    assert (job.state, job.code) == ("failed", "quarantined")


def test_a_cancel_is_seen_between_removals(client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "REMOVED_TOGETHER", 1)
    for number in range(4):
        (folder / f"n{number}.md").write_text("text")
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    run(client, key)
    for number in range(4):
        (folder / f"n{number}.md").unlink()
    remove = removing.remove_document

    def cancelling(**arguments: Any) -> int:
        Job.objects.filter(finished_at__isnull=True).update(cancel_requested=True)
        return remove(**arguments)

    monkeypatch.setattr(comparing, "remove_document", cancelling)
    assert run(client, key).state == "cancelled"
    assert len(sources()) == 5


def test_who_switches_removing_off_meanwhile_keeps_everything(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    run(client, key)
    (folder / "a.md").unlink()
    hashing = indexing.content_hash_of

    def switching(**arguments: Any) -> str:
        Connector.objects.update(remove_vanished=False)
        return hashing(**arguments)

    monkeypatch.setattr(comparing, "content_hash_of", switching)
    assert (run(client, key).result or {})["removed"] == 0
    assert sources() == ["a.md", "b.md"]


def test_an_error_that_was_mended_is_forgotten(client: Client, folder: Path) -> None:
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    run(client, key)
    (folder / "a.md").write_bytes(b"")
    run(client, key)
    assert Document.objects.get(source="a.md").error_code == "empty_file"
    (folder / "a.md").write_text("# A\n\nalpha")
    run(client, key)
    assert Document.objects.get(source="a.md").error_code == ""


def test_saving_something_else_does_not_put_off_the_next_run(client: Client, folder: Path) -> None:
    key = make(client, kind="folder", location=str(folder), every_seconds=3600).json()["id"]
    soon = timezone.now() + timedelta(seconds=5)
    Connector.objects.update(next_run_at=soon)
    body = {"every_seconds": 3600, "remove_vanished": True}
    client.patch(f"{ADDRESS}/{key}", json.dumps(body), "application/json")
    assert Connector.objects.get().next_run_at == soon


def in_thread(name: str, work: Callable[[], Any], log: list[tuple[str, str]]) -> threading.Thread:
    def run() -> None:
        try:
            work()
            log.append((name, "ok"))
        except Exception as error:  # noqa: BLE001 - told by the test
            log.append((name, f"{type(error).__name__}: {error}"))
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.django_db(transaction=True)
class TestDueAtABadMoment:
    @pytest.fixture(autouse=True)
    def _due(self, client: Client, folder: Path) -> None:
        create_collection(name="d")
        body = json.dumps({"kind": "urls", "urls": ["https://example.org/"], "every_seconds": 60})
        for name in "cd":
            address = f"/api/rag/collections/{name}/connectors"
            assert client.post(address, body, "application/json").status_code == 201

    def test_a_collection_that_is_being_deleted_holds_up_no_other(self) -> None:
        collection = Collection.objects.get(name="c")
        document = Document.objects.create(collection=collection, source="x", state="ready")
        log: list[tuple[str, str]] = []
        with transaction.atomic():
            # The deletion waits for this row, with its collection in hand.
            Document.objects.select_for_update().get(pk=document.pk)
            deleting = in_thread("delete", lambda: delete_collection(name="c"), log)
            wait_until(lambda: waiting() >= 1)
            due = in_thread("due", connectors.run_due, log)
            due.join(30)
            assert log == [("due", "ok")]
        deleting.join(30)
        assert sorted(log) == [("delete", "ok"), ("due", "ok")]
        assert list(Job.objects.values_list("collection__name", flat=True)) == ["d"]

    def test_one_that_is_being_removed_is_left_out(self) -> None:
        connector = Connector.objects.get(collection__name="c")
        log: list[tuple[str, str]] = []
        with transaction.atomic():
            connectors.delete_connector(connector=connector)
            in_thread("due", connectors.run_due, log).join(30)
        assert log == [("due", "ok")]
        assert list(Job.objects.values_list("collection__name", flat=True)) == ["d"]


def waiting() -> int:
    """How many transactions wait for a lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return int(cursor.fetchone()[0])


def wait_until(condition: Callable[[], bool]) -> None:
    patience = threading.Event()
    for _ in range(200):
        if condition():
            return
        patience.wait(0.05)
    raise AssertionError("it never came to that")
