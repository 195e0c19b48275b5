"""Pages of jobs: failed files with what helps, tried again one by one, and the log."""

from __future__ import annotations

import datetime
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from collections_app.models import Collection
from collections_app.services import create_collection
from core_app.errors import Conflict
from ingest_app.history import history
from ingest_app.models import Item, Job
from ingest_app.selectors import item_totals
from ingest_app.steering import cancel_job, retriable_items, retry_job
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from tests.integration.console.conftest import Login, Rows

pytestmark = pytest.mark.django_db

LIST = "/admin/ingest/job/"


def never() -> bool:
    return False


@pytest.fixture
def job(db: None) -> Job:
    """One that has ended: the first file is fine, of the others the server failed."""
    create_collection(name="staff")
    sources = [
        Source(name=name, content=content, is_text=True) for name, content in (("a", b"Tea."), ("b", b" "), ("c", b" "))
    ]
    made = submit(collection_name="staff", sources=sources)
    run_job(job_id=made.pk, stopping=never)
    Item.objects.filter(job=made, state="failed").update(code="server_error")
    return Job.objects.get(pk=made.pk)


def states(job: Job) -> list[str]:
    return list(Item.objects.filter(job=job).order_by("ordinal").values_list("state", flat=True))


def test_a_failed_file_shows_what_helps_and_a_button(root: Client, login: Login, job: Job) -> None:
    page = root.get(f"/admin/ingest/job/{job.pk}/change/").content.decode()
    assert page.count("Retry once it is mended") == 2
    assert page.count("Retry this file") == 2
    assert 'Retry this file<bdi class="rs-hidden">b</bdi>' in page
    looking = login("ingest.view_job").get(f"/admin/ingest/job/{job.pk}/change/").content.decode()
    assert "Retry once it is mended" in looking
    assert "Retry this file" not in looking


def test_one_file_is_tried_again_and_the_others_stay(root: Client, job: Job) -> None:
    there = f"/admin/ingest/job/{job.pk}/retry/"
    assert root.post(there, {"item": "2"}).status_code == 302
    assert states(job) == ["succeeded", "failed", "queued"]
    Item.objects.get(job=job, ordinal=2).payload.delete()
    for wrong in ("x", "-1", "²", "9" * 30):
        assert root.post(there, {"item": wrong}).status_code == 404


def test_one_file_is_tried_again_over_the_api(client: Client, job: Job) -> None:
    there = f"/api/rag/jobs/{job.pk}/retry"
    assert client.post(f"{there}?item=x").json()["code"] == "invalid"
    assert client.post(f"{there}?item=0").json()["code"] == "nothing_to_retry"
    answer = client.post(f"{there}?item=1")
    assert (answer.status_code, states(job)) == (202, ["succeeded", "queued", "failed"])


def test_what_stays_cancelled_is_told_by_the_job(db: None) -> None:
    create_collection(name="staff")
    job = submit(collection_name="staff", sources=[Source(name=n, content=b"Tea.", is_text=True) for n in "ab"])
    cancel_job(job=job)
    job.refresh_from_db()
    assert retriable_items(job=job, among=list(job.items.all())) == {0, 1}
    retry_job(job=job, ordinal=0)
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    assert (job.state, states(job)) == ("partial", ["succeeded", "cancelled"])


def test_nothing_is_tried_again_before_the_end(db: None) -> None:
    create_collection(name="staff")
    job = submit(collection_name="staff", sources=[Source(name="a", content=b"Tea.", is_text=True)])
    assert retriable_items(job=job, among=list(job.items.all())) == frozenset()
    with pytest.raises(Conflict):
        retry_job(job=job, ordinal=0)


def test_the_log_tells_what_happened_in_order(root: Client, job: Job) -> None:
    events = history(job=job, items=list(job.items.all()))
    assert [event.says.split(".")[0] for event in events] == [
        "Created",
        "A worker began",
        *["Begun"] * 3,
        "Failed",  # an empty file fails while it is read, which is before another is written
        "Failed",
        "Indexed",
        "Ended: partly failed",
    ]
    times = [event.at for event in events if event.at]
    assert len(times) == len(events)
    assert times == sorted(times)
    page = root.get(f"/admin/ingest/job/{job.pk}/log/").content.decode()
    assert "Partly failed" not in page.split("Ended: ")[0].split("<table")[1]
    assert page.count("<time ") == 9


def test_files_of_an_older_version_have_no_time_of_their_own(root: Client, job: Job) -> None:
    Item.objects.filter(job=job, source__in="bc").update(started_at=None, finished_at=None)
    found = {event.source: event.at for event in history(job=job, items=list(job.items.all())) if event.source}
    assert found["a"] is not None
    assert (found["b"], found["c"]) == (None, None)
    assert root.get(f"/admin/ingest/job/{job.pk}/log/").content.decode().count("time not kept") == 2


def test_times_of_a_file_are_those_of_its_last_attempt(job: Job) -> None:
    first = Item.objects.get(job=job, ordinal=1)
    assert first.started_at is not None
    assert first.finished_at is not None
    assert job.created_at <= first.started_at <= first.finished_at
    retry_job(job=job, ordinal=1)
    waiting = Item.objects.get(job=job, ordinal=1)
    assert (waiting.started_at, waiting.finished_at) == (None, None)
    cancel_job(job=job)
    ended = Item.objects.get(job=job, ordinal=1)
    assert ended.started_at is None
    assert ended.finished_at
    assert ended.finished_at > first.finished_at


def test_a_file_that_fails_for_ever_offers_no_retry(root: Client, job: Job) -> None:
    Item.objects.filter(job=job, ordinal=1).update(code="empty_file")
    page = root.get(f"/admin/ingest/job/{job.pk}/change/").content.decode()
    assert page.count("Retry this file") == 1
    assert "Retry what failed" in page
    Item.objects.filter(job=job, ordinal=2).update(code="encrypted")
    page = root.get(f"/admin/ingest/job/{job.pk}/change/").content.decode()
    assert "Retry" not in page
    assert page.count("What helps:") == 2


def test_pages_of_jobs_begin_at_a_key(root: Client, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one moment, too, are each on one page, and what comes meanwhile moves none of them."""
    monkeypatch.setattr("console_app.job_list.PAGE_SIZE", 2)
    ended = {"kind": "rechunk", "state": "succeeded", "finished_at": timezone.now()}
    made = Job.objects.bulk_create(Job(collection=job.collection, **ended) for _ in range(5))
    Job.objects.filter(pk__in=[row.pk for row in made[:4]]).update(created_at=job.created_at)
    wanted = [str(key) for key in Job.objects.order_by("-created_at", "-id").values_list("pk", flat=True)]
    seen, address, back = [], LIST, ""
    while address:
        page = root.get(address).content.decode()
        seen += re.findall(r"/admin/ingest/job/([0-9a-f-]{36})/change/", page)
        if address == LIST:
            Job.objects.create(collection=job.collection)
        back = found[1] if (found := re.search(r'rel="prev" href="([^"]+)"', page)) else ""
        address = LIST + found[1] if (found := re.search(r'rel="next" href="([^"]+)"', page)) else ""
    assert seen == wanted
    page = root.get(LIST + back).content.decode()
    assert re.findall(r"/admin/ingest/job/([0-9a-f-]{36})/change/", page) == wanted[2:4]


def test_the_list_of_jobs_is_narrowed_and_survives_any_key(root: Client, job: Job) -> None:
    assert str(job.pk) in root.get(f"{LIST}?state__exact=partial&kind__exact=ingest").content.decode()
    none = root.get(f"{LIST}?state__exact=failed").content.decode()
    assert str(job.pk) not in none
    assert "No job fits" in none
    for wrong in ("x", "-1", "9" * 56, "9" * 400, "²"):
        assert root.get(f"{LIST}?after={wrong}").status_code == 200
    assert str(job.pk) not in root.get(f"{LIST}?kind__exact=nonsense").content.decode()


def test_the_log_of_a_job_that_goes_on(db: None) -> None:
    later = timezone.now() + datetime.timedelta(minutes=5)
    job = Job.objects.create(collection=Collection.objects.create(name="x", store="pgvector"), attempts=2)
    job.started_at, job.cancel_requested, job.next_try_at = timezone.now(), True, later
    Item.objects.create(job=job, ordinal=0, source="a", next_try_at=later)
    said = [(event.source, event.says) for event in history(job=job, items=list(job.items.all()))]
    assert ("", "Begun 2 times: the earlier attempts were cut off.") in said
    assert ("a", "Will be tried again.") in said
    assert ("", "Somebody asked it to stop.") in said
    assert said[-1] == ("", "Will be tried again.")


def test_jobs_are_filtered_by_state_and_never_counted(root: Client, rows: Rows, job: Job) -> None:
    assert str(job.pk) in root.get(f"{LIST}?state__exact=partial").content.decode()
    assert str(rows.job.pk) not in root.get(f"{LIST}?state__exact=partial").content.decode()
    with CaptureQueriesContext(connection) as captured:
        root.get(LIST)
    listing = [found["sql"] for found in captured if 'FROM "ingest_job"' in found["sql"]]
    assert not [sql for sql in listing if "OFFSET" in sql or "SELECT COUNT(*) FROM" in sql]
    assert any("LIMIT 51" in sql for sql in listing)


def test_a_copy_is_opened_from_the_page_of_its_job_by_whoever_reaches_it(login: Login, root: Client) -> None:
    source, copy = create_collection(name="tea"), create_collection(name="tea-copy")
    made = Job.objects.create(
        kind="copy",
        collection=source,
        state="succeeded",
        finished_at=timezone.now(),
        options={"name": "tea-copy"},
        result={"chunks": 12345, "collection_id": copy.pk},
    )
    there = f"/admin/ingest/job/{made.pk}/change/"
    opens = f'href="/admin/collections/collection/{copy.pk}/change/"'
    page = root.get(there).content.decode()
    assert opens in page
    assert "Its chunks: 12,345." in page
    abilities = ("ingest.view_job", "collections.view_collection")
    assert opens not in login(*abilities, collections=["tea"]).get(there).content.decode()
    copy.delete()
    assert opens not in root.get(there).content.decode()


def test_the_page_of_a_large_job_reads_no_more_items_than_it_shows(root: Client, job: Job) -> None:
    """Failures first, then the rest; the counts and what has changed are the database's."""
    few = [Item(job=job, ordinal=3 + place, source=f"f{place}", state="succeeded") for place in range(300)]
    Item.objects.bulk_create(few)
    for part in ("progress", "log", "change"):
        with CaptureQueriesContext(connection) as captured:
            answer = root.get(f"/admin/ingest/job/{job.pk}/{part}/")
        assert answer.status_code in {200, 286}
        items = [query["sql"] for query in captured if '"ingest_item"."source"' in query["sql"]]
        assert items
        assert all("LIMIT 200" in statement for statement in items), part
    page = root.get(f"/admin/ingest/job/{job.pk}/progress/")
    assert [item.state for item in page.context["items"]][:3] == ["failed", "failed", "succeeded"]
    assert {group.state: group.count for group in page.context["groups"]} == {"": 303, "succeeded": 301, "failed": 2}
    assert page.context["hidden"] == 103


def test_whatever_changes_of_an_item_is_news(job: Job) -> None:
    told = item_totals(job=job).version
    for change in ({"attempts": 7}, {"state": "running"}, {"chunks": 9}, {"error": "another one"}):
        Item.objects.filter(job=job, ordinal=0).update(**change)
        assert item_totals(job=job).version != told, change
        told = item_totals(job=job).version
