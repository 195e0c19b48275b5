"""Staff make, run, change and remove connectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from collections_app.models import Document
from collections_app.services import create_collection
from core_app.config import AppSettings
from ingest_app.models import Connector, Job
from ingest_app.work import run_job

pytestmark = pytest.mark.django_db

LIST = "/admin/ingest/connector/"
FIELDS = {
    "collection": "handbook",
    "kind": "folder",
    "location": "",
    "branch": "",
    "urls": "",
    "name_prefix": "",
    "every_seconds": "",
    "metadata": "",
}


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    (tmp_path / "a.md").write_text("# Tea\n\nOolong.")
    section = AppSettings.model_validate({"Ingestion": {"SyncFolders": [str(tmp_path)]}}).ingestion
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"ingestion": section})
    create_collection(name="handbook")
    return tmp_path


def page_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return str(answer.content.decode())


def made(root: Client, folder: Path, **fields: str) -> Connector:
    answer = root.post(f"{LIST}add/", {**FIELDS, "location": str(folder), **fields})
    connector = Connector.objects.get()
    assert answer["Location"] == f"{LIST}{connector.pk}/change/"
    return connector


def test_one_is_made_run_and_looked_at(root: Client, folder: Path) -> None:
    connector = made(root, folder, every_seconds="3600", remove_vanished="on", metadata='{"team": "tea"}')
    assert (connector.every_seconds, connector.remove_vanished, connector.metadata) == (3600, True, {"team": "tea"})
    assert "Every hour" in page_of(root, LIST)
    answer = root.post(f"{LIST}{connector.pk}/run/")
    job = Job.objects.get()
    assert answer["Location"] == f"/admin/ingest/job/{job.pk}/change/"
    run_job(job_id=job.pk, stopping=lambda: False)
    assert "1 indexed, 0 unchanged." in page_of(root, answer["Location"])
    page = page_of(root, f"{LIST}{connector.pk}/change/")
    assert "1 indexed, 0 unchanged." in page
    assert str(folder) in page
    assert list(Document.objects.values_list("source", flat=True)) == ["a.md"]


def test_what_would_change_is_said(root: Client, folder: Path) -> None:
    connector = made(root, folder)
    address = root.post(f"{LIST}{connector.pk}/run/", {"dry_run": ""})["Location"]
    run_job(job_id=Job.objects.get().pk, stopping=lambda: False)
    page = page_of(root, address)
    assert "Would find 1 new, 0 changed, 0 archives to look into, 0 unchanged; 0 gone. Nothing was changed." in page
    assert "a.md" in page, "the names are listed"
    assert not Document.objects.exists()


def test_a_place_that_may_not_be_read_is_a_sentence(root: Client, folder: Path) -> None:
    page = root.post(f"{LIST}add/", {**FIELDS, "location": "/etc"}).content.decode()
    assert "Connectors may not read this folder." in page
    assert not Connector.objects.exists()


def test_its_schedule_and_addresses_change(root: Client, folder: Path) -> None:
    connector = made(root, Path(), kind="urls", location="", urls="https://example.org/a\n\nhttps://example.org/b\n")
    assert connector.urls == ["https://example.org/a", "https://example.org/b"]
    address = f"{LIST}{connector.pk}/change/"
    root.post(address, {"every_seconds": "86400", "metadata": "", "urls": "https://example.org/c"})
    connector.refresh_from_db()
    assert (connector.every_seconds, connector.urls) == (86400, ["https://example.org/c"])
    page = root.post(address, {"every_seconds": "", "metadata": "", "urls": "ftp://example.org"}).content.decode()
    assert "Only http:// and https:// URLs can be read." in page
    Connector.objects.update(every_seconds=1234)
    root.post(address, {"every_seconds": "1234", "metadata": '{"a": 1}', "urls": "https://example.org/c"})
    connector.refresh_from_db()
    assert (connector.every_seconds, connector.metadata) == (1234, {"a": 1}), "what the API set can stay"


def test_it_is_removed_and_its_documents_stay(root: Client, folder: Path) -> None:
    connector = made(root, folder)
    root.post(f"{LIST}{connector.pk}/run/")
    run_job(job_id=Job.objects.get().pk, stopping=lambda: False)
    assert "Its documents stay." in page_of(root, f"{LIST}{connector.pk}/delete/")
    assert Connector.objects.exists()
    root.post(f"{LIST}{connector.pk}/delete/")
    assert (Connector.objects.count(), Document.objects.count()) == (0, 1)


def test_one_that_is_read_already_says_so(root: Client, folder: Path) -> None:
    connector = made(root, folder)
    root.post(f"{LIST}{connector.pk}/run/")
    page = root.post(f"{LIST}{connector.pk}/run/", follow=True).content.decode()
    assert "The connector is being read already." in page
    assert Job.objects.count() == 1
