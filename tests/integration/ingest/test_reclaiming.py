"""Space is given back by one job at a time; what a round of the reaper does; jobs of the whole server."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone

from access_app.services import create_key
from collections_app.models import Collection
from collections_app.services import create_collection, delete_collection
from ingest_app import emptying, planning
from ingest_app.itemless import REMEMBERED
from ingest_app.maintenance import request_reclaim
from ingest_app.models import Job
from ingest_app.planning import QUIET, RECLAIM_PAUSE, Planner
from ingest_app.selectors import report
from ingest_app.steering import cancel_job
from ingest_app.work import reap, run_job
from stores_app import hnsw
from tests.integration.ingest.fake_store import BUILT, NOTHING, FakeStore, jobs, make
from tests.integration.ingest.filling import empty, fill, never

much_is_dead = planning._much_is_dead


@pytest.mark.django_db
class TestReclaiming:
    def test_one_job_does_it_for_everybody(self, fake: FakeStore) -> None:
        first = request_reclaim(collection=make(fake))
        assert request_reclaim(collection=make(fake, "other")) == first
        assert request_reclaim() == first
        run_job(job_id=first, stopping=never)
        (job,) = jobs("reclaim")
        assert (job.state, job.again, fake.reclaimed) == ("succeeded", False, 1)
        assert request_reclaim() != first

    def test_what_is_asked_for_while_it_runs_is_done_before_it_ends(self, fake: FakeStore) -> None:
        first = request_reclaim()
        asked = iter([request_reclaim, request_reclaim])
        fake.meanwhile = lambda: next(asked, lambda: None)()
        run_job(job_id=first, stopping=never)
        assert (fake.reclaimed, jobs("reclaim")[0].state) == (3, "succeeded")

    def test_its_steps_can_be_seen(self, fake: FakeStore) -> None:
        job_id = request_reclaim()
        seen: list[tuple[str, int, int]] = []

        def look() -> None:
            found = report(job=Job.objects.get(pk=job_id))
            seen.append((found.job.step, found.done, found.total))

        fake.meanwhile = look
        run_job(job_id=job_id, stopping=never)
        assert seen == [("Giving back space: indexes.", 0, 2)]

    def test_it_stops_between_two_steps(self, fake: FakeStore) -> None:
        job_id = request_reclaim()
        fake.meanwhile = lambda: cancel_job(job=Job.objects.get(pk=job_id))
        run_job(job_id=job_id, stopping=never)
        assert (jobs("reclaim")[0].state, fake.reclaimed) == ("cancelled", 0)

    def test_it_is_planned_when_an_indexed_collection_went(self, fake: FakeStore) -> None:
        make(fake, "small", NOTHING)
        make(fake, "large", BUILT)
        planner = Planner()
        planner.plan()
        delete_collection(name="small")
        planner.plan()
        assert jobs("reclaim") == []
        delete_collection(name="large")
        planner.plan()
        (job,) = jobs("reclaim")
        assert job.collection is None

    def test_it_is_planned_when_much_is_dead(self, fake: FakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(planning, "_much_is_dead", much_is_dead)
        monkeypatch.setattr(planning, "DEAD_ROWS", 10**9)
        planner = Planner()
        planner.plan()
        assert jobs("reclaim") == []
        monkeypatch.setattr(planning, "DEAD_ROWS", 0)
        monkeypatch.setattr(planning, "DEAD_PART", 0)
        planner.plan()
        planner.plan()
        (job,) = jobs("reclaim")
        run_job(job_id=job.pk, stopping=never)
        planner.plan()
        assert len(jobs("reclaim")) == 1, "what could not be reclaimed is not tried again at once"
        Job.objects.update(created_at=timezone.now() - RECLAIM_PAUSE - timedelta(seconds=1))
        planner.plan()
        assert len(jobs("reclaim")) == 2

    def test_what_went_well_is_forgotten_after_a_while(self, fake: FakeStore) -> None:
        old = timezone.now() - REMEMBERED - timedelta(minutes=1)
        for kind, state in [
            ("reclaim", "succeeded"),
            ("reclaim", "failed"),
            ("index", "succeeded"),
            ("empty", "failed"),
        ]:
            Job.objects.create(kind=kind, state=state, finished_at=old)
        run_job(job_id=request_reclaim(), stopping=never)
        left = sorted(Job.objects.values_list("kind", "state"))
        assert left == [("empty", "failed"), ("index", "succeeded"), ("reclaim", "failed"), ("reclaim", "succeeded")]


@pytest.mark.django_db
class TestRounds:
    def test_each_kind_is_announced_on_its_queue(self, fake: FakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many files wait, an emptying that nobody began is announced."""
        collection = make(fake)
        monkeypatch.setattr("ingest_app.work.ANNOUNCED_PER_ROUND", 2)
        for kind in ["ingest"] * 3 + ["empty", "index", "reclaim"]:
            Job.objects.create(collection=collection, kind=kind)
        sent: list[tuple[str, str]] = []

        def send_task(_name: str, *, args: list[str], queue: str, **_: Any) -> None:
            sent.append((Job.objects.get(pk=args[0]).kind, queue))

        monkeypatch.setattr("celery.current_app.send_task", send_task)
        assert reap(interval_seconds=10) == 5
        assert sorted(sent) == [
            ("empty", "control"),
            ("index", "maintenance"),
            ("ingest", "default"),
            ("ingest", "default"),
            ("reclaim", "maintenance"),
        ]

    def test_a_round_that_fails_stops_no_other(self, fake: FakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
        make(fake)

        def fail(**_: Any) -> None:
            raise DatabaseError("broken")

        planner = Planner()
        with monkeypatch.context() as broken:
            broken.setattr(fake, "index_state", fail)
            planner.plan()
        planner.plan()
        assert len(jobs("index")) == 1

    def test_no_model_is_loaded(self, fake: FakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse() -> None:
            raise AssertionError("upkeep embeds nothing")

        monkeypatch.setattr("core_app.wiring._embedder", refuse)
        make(fake)
        Planner().plan()
        request_reclaim()
        for job in Job.objects.all():
            run_job(job_id=job.pk, stopping=never)
        assert set(Job.objects.values_list("state", flat=True)) == {"succeeded"}

    def test_the_list_of_jobs_can_be_cut_to_a_kind(self, fake: FakeStore, client: Client) -> None:
        collection = make(fake)
        for kind in ("ingest", "index"):
            Job.objects.create(collection=collection, kind=kind)
        request_reclaim()
        found = client.get("/api/rag/jobs", {"kind": "index"}).json()
        assert [job["kind"] for job in found["jobs"]] == ["index"]
        assert client.get("/api/rag/jobs", {"kind": "nap"}).status_code == 400
        everything = client.get("/api/rag/jobs").json()
        assert {(job["kind"], job["collection"]) for job in everything["jobs"]} == {
            ("ingest", "c"),
            ("index", "c"),
            ("reclaim", None),
        }


@pytest.mark.django_db
class TestJobsOfTheWholeServer:
    def test_only_keys_for_everything_reach_them(self, fake: FakeStore, client: Client) -> None:
        job_id = request_reclaim()
        for scope, status, total in ((["c*", "team"], 403, 0), (["team", "*"], 200, 1)):
            _key, secret = create_key(name="k", verbs=["read"], collections=scope)
            headers = {"x-api-key": secret}
            assert client.get(f"/api/rag/jobs/{job_id}", headers=headers).status_code == status
            assert client.get("/api/rag/jobs", headers=headers).json()["total"] == total


@pytest.mark.django_db(transaction=True)
def test_an_index_is_planned_built_and_dropped_after_emptying(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real store, from the first round to the last."""
    section = settings.RAGSITE.vector_database.model_copy(update={"index_bytes": 1000})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"vector_database": section})
    monkeypatch.setattr(emptying, "RECLAIM_FROM", 300)
    create_collection(name="c")
    fill("c", 300)
    Collection.objects.update(updated_at=timezone.now() - 2 * QUIET)
    Planner().plan()
    (built,) = jobs("index")
    run_job(job_id=built.pk, stopping=never)
    built.refresh_from_db()
    assert (built.state, built.result) == ("succeeded", {"indexed": 300, "unindexed": 0})
    assert [index.is_valid for index in hnsw.catalogued()] == [True]
    Planner().plan()
    assert len(jobs("index")) == 1
    assert empty(client, "c").json()["count_deleted"] == 300
    (reclaiming,) = jobs("reclaim")
    run_job(job_id=reclaiming.pk, stopping=never)
    reclaiming.refresh_from_db()
    assert (reclaiming.state, hnsw.catalogued()) == ("succeeded", [])
