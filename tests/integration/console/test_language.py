"""Staff see and change the language of a collection's words."""

from __future__ import annotations

import pytest
from django.test import Client

from collections_app.models import Collection
from ingest_app import rewording
from ingest_app.models import Job
from tests.integration.console.conftest import Login, Rows
from tests.integration.ingest.filling import ingest

pytestmark = pytest.mark.django_db


@pytest.fixture
def address(rows: Rows) -> str:
    return f"/admin/collections/collection/{rows.collection.pk}/language/"


def overview(root: Client, rows: Rows) -> str:
    return root.get(f"/admin/collections/collection/{rows.collection.pk}/change/").content.decode()


def test_it_is_shown_and_changed(root: Client, rows: Rows, address: str) -> None:
    assert f'English <a class="rs-link" href="{address}"' in overview(root, rows)
    assert 'value="english" selected' in root.get(address).content.decode()
    page = root.post(address, {"language": "german"}, follow=True).content.decode()
    assert "The language of the words: german." in page
    assert Collection.objects.get().language == "german"


def test_a_job_does_what_takes_longer(root: Client, rows: Rows, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewording, "CHUNKS_AT_ONCE", 1)
    ingest(rows.collection.name, "One.", "Two.")
    answer = root.post(address, {"language": "german"})
    job = Job.objects.get(kind=Job.Kind.REWORD)
    assert answer["Location"] == f"/admin/ingest/job/{job.pk}/change/"
    assert "English, to be German" in overview(root, rows)
    assert "They are being indexed." in root.get(address).content.decode()
    root.post(f"/admin/ingest/job/{job.pk}/cancel/")
    assert "The job was stopped." in root.get(address).content.decode()


def test_what_is_no_language_is_refused(root: Client, address: str) -> None:
    assert "Select a valid choice" in root.post(address, {"language": "klingon"}).content.decode()
    assert Collection.objects.get().wanted_language == ""


def test_who_may_only_look_changes_nothing(login: Login, address: str) -> None:
    client = login("collections.view_collection")
    assert "Save" not in client.get(address).content.decode()
    assert client.post(address, {"language": "german"}).status_code == 403


def test_a_new_collection_has_the_language_that_was_chosen(root: Client) -> None:
    sent = {"name": "de", "distance": "cosine", "language": "german", "metadata": ""}
    root.post("/admin/collections/collection/add/", sent)
    assert Collection.objects.get(name="de").language == "german"
