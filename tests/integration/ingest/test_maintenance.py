"""Vector indexes are planned and built by themselves, each by one job at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from psycopg.errors import DiskFull

from collections_app.models import Collection
from collections_app.services import create_collection, delete_collection, touch
from core_app.errors import Conflict, Unavailable
from core_app.ports import IndexState
from ingest_app.maintenance import MANY_PARTS, request_index
from ingest_app.models import Job
from ingest_app.planning import LARGE_TAIL, PAUSE, QUIET, Planner
from ingest_app.steering import cancel_job, retry_job
from ingest_app.work import run_job
from tests.integration.ingest.fake_store import BUILT, NOTHING, FakeStore, jobs, make
from tests.integration.ingest.filling import WorkerDied, expire, never

pytestmark = pytest.mark.django_db


class TestIndexes:
    def test_one_that_is_wanted_is_built_by_one_job(self, fake: FakeStore) -> None:
        collection = make(fake)
        planner = Planner()
        planner.plan()
        planner.plan()
        Planner().plan()
        (job,) = jobs("index")
        assert (job.collection_id, job.state) == (collection.pk, "queued")
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, job.result) == ("succeeded", {"indexed": 20_000, "unindexed": 0})
        assert (job.total, job.done) == (20_000, 20_000)
        assert [space.collection_id for space in fake.built] == [collection.pk]
        planner.plan()
        assert len(jobs("index")) == 1

    def test_the_store_is_asked_again_only_when_something_changed(self, fake: FakeStore) -> None:
        collection, _other = make(fake, state=NOTHING), make(fake, "other", NOTHING)
        planner = Planner()
        for _ in range(3):
            planner.plan()
        assert sorted(fake.asked) == sorted(fake.states)
        touch(collection=collection)
        planner.plan()
        assert fake.asked[2:] == [collection.pk]

    def test_words_that_many_small_adds_left_in_parts_are_merged_too(self, fake: FakeStore) -> None:
        collection = make(fake, state=NOTHING)
        fake.parts[collection.pk] = 20
        Planner().plan()
        (job,) = jobs("index")
        run_job(job_id=job.pk, stopping=never)
        assert (fake.parts[collection.pk], fake.built) == (0, [])
        Planner().plan()
        assert len(jobs("index")) == 1

    def test_words_in_very_many_parts_are_merged_before_a_build_that_may_fail(self, fake: FakeStore) -> None:
        collection = make(fake)
        fake.parts[collection.pk] = MANY_PARTS
        Planner().plan()
        (job,) = jobs("index")

        def fail() -> None:
            assert fake.parts[collection.pk] == 0
            raise RuntimeError

        fake.meanwhile = fail
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, fake.parts[collection.pk]) == ("failed", 0)

    def test_an_empty_collection_is_not_asked_about(self, fake: FakeStore) -> None:
        create_collection(name="c")
        Planner().plan()
        assert fake.asked == []

    def test_it_waits_until_writing_has_stopped(self, fake: FakeStore) -> None:
        collection = make(fake, state=IndexState(indexed=20_000, unindexed=15_000, wanted=True))
        planner = Planner()
        touch(collection=collection)
        planner.plan()
        assert jobs("index") == []
        Collection.objects.update(updated_at=timezone.now() - 2 * QUIET)
        planner.plan()
        assert len(jobs("index")) == 1

    def test_but_not_when_very_much_waits_for_it(self, fake: FakeStore) -> None:
        touch(collection=make(fake, state=IndexState(indexed=9, unindexed=LARGE_TAIL, wanted=True)))
        Planner().plan()
        assert len(jobs("index")) == 1

    @pytest.mark.parametrize(("parts", "expected"), [(MANY_PARTS - 1, 0), (MANY_PARTS, 1)])
    def test_nor_when_words_are_in_very_many_parts(self, fake: FakeStore, parts: int, expected: int) -> None:
        collection = make(fake, state=NOTHING)
        fake.parts[collection.pk] = parts
        touch(collection=collection)
        Planner().plan()
        assert len(jobs("index")) == expected

    @pytest.mark.parametrize("state", ["failed", "cancelled"])
    def test_what_ended_badly_is_left_alone_for_a_while(self, fake: FakeStore, state: str) -> None:
        collection = make(fake)
        now = timezone.now()
        job = Job.objects.create(collection=collection, kind="index", state=state, finished_at=now)
        Planner().plan()
        assert jobs("index") == [job]
        Job.objects.update(finished_at=now - PAUSE - timedelta(seconds=1))
        Planner().plan()
        assert len(jobs("index")) == 2

    def test_two_who_plan_at_once_make_one_job(self, fake: FakeStore) -> None:
        collection = make(fake)
        assert request_index(collection_id=collection.pk)
        assert not request_index(collection_id=collection.pk)
        assert request_index(collection_id=make(fake, "other").pk)

    def test_what_was_built_meanwhile_is_not_built_again(self, fake: FakeStore) -> None:
        """E.g. by a worker that died between the build and writing that down."""
        collection = make(fake)
        request_index(collection_id=collection.pk)
        fake.states[collection.pk] = BUILT
        run_job(job_id=jobs("index")[0].pk, stopping=never)
        assert fake.built == []
        assert jobs("index")[0].state == "succeeded"

    def test_a_collection_that_was_emptied_meanwhile_needs_none(self, fake: FakeStore) -> None:
        collection = make(fake)
        request_index(collection_id=collection.pk)
        Collection.objects.update(active_generation=None)
        run_job(job_id=jobs("index")[0].pk, stopping=never)
        assert jobs("index")[0].result == {"indexed": 0, "unindexed": 0}
        assert fake.asked == []

    def test_a_collection_that_is_deleted_meanwhile_ends_it_quietly(self, fake: FakeStore) -> None:
        make(fake)
        Planner().plan()
        fake.meanwhile = lambda: delete_collection(name="c")
        run_job(job_id=jobs("index")[0].pk, stopping=never)
        assert jobs("index") == []
        assert fake.built == []

    def test_a_build_can_be_cancelled_and_tried_again(self, fake: FakeStore) -> None:
        make(fake)
        Planner().plan()
        (job,) = jobs("index")
        fake.meanwhile = lambda: cancel_job(job=job)
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, job.step, fake.built) == ("cancelled", "", [])
        fake.meanwhile = lambda: None
        run_job(job_id=retry_job(job=job).pk, stopping=never)
        assert len(fake.built) == 1

    def test_it_is_not_tried_again_beside_another(self, fake: FakeStore) -> None:
        collection = make(fake)
        request_index(collection_id=collection.pk)
        first = cancel_job(job=jobs("index")[0])
        request_index(collection_id=collection.pk)
        with pytest.raises(Conflict) as raised:
            retry_job(job=first)
        assert raised.value.code == "job_running"

    def test_its_progress_can_be_seen(self, fake: FakeStore, client: Client) -> None:
        make(fake)
        Planner().plan()
        job = jobs("index")[0]
        seen: list[Any] = []
        fake.meanwhile = lambda: seen.append(client.get(f"/api/rag/jobs/{job.pk}").json())
        run_job(job_id=job.pk, stopping=never)
        (shown,) = seen
        assert (shown["state"], shown["step"]) == ("running", "Building an index over 20,000 vectors.")
        assert (shown["total"], shown["done"], shown["items"]) == (20_000, 0, [])

    def test_an_error_a_user_may_hear_of_is_shown_as_it_is(self, fake: FakeStore) -> None:
        make(fake)
        Planner().plan()

        def fail() -> None:
            raise Unavailable("There is no room. Make some.", code="no_room")

        fake.meanwhile = fail
        run_job(job_id=jobs("index")[0].pk, stopping=never)
        (job,) = jobs("index")
        assert (job.state, job.error, job.code) == ("failed", "There is no room. Make some.", "no_room")

    def test_what_kills_its_workers_is_set_aside(self, fake: FakeStore) -> None:
        make(fake)
        Planner().plan()
        (job,) = jobs("index")

        def die() -> None:
            raise WorkerDied

        fake.meanwhile = die
        for _ in range(3):
            with pytest.raises(WorkerDied):
                run_job(job_id=job.pk, stopping=never)
            expire(job)
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, job.code) == ("failed", "quarantined")

    def test_a_full_disk_ends_it_after_some_attempts(self, fake: FakeStore) -> None:
        make(fake)
        Planner().plan()
        (job,) = jobs("index")

        def fail() -> None:
            raise OperationalError("no room") from DiskFull("no room")

        fake.meanwhile = fail
        for attempt in range(3):
            run_job(job_id=job.pk, stopping=never)
            job.refresh_from_db()
            assert (job.state, job.attempts) == ("queued", attempt + 1)
            assert job.next_try_at is not None
            Job.objects.update(next_try_at=timezone.now())
        run_job(job_id=job.pk, stopping=never)
        job.refresh_from_db()
        assert (job.state, job.code) == ("failed", "quarantined")
