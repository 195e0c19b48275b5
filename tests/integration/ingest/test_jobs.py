"""Jobs that are interrupted: nothing is lost, nothing happens twice, and the row says what is true."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from collections_app.models import Chunk, Collection, Document
from collections_app.services import create_collection, delete_collection
from core_app.errors import Conflict, InvalidInput
from ingest_app import embedding, indexing, item_work, work
from ingest_app.leases import CancelledError, LeaseLostError, claim, hold, renew
from ingest_app.models import Item, Job, Payload
from ingest_app.outcomes import FIRST_PAUSE, LONGEST_PAUSE, pause
from ingest_app.selectors import report
from ingest_app.steering import cancel_job, retry_job
from ingest_app.submitting import Source, submit
from ingest_app.work import reap, run_job
from search_app.services import search
from tests.integration.ingest.filling import work_off

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    return create_collection(name="c")


def texts(count: int) -> list[Source]:
    return [Source(name=f"s{n}", content=f"Passage number {n}.".encode(), is_text=True) for n in range(count)]


def never() -> bool:
    return False


def states(job: Job) -> list[str]:
    return list(Item.objects.filter(job=job).order_by("ordinal").values_list("state", flat=True))


class WorkerDied(BaseException):
    """Stands for a kill: nothing catches it, nothing is tidied up."""


def die_once(monkeypatch: pytest.MonkeyPatch, name: str, *, after: int) -> None:
    """Let the function of this name end the worker at its call number `after`, counted from 0."""
    room = embedding if name == "embed_drafts" else item_work
    original: Callable[..., Any] = getattr(room, name)
    calls = iter(range(1_000_000))

    def dying(**arguments: Any) -> Any:
        if next(calls) == after:
            raise WorkerDied
        return original(**arguments)

    monkeypatch.setattr(room, name, dying)


def expire(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("step", "after"), [("draft_item", 0), ("draft_item", 2), ("embed_drafts", 0), ("write_draft", 2)]
)
def test_a_job_whose_worker_died_is_finished_by_another(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, step: str, after: int
) -> None:
    job = submit(collection_name="c", sources=texts(5))
    die_once(monkeypatch, step, after=after)
    with pytest.raises(WorkerDied):
        run_job(job_id=job.pk, stopping=never)
    run_job(job_id=job.pk, stopping=never)
    assert report(job=job).ended < 5, "the lease still holds: nobody else may work on it"
    expire(job)
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    assert (job.state, states(job)) == ("succeeded", ["succeeded"] * 5)
    assert Chunk.objects.count() == Document.objects.count() == 5
    found = search(collection_name="c", query="passage number", top_k=100)
    assert sorted(hit.metadata["source"] for hit in found.hits) == [f"s{n}" for n in range(5)]
    assert Payload.objects.count() == 0


def test_running_a_job_twice_changes_nothing(collection: Collection) -> None:
    job = submit(collection_name="c", sources=texts(3))
    run_job(job_id=job.pk, stopping=never)
    ids = set(Chunk.objects.values_list("pk", flat=True))
    run_job(job_id=job.pk, stopping=never)
    assert set(Chunk.objects.values_list("pk", flat=True)) == ids


def test_a_job_that_does_not_exist_is_nothing_to_do() -> None:
    run_job(job_id=uuid.uuid4(), stopping=never)
    assert Job.objects.count() == 0


def test_an_item_that_kills_its_workers_is_set_aside_and_the_others_go_on(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    job = submit(collection_name="c", sources=texts(3))
    original = indexing.draft_item

    def poisoned(*, item: Item, **others: Any) -> Any:
        if item.source == "s1":
            raise WorkerDied
        return original(item=item, **others)

    monkeypatch.setattr(item_work, "draft_item", poisoned)
    for _ in range(3):
        with pytest.raises(WorkerDied):
            run_job(job_id=job.pk, stopping=never)
        expire(job)
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    assert (job.state, states(job)) == ("partial", ["succeeded", "failed", "succeeded"])
    item = Item.objects.get(job=job, source="s1")
    assert (item.code, item.attempts) == ("quarantined", 3)


def test_an_unknown_error_of_one_item_is_its_own(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(collection_name="c", sources=texts(2))

    def broken(**_: Any) -> Any:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(item_work, "write_draft", broken)
    work_off(job)
    item = Item.objects.filter(job=job).first()
    assert item is not None
    assert (item.state, item.code, item.attempts) == ("failed", "server_error", 3)
    assert "secret" not in item.error
    assert Chunk.objects.count() == 0


def test_items_whose_embedding_fails_together_are_tried_alone(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit(collection_name="c", sources=texts(3))
    original = embedding.embed_drafts

    def fragile(*, drafts: Any, check: Any) -> Any:
        if any(draft.item.source == "s2" for draft in drafts):
            raise RuntimeError("out of memory")
        return original(drafts=drafts, check=check)

    monkeypatch.setattr(embedding, "embed_drafts", fragile)
    work_off(job)
    assert states(job) == ["succeeded", "succeeded", "failed"]


def test_an_error_that_passes_costs_a_pause_and_no_file(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit(collection_name="c", sources=texts(2))
    original = indexing.write_draft
    calls = iter(range(100))

    def fragile(**arguments: Any) -> Any:
        if next(calls) == 0:
            raise MemoryError
        return original(**arguments)

    monkeypatch.setattr(item_work, "write_draft", fragile)
    before = timezone.now()
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    item = Item.objects.get(job=job, source="s0")
    assert (job.state, states(job), item.code) == ("queued", ["queued", "succeeded"], "server_error")
    assert item.next_try_at is not None
    assert job.next_try_at == item.next_try_at
    assert before + FIRST_PAUSE <= item.next_try_at <= timezone.now() + FIRST_PAUSE
    run_job(job_id=job.pk, stopping=never)
    assert states(job) == ["queued", "succeeded"], "nobody takes it before"
    work_off(job)
    assert (job.state, states(job)) == ("succeeded", ["succeeded", "succeeded"])
    assert Item.objects.get(job=job, source="s0").error == ""


def test_pauses_grow_and_are_bounded() -> None:
    assert [pause(attempts).total_seconds() for attempts in (1, 2, 3)] == [5, 20, 80]
    assert pause(1000) == LONGEST_PAUSE


def test_a_job_that_waits_for_another_try_can_be_cancelled(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit(collection_name="c", sources=texts(1))
    monkeypatch.setattr(item_work, "write_draft", lambda **_: 1 / 0)
    run_job(job_id=job.pk, stopping=never)
    assert cancel_job(job=job).state == "cancelled"


def test_uploads_are_turned_away_while_too_much_waits(collection: Collection, settings: Any, client: Client) -> None:
    limits = settings.RAGSITE.ingestion.model_copy(update={"max_waiting_files": 3})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"ingestion": limits})
    address = "/api/rag/collections/c/documents"
    many = {"documents": [{"source": f"m{n}", "text": "t"} for n in range(4)]}
    assert client.post(address, many, "application/json").status_code == 202, "it would never find room"
    one = {"documents": [{"source": "one", "text": "t"}]}
    answer = client.post(address, one, "application/json")
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (503, "queue_full", "30")
    run_job(job_id=Job.objects.get().pk, stopping=never)
    assert client.post(address, one, "application/json").status_code == 202


@pytest.mark.usefixtures("model_here")
def test_a_worker_that_lost_its_lease_cannot_write(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(collection_name="c", sources=texts(1))
    original = embedding.embed_drafts

    def slow(*, drafts: Any, check: Any) -> Any:
        vectors = original(drafts=drafts, check=check)
        expire(job)
        assert claim(job_id=job.pk) is not None, "another worker takes over meanwhile"
        return vectors

    monkeypatch.setattr(embedding, "embed_drafts", slow)
    run_job(job_id=job.pk, stopping=never)
    assert Chunk.objects.count() == 0
    assert states(job) == ["running"]


def test_leases_are_exclusive_and_fenced(collection: Collection) -> None:
    job = submit(collection_name="c", sources=texts(1))
    first = claim(job_id=job.pk)
    assert first is not None
    assert claim(job_id=job.pk) is None
    renew(lease=first)
    expire(job)
    second = claim(job_id=job.pk)
    assert second is not None
    with pytest.raises(LeaseLostError):
        renew(lease=first)
    with pytest.raises(LeaseLostError):
        hold(lease=first)


def test_a_stopping_worker_gives_its_job_back_without_counting_the_attempt(collection: Collection) -> None:
    job = submit(collection_name="c", sources=texts(2))
    run_job(job_id=job.pk, stopping=lambda: True)
    job.refresh_from_db()
    assert (job.state, job.lease_token, states(job)) == ("queued", None, ["queued", "queued"])
    assert set(Item.objects.values_list("attempts", flat=True)) == {0}
    run_job(job_id=job.pk, stopping=never)
    assert states(job) == ["succeeded", "succeeded"]


def test_a_waiting_job_is_cancelled_at_once(collection: Collection) -> None:
    job = cancel_job(job=submit(collection_name="c", sources=texts(2)))
    assert (job.state, states(job)) == ("cancelled", ["cancelled", "cancelled"])
    run_job(job_id=job.pk, stopping=never)
    assert Chunk.objects.count() == 0


@pytest.mark.usefixtures("model_here")
def test_a_running_job_stops_within_one_batch(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(collection_name="c", sources=texts(40))
    original = embedding.embed_drafts

    def cancelled_meanwhile(*, drafts: Any, check: Any) -> Any:
        cancel_job(job=job)
        return original(drafts=drafts, check=check)

    monkeypatch.setattr(embedding, "embed_drafts", cancelled_meanwhile)
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert set(states(job)) == {"cancelled"}
    assert Chunk.objects.count() == 0
    lease = claim(job_id=job.pk)
    assert lease is None, "an ended job is not taken again"


def test_a_cancel_is_seen_by_the_heartbeat(collection: Collection) -> None:
    job = submit(collection_name="c", sources=texts(1))
    lease = claim(job_id=job.pk)
    assert lease is not None
    cancel_job(job=job)
    with pytest.raises(CancelledError):
        renew(lease=lease)


def test_only_failed_items_are_tried_again(collection: Collection) -> None:
    job = submit(collection_name="c", sources=[*texts(1), Source(name="empty", content=b" ", is_text=True)])
    run_job(job_id=job.pk, stopping=never)
    assert states(job) == ["succeeded", "failed"]
    before = set(Chunk.objects.values_list("pk", flat=True))
    Payload.objects.filter(item__source="empty").update(content=b"now it has words")
    with pytest.raises(Conflict, match="Nothing of the job failed that could be tried again"):
        retry_job(job=job)  # the same bytes are as empty the next time
    Item.objects.filter(source="empty").update(code="server_error")
    job = retry_job(job=job)
    assert (job.state, states(job)) == ("queued", ["succeeded", "queued"])
    run_job(job_id=job.pk, stopping=never)
    assert states(job) == ["succeeded", "succeeded"]
    assert before < set(Chunk.objects.values_list("pk", flat=True))
    with pytest.raises(Conflict):
        retry_job(job=job)


def test_a_job_that_has_not_ended_cannot_be_retried(collection: Collection) -> None:
    with pytest.raises(Conflict):
        retry_job(job=submit(collection_name="c", sources=texts(1)))


def test_the_reaper_announces_what_nobody_works_on(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    announced: list[str] = []

    def announce(*, job_id: str, kind: str, expires_seconds: float) -> None:
        assert (kind, expires_seconds) == ("ingest", 10)
        announced.append(job_id)

    monkeypatch.setattr(work, "dispatch", announce)
    lost = submit(collection_name="c", sources=texts(1))
    held = submit(collection_name="c", sources=texts(1))
    ended = submit(collection_name="c", sources=texts(1))
    claim(job_id=held.pk)
    run_job(job_id=ended.pk, stopping=never)
    assert reap(interval_seconds=10) == 1
    expire(held)
    assert reap(interval_seconds=10) == 2
    assert announced == [str(lost.pk), str(lost.pk), str(held.pk)]


def test_a_broker_that_is_down_loses_no_job(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    def down(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("celery.current_app.send_task", down)
    with django_capture_on_commit_callbacks(execute=True):
        job = submit(collection_name="c", sources=texts(1))
    assert Job.objects.get(pk=job.pk).state == "queued"


@pytest.mark.usefixtures("model_here")
def test_a_collection_deleted_under_a_job_ends_it_quietly(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit(collection_name="c", sources=texts(2))
    original = embedding.embed_drafts

    def deleted_meanwhile(*, drafts: Any, check: Any) -> Any:
        vectors = original(drafts=drafts, check=check)
        delete_collection(name="c")
        return vectors

    monkeypatch.setattr(embedding, "embed_drafts", deleted_meanwhile)
    run_job(job_id=job.pk, stopping=never)
    assert not Job.objects.filter(pk=job.pk).exists()


def test_bad_sources_are_items_not_errors(collection: Collection) -> None:
    twice = Source(name="same", content=b"text", is_text=True)
    job = submit(collection_name="c", sources=[twice, twice, Source(name="n" * 2000, content=b"x", is_text=True)])
    assert [item.code for item in Item.objects.filter(job=job).order_by("ordinal")] == [
        "",
        "duplicate_source",
        "invalid_source",
    ]


def test_nothing_to_do_is_refused(collection: Collection) -> None:
    with pytest.raises(InvalidInput):
        submit(collection_name="c", sources=[])


def test_text_for_a_collection_of_given_vectors_is_refused(collection: Collection) -> None:
    """README 7: such a collection has no server-side model."""
    from collections_app.services import writable_space

    writable_space(collection=collection, embedding_connection=None, embedding_model=None, dimension=3)
    with pytest.raises(Conflict) as raised:
        submit(collection_name="c", sources=texts(1))
    assert raised.value.code == "embedding_mismatch"


def test_a_collection_of_another_model_fails_the_item(collection: Collection) -> None:
    from collections_app.services import writable_space

    writable_space(collection=collection, embedding_connection="local", embedding_model="other", dimension=256)
    job = submit(collection_name="c", sources=texts(1))
    run_job(job_id=job.pk, stopping=never)
    assert Item.objects.get(job=job).code == "embedding_mismatch"
    assert Chunk.objects.count() == 0
