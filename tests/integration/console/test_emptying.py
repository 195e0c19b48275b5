"""Emptying in the console, and the pages of jobs without items."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from collections_app.models import Chunk, Collection, Document
from console_app.selectors import recent_jobs
from ingest_app import services
from ingest_app.models import Job
from ingest_app.services import start_emptying
from ingest_app.steering import cancel_job
from tests.integration.console.conftest import Login, Rows

pytestmark = pytest.mark.django_db


def page_of(rows: Rows) -> str:
    return f"/admin/collections/collection/{rows.collection.pk}/empty/"


def test_the_page_says_first_what_would_go(root: Client, rows: Rows) -> None:
    text = root.get(page_of(rows)).content.decode()
    assert "1 document and" in text
    assert "1 chunk of" in text
    assert Chunk.objects.exists()


@pytest.mark.parametrize("typed", ["", "Handbook", "handbook "])
def test_it_asks_for_the_name(root: Client, rows: Rows, typed: str) -> None:
    assert root.post(page_of(rows), {"name": typed}).status_code == 200
    assert Chunk.objects.count() == Document.objects.count() == 1


def test_then_everything_goes_and_the_collection_stays(root: Client, rows: Rows) -> None:
    answer = root.post(page_of(rows), {"name": "handbook"}, follow=True)
    assert answer.redirect_chain == [(f"/admin/collections/collection/{rows.collection.pk}/change/", 302)]
    assert b"Chunks deleted: 1." in answer.content
    assert not Chunk.objects.exists()
    assert not Document.objects.exists()
    assert Collection.objects.get().metadata == rows.collection.metadata
    assert Job.objects.get() == rows.job


def test_a_large_one_leads_to_the_page_of_its_job(root: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "IN_REQUEST_CHUNKS", 0)
    monkeypatch.setattr("console_app.collections_admin.PATIENCE_SECONDS", 0.01)
    answer = root.post(page_of(rows), {"name": "handbook"}, follow=True)
    job = Job.objects.get(kind="empty")
    assert answer.redirect_chain == [(f"/admin/ingest/job/{job.pk}/change/", 302)]
    text = answer.content.decode()
    assert "Waiting for a worker." in text
    assert "Cancel job" in text
    assert "<h2>Files</h2>" not in text
    assert Chunk.objects.exists()


def test_trying_an_emptying_again_takes_the_right_to_empty(login: Login, rows: Rows) -> None:
    job = cancel_job(job=start_emptying(name="handbook"))
    steering = ("ingest.view_job", "ingest.change_job")
    emptying = ("collections.view_collection", "collections.delete_document", "collections.delete_chunk")
    page = f"/admin/ingest/job/{job.pk}/change/"
    assert b"Try again" not in login(*steering).get(page).content
    assert login(*steering).post(f"/admin/ingest/job/{job.pk}/retry/").status_code == 403
    assert b"Try again" in login(*steering, *emptying).get(page).content
    assert login(*steering, *emptying).post(f"/admin/ingest/job/{job.pk}/retry/").status_code == 302
    assert Job.objects.get(pk=job.pk).state == "queued"


def test_each_kind_of_job_has_a_page_in_each_of_its_states(root: Client, rows: Rows) -> None:
    results = {"empty": {"count_deleted": 12_345}, "index": {"indexed": 12_345, "unindexed": 0}, "reclaim": {}}
    sentences = {
        "empty": "Chunks deleted: 12,345.",
        "index": "Vectors in the index: 12,345.",
        "reclaim": "The space of deleted rows was given back.",
    }
    for kind, result in results.items():
        collection = None if kind == "reclaim" else rows.collection
        job = Job.objects.create(kind=kind, collection=collection, state="running", step="Half <way>.", total=4, done=2)
        page = f"/admin/ingest/job/{job.pk}/change/"
        running = root.get(page).content.decode()
        assert "Half &lt;way&gt;." in running
        assert 'value="50"' in running
        Job.objects.filter(pk=job.pk).update(state="failed", error="No room.", finished_at=timezone.now())
        failed = root.get(page).content.decode()
        assert "No room." in failed
        assert "Try again" in failed
        Job.objects.filter(pk=job.pk).update(state="succeeded", result=result)
        assert sentences[kind] in root.get(page).content.decode()
        Job.objects.filter(pk=job.pk).update(state="cancelled")
        assert "Cancelled" in root.get(page).content.decode()


def test_a_poll_without_news_is_empty_and_one_with_a_new_step_is_not(root: Client, rows: Rows) -> None:
    job = Job.objects.create(kind="reclaim", state="running", step="One.")
    page = root.get(f"/admin/ingest/job/{job.pk}/progress/").content.decode()
    seen = page.split("?seen=")[1].split("&")[0]
    poll = f"/admin/ingest/job/{job.pk}/progress/?seen={seen}"
    assert root.get(poll).status_code == 204
    Job.objects.update(step="Two.")
    assert b"Two." in root.get(poll).content


def test_the_list_shows_kinds_and_can_be_cut_to_one(root: Client, rows: Rows) -> None:
    Job.objects.create(kind="reclaim", state="running", total=2, done=1)
    text = root.get("/admin/ingest/job/?kind__exact=reclaim").content.decode()
    assert "Reclaim space" in text
    assert "1 of 2" in text
    assert f"/{rows.job.pk}/" not in text


def test_upkeep_that_went_well_is_not_among_the_newest(rows: Rows) -> None:
    now = timezone.now()
    for state in ("succeeded", "failed"):
        Job.objects.create(kind="index", collection=rows.collection, state=state, finished_at=now)
    Job.objects.create(kind="reclaim", state="running")
    shown = {(found.job.kind, found.job.state) for found in recent_jobs(limit=10)}
    assert shown == {("ingest", "queued"), ("index", "failed"), ("reclaim", "running")}
