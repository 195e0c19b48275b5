"""Connectors: places read when asked, and when their time has come (C: incremental sync)."""

from __future__ import annotations

import json
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from collections_app.models import Document
from collections_app.services import create_collection, delete_collection
from ingest_app import comparing, connectors, indexing, syncing
from ingest_app.models import Connector, Item, Job, Payload
from ingest_app.work import run_job
from tests.integration.ingest.connecting import ADDRESS, allow, make, outcome, run, sources, work_off

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]


def test_a_folder_is_read_when_asked_and_only_what_changed_is_indexed(client: Client, folder: Path) -> None:
    made = make(client, kind="folder", location=str(folder), metadata={"team": "tea"})
    assert (made.status_code, made.json()["next_run_at"], made.json()["last_job"]) == (201, None, None)
    key = made.json()["id"]
    first = run(client, key)
    assert outcome(first) == (
        "succeeded", {"a.md": "succeeded", "b.md": "succeeded"}, {"unchanged": 0, "removed": 0},
    )  # fmt: skip
    assert Document.objects.get(source="a.md").metadata == {"team": "tea"}
    assert outcome(run(client, key)) == ("succeeded", {}, {"unchanged": 2, "removed": 0})
    (folder / "b.md").write_text("another")
    (folder / "c.md").write_text("gamma")
    changed = {"b.md": "succeeded", "c.md": "succeeded"}
    assert outcome(run(client, key)) == ("succeeded", changed, {"unchanged": 1, "removed": 0})
    assert client.get(f"{ADDRESS}/{key}").json()["last_job"]["done"] == 2


def test_what_is_gone_goes_only_when_wanted(client: Client, folder: Path) -> None:
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    run(client, key)
    (folder / "a.md").unlink()
    assert run(client, key).result == {"unchanged": 1, "vanished": 1, "removed": 0}
    client.patch(f"{ADDRESS}/{key}", json.dumps({"remove_vanished": True}), "application/json")
    assert run(client, key).result == {"unchanged": 1, "vanished": 1, "removed": 1}
    assert sources() == ["b.md"]


def test_what_is_gone_from_an_archive_goes(client: Client, folder: Path) -> None:
    def pack(*names: str) -> None:
        with zipfile.ZipFile(folder / "more.zip", "w") as archive:
            for name in names:
                archive.writestr(name, name)

    pack("y.md", "z.md")
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    run(client, key)
    pack("y.md")
    assert (run(client, key).result or {})["removed"] == 1
    assert sources() == ["a.md", "b.md", "more.zip/y.md"]


def test_the_record_of_a_failed_file_goes_with_it(client: Client, folder: Path) -> None:
    (folder / "scan.pdf").write_bytes(b"%PDF-1.4 nothing")
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    assert run(client, key).state == "partial"
    (folder / "scan.pdf").unlink()
    assert run(client, key).state == "succeeded"
    assert sources() == ["a.md", "b.md"]


def test_a_dry_run_changes_nothing(client: Client, folder: Path) -> None:
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    job = run(client, key, "?dry_run=true")
    assert job.result is not None
    assert (job.state, job.result["new"], job.result["names"]) == ("succeeded", 2, {"new": ["a.md", "b.md"]})
    assert not Document.objects.exists()
    run(client, key)
    (folder / "a.md").unlink()
    job = run(client, key, "?dry_run=true")
    assert job.result is not None
    assert job.result["names"] == {"unchanged": ["b.md"], "vanished": ["a.md"]}
    assert sources() == ["a.md", "b.md"]


def test_an_empty_folder_fails_and_removes_nothing(client: Client, folder: Path) -> None:
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    run(client, key)
    for path in folder.iterdir():
        path.unlink()
    job = run(client, key)
    assert (job.state, job.code) == ("failed", "empty_folder")
    folder.rmdir()
    job = run(client, key)
    assert (job.state, job.code) == ("failed", "no_folder")
    assert sources() == ["a.md", "b.md"]


@pytest.mark.parametrize("where", ["/etc", "open/../secret", "open-beside", "link", "relative"])
def test_only_folders_that_the_operator_opened(client: Client, tmp_path: Path, where: str) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "open-beside").mkdir()
    (tmp_path / "open" / "link").symlink_to(tmp_path / "secret")
    location = {"/etc": "/etc", "link": f"{tmp_path}/open/link", "relative": "docs"}.get(where, f"{tmp_path}/{where}")
    answer = make(client, kind="folder", location=location)
    assert (answer.status_code, answer.json()["code"]) == (403, "folder_not_allowed")


def test_what_the_operator_closed_meanwhile_is_not_read(client: Client, folder: Path, settings: Any) -> None:
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    allow(settings)
    job = run(client, key)
    assert (job.state, job.code) == ("failed", "folder_not_allowed")


def test_links_do_not_lead_out_of_a_folder(client: Client, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "inside.md").symlink_to(folder / "a.md")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "deep.md").write_text("deep")
    (folder / "way").symlink_to(tmp_path / "outside")
    run(client, make(client, kind="folder", location=str(folder)).json()["id"])
    assert sources() == ["a.md", "b.md", "inside.md"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"kind": "ftp"}, "invalid"),
        ({"kind": "urls"}, "invalid_connector"),
        ({"kind": "urls", "urls": []}, "invalid_connector"),
        ({"kind": "urls", "urls": ["file:///etc/passwd"]}, "invalid_url"),
        ({"kind": "urls", "urls": ["https://a:b@example.org/"]}, "invalid_url"),
        ({"kind": "urls", "urls": [f"https://example.org/{'x' * 1024}"]}, "invalid_url"),
        ({"kind": "urls", "urls": ["https://example.org/"], "location": "/x"}, "invalid_connector"),
        ({"kind": "git"}, "invalid_url"),
        ({"kind": "git", "location": "ssh://example.org/x"}, "invalid_url"),
        ({"kind": "git", "location": "https://example.org/x", "branch": "--upload-pack=x"}, "invalid_branch"),
        ({"kind": "git", "location": "https://example.org/x", "urls": ["https://example.org"]}, "invalid_connector"),
        ({"kind": "git", "location": "https://example.org/x", "every_seconds": 5}, "invalid"),
        ({"kind": "git", "location": "https://example.org/x", "surprise": 1}, "invalid"),
        ({"kind": "folder", "location": "/etc", "branch": "main"}, "invalid_connector"),
    ],
)
def test_what_cannot_be_is_refused(client: Client, body: dict[str, Any], code: str) -> None:
    answer = make(client, **body)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_one_place_has_one_connector(client: Client, folder: Path) -> None:
    assert make(client, kind="folder", location=str(folder)).status_code == 201
    again = make(client, kind="folder", location=f"{folder}/../docs")
    assert (again.status_code, again.json()["code"]) == (409, "connector_exists")


def test_two_connectors_do_not_take_each_other_s_files(client: Client, folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    (other / "a.md").write_text("another a")
    run(client, make(client, kind="folder", location=str(folder)).json()["id"])
    job = run(client, make(client, kind="folder", location=str(other)).json()["id"])
    assert [(item.source, item.code) for item in Item.objects.filter(job=job)] == [("a.md", "taken_by_another")]
    assert Document.objects.get(source="a.md").title == "A"
    run(client, make(client, kind="folder", location=str(other.parent), prefix="all/").json()["id"])
    assert "all/other/a.md" in sources()


class TestSchedule:
    def test_it_runs_at_once_and_then_when_it_is_due(self, client: Client, folder: Path) -> None:
        made = make(client, kind="folder", location=str(folder), every_seconds=3600).json()
        assert connectors.run_due() == 1
        assert connectors.run_due() == 0, "its next time is an hour from now"
        job = work_off(Job.objects.get())
        assert (job.state, sources()) == ("succeeded", ["a.md", "b.md"])
        due = Connector.objects.get().next_run_at
        assert due is not None
        assert timedelta(minutes=59) < due - timezone.now() <= timedelta(hours=1)
        Connector.objects.update(next_run_at=timezone.now() - timedelta(days=3))
        assert connectors.run_due() == 1, "what was missed is made up for once"
        assert str(Job.objects.order_by("-created_at")[0].connector_id) == made["id"]

    def test_what_is_read_still_is_not_begun_again(self, client: Client, folder: Path) -> None:
        key = make(client, kind="folder", location=str(folder), every_seconds=60).json()["id"]
        assert connectors.run_due() == 1
        Connector.objects.update(next_run_at=timezone.now() - timedelta(seconds=1))
        assert connectors.run_due() == 0
        again = client.post(f"{ADDRESS}/{key}/run")
        assert (again.status_code, again.json()["code"]) == (409, "job_running")
        assert Job.objects.count() == 1

    def test_it_can_be_taken_off_its_schedule(self, client: Client, folder: Path) -> None:
        key = make(client, kind="folder", location=str(folder), every_seconds=60).json()["id"]
        answer = client.patch(f"{ADDRESS}/{key}", json.dumps({"every_seconds": None}), "application/json")
        assert answer.json()["next_run_at"] is None
        assert connectors.run_due() == 0

    def test_old_jobs_are_forgotten(self, client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(connectors, "JOBS_KEPT", 2)
        key = make(client, kind="folder", location=str(folder)).json()["id"]
        jobs = [run(client, key).pk for _ in range(4)]
        assert set(Job.objects.values_list("pk", flat=True)) == set(jobs[1:])
        for path in folder.iterdir():
            path.unlink()
        for _ in range(4):
            assert run(client, key).state == "failed"
        assert Job.objects.count() == 3, "failed ones, too"


class WorkerDied(BaseException):
    """Stands for a kill."""


def test_a_sync_whose_worker_died_goes_on_where_it_was(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        (folder / f"n{number}.md").write_text(f"number {number}")
    monkeypatch.setattr(syncing, "FILES_TOGETHER", 2)
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    run(client, key)
    for number in range(6):
        (folder / f"n{number}.md").write_text(f"changed {number}")
    (folder / "a.md").unlink()
    job = Job.objects.get(pk=client.post(f"{ADDRESS}/{key}/run").json()["id"])
    reading, calls = indexing.content_hash_of, iter(range(100))

    def dying(**arguments: Any) -> str:
        if next(calls) == 4:
            raise WorkerDied
        return reading(**arguments)

    monkeypatch.setattr(comparing, "content_hash_of", dying)
    with pytest.raises(WorkerDied):
        run_job(job_id=job.pk, stopping=lambda: False)
    assert 0 < Item.objects.filter(job=job, state="succeeded").count() < 6
    Job.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    state, items, numbers = outcome(work_off(job))
    assert (state, items) == ("succeeded", {f"n{number}.md": "succeeded" for number in range(6)})
    assert numbers["removed"] == 1
    assert sources() == ["b.md", *(f"n{number}.md" for number in range(6))]


def test_a_sync_is_not_tried_again_but_run_again(client: Client, folder: Path) -> None:
    """What it read may be old by then, and no document may go because of that."""
    (folder / "scan.pdf").write_bytes(b"%PDF-1.4 nothing")
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    job = run(client, key)
    assert (job.state, Payload.objects.count()) == ("partial", 0), "its bytes are of no use any more"
    answer = client.post(f"/api/rag/jobs/{job.pk}/retry")
    assert (answer.status_code, answer.json()["code"]) == (409, "run_connector")
    (folder / "scan.pdf").unlink()
    (folder / "scan.md").write_text("text now")
    assert outcome(run(client, key)) == ("succeeded", {"scan.md": "succeeded"}, {"unchanged": 2, "removed": 1})


def test_a_connector_is_forgotten_and_its_documents_stay(client: Client, folder: Path) -> None:
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    run(client, key)
    waiting = client.post(f"{ADDRESS}/{key}/run").json()["id"]
    assert client.delete(f"{ADDRESS}/{key}").json() == {"status": "deleted", "id": key}
    assert Job.objects.get(pk=waiting).state == "cancelled"
    assert Job.objects.count() == 2, "what it did stays known"
    assert sources() == ["a.md", "b.md"]
    assert client.get(f"{ADDRESS}/{key}").status_code == 404
    assert client.post(f"/api/rag/jobs/{waiting}/retry").status_code == 409


def test_it_belongs_to_its_collection(client: Client, folder: Path) -> None:
    key = make(client, kind="folder", location=str(folder)).json()["id"]
    create_collection(name="other")
    assert client.get(f"/api/rag/collections/other/connectors/{key}").status_code == 404
    assert client.get("/api/rag/collections/other/connectors").json() == {"connectors": [], "count": 0}
    run(client, key)
    delete_collection(name="c")
    assert not Connector.objects.exists()
