"""The language of a collection's words is changed beside searches and writes, and never is there a bit of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from collections_app.models import Chunk, Collection
from collections_app.services import create_collection
from core_app.wiring import store
from ingest_app import maintenance, rewording
from ingest_app.models import Job
from ingest_app.steering import retry_job
from ingest_app.work import run_job
from search_app.corpora import bm25_of
from stores_app.models import Segment
from tests.integration.ingest.filling import JSON, WorkerDied, empty, expire, fill, ingest, never

pytestmark = pytest.mark.django_db

LANGUAGE = "/api/rag/collections/c/language"
#: In English each of these is a word of its own; in German all are one.
FORMS = ("Die Katze schl\u00e4ft.", "Zwei Katzen schlafen.", "Der Katze Futter.", "Katzen jagen.", "Katzen dort.")


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    create_collection(name="c")
    monkeypatch.setattr(rewording, "CHUNKS_AT_ONCE", 2)


def put(client: Client, language: str) -> Any:
    return client.put(LANGUAGE, {"language": language}, JSON)


def scores(word: str, name: str = "c") -> dict[str, Any]:
    """What a search by words says of each text."""
    collection = Collection.objects.get(name=name)
    found = store(collection.store).lexical(
        collection_ids=[collection.pk], bm25=bm25_of(collection), query=word, limit=50
    )
    texts = dict(Chunk.objects.filter(collection=collection).values_list("pk", "text"))
    return {texts[hit.chunk_id]: pytest.approx(hit.score, abs=1e-9) for hit in found.hits}


def as_if_new(language: str) -> str:
    """A collection of the same texts that had this language from the start."""
    name = f"new-{language}"
    create_collection(name=name, language=language)
    ingest(name, *Chunk.objects.filter(collection__name="c").order_by("position").values_list("text", flat=True))
    return name


def job_at_work() -> Job:
    return Job.objects.get(kind=Job.Kind.REWORD, finished_at__isnull=True)


def work_off() -> Job:
    job = job_at_work()
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    return job


def languages() -> set[str]:
    return set(Segment.objects.filter(collection__name="c", retired=False).values_list("language", flat=True))


def between_steps(monkeypatch: pytest.MonkeyPatch, *calls: Callable[[], Any]) -> None:
    """Have each of these done after another step of the job."""
    original, left = maintenance.compact, list(calls)

    def compact(*, collection_id: int) -> int:
        if left:
            left.pop(0)()
        return original(collection_id=collection_id)

    monkeypatch.setattr(maintenance, "compact", compact)


def test_few_words_are_indexed_at_once(client: Client) -> None:
    ingest("c", *FORMS[:2])
    assert list(scores("Katze")) == [FORMS[0]]
    version = Collection.objects.get().version
    answer = put(client, "german").json()
    assert (answer["language"], answer["wanted"], answer["job"]) == ("german", None, None)
    assert set(scores("Katze")) == set(FORMS[:2])
    assert languages() == {"german"}
    assert Collection.objects.get().version > version, "what was cached of the old words is not used"
    assert client.get("/collections/c").json()["language"] == "german"


def test_more_are_indexed_by_a_job_while_the_old_ones_serve(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest("c", *FORMS)
    before = scores("Katze")
    answer = put(client, "german").json()
    assert (answer["language"], answer["wanted"], answer["job"]) == ("english", "german", str(job_at_work().pk))
    assert "german" in answer["known"]
    seen: list[dict[str, float]] = []
    between_steps(monkeypatch, lambda: seen.append(scores("Katze")))
    assert scores("Katze") == before
    job = work_off()
    assert seen == [before], "half of the new words are there and none is found"
    assert (job.state, job.result) == (Job.State.SUCCEEDED, {"language": "german"})
    assert (job.done, job.total) == (5, 5)
    assert set(scores("Katze")) == set(FORMS)
    assert scores("Katze") == scores("Katze", as_if_new("german"))
    state = client.get(LANGUAGE).json()
    assert (state["language"], state["wanted"], state["job"]) == ("german", None, None)


def test_progress_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest("c", *FORMS)
    put(client, "german")
    told: list[tuple[str, int, int]] = []
    between_steps(
        monkeypatch, lambda: told.extend(Job.objects.values_list("step", "done", "total").filter(kind="reword"))
    )
    work_off()
    assert told == [("Indexing words: german.", 4, 5)]


def test_what_is_written_meanwhile_is_not_lost(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    fill("c", 7)
    chunks = {"documents": [{"id": "new", "text": "Katzen kamen dazu.", "embedding": [1, 0, 0]}]}
    replaced = {"documents": [{"id": "d1", "text": "Katzen statt dessen.", "embedding": [1, 0, 0]}]}
    between_steps(
        monkeypatch,
        lambda: client.post("/collections/c/documents", chunks, JSON),
        lambda: client.delete("/collections/c/documents", {"ids": ["d0", "d6"]}, JSON),
        lambda: client.post("/collections/c/documents", replaced, JSON),
    )
    put(client, "german")
    assert work_off().state == Job.State.SUCCEEDED
    assert len(scores("Passage")) == 4
    assert set(scores("Katze")) == {"Katzen kamen dazu.", "Katzen statt dessen."}
    create_collection(name="new", language="german")
    kept = Chunk.objects.filter(collection__name="c").order_by("pk").values_list("text", flat=True)
    same = {"documents": [{"text": text, "embedding": [1, 0, 0]} for text in kept]}
    assert client.post("/collections/new/documents", same, JSON).json()["count"] == 6
    assert scores("Katze Passage") == scores("Katze Passage", "new")


def test_who_goes_on_after_a_crash_begins_where_it_ended(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest("c", *FORMS)
    put(client, "german")

    def die() -> None:
        raise WorkerDied

    between_steps(monkeypatch, die)
    job = job_at_work()
    with pytest.raises(WorkerDied):
        run_job(job_id=job.pk, stopping=never)
    assert list(scores("Katze")) == [text for text in FORMS if "Katze " in text]
    expire(job)
    indexed: list[int] = []
    original = rewording._advance

    def advance(collection: Collection) -> Any:
        step = original(collection)
        indexed.append(step.chunks)
        return step

    monkeypatch.setattr(rewording, "_advance", advance)
    assert work_off().state == Job.State.SUCCEEDED
    assert indexed == [1], "of five, two were indexed by the call and two before the crash"
    assert scores("Katze") == scores("Katze", as_if_new("german"))


def test_a_cancelled_change_leaves_the_old_language(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest("c", *FORMS)
    before = scores("Katze")
    job = put(client, "german").json()["job"]
    between_steps(monkeypatch, lambda: client.post(f"/api/rag/jobs/{job}/cancel"))
    ended = work_off_named(job)
    assert ended.state == Job.State.CANCELLED
    assert (languages(), scores("Katze")) == ({"english"}, before)
    state = client.get(LANGUAGE).json()
    assert (state["language"], state["wanted"], state["job"]) == ("english", "german", None)
    retry_job(job=ended)
    assert work_off().state == Job.State.SUCCEEDED
    assert set(scores("Katze")) == set(FORMS)


def work_off_named(job: str) -> Job:
    run_job(job_id=Job.objects.get(pk=job).pk, stopping=never)
    return Job.objects.get(pk=job)


def test_another_wish_meanwhile_is_worked_off_by_the_same_job(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest("c", *FORMS)
    put(client, "german")
    between_steps(monkeypatch, lambda: put(client, "simple"))
    assert work_off().result == {"language": "simple"}
    assert languages() == {"simple"}
    assert scores("Katzen") == scores("Katzen", as_if_new("simple"))
    assert Job.objects.filter(kind=Job.Kind.REWORD).count() == 1


def test_the_old_language_takes_a_change_back(client: Client) -> None:
    ingest("c", *FORMS)
    put(client, "german")
    assert languages() == {"english", "german"}
    answer = put(client, "english").json()
    assert (answer["language"], answer["wanted"]) == ("english", None)
    assert languages() == {"english"}
    assert work_off().state == Job.State.SUCCEEDED
    assert languages() == {"english"}


def test_the_space_of_many_old_words_is_given_back(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewording, "RECLAIM_FROM", 3)
    fill("c", 4)
    put(client, "german")
    assert not Job.objects.filter(kind=Job.Kind.RECLAIM).exists()
    work_off()
    assert Job.objects.filter(kind=Job.Kind.RECLAIM).count() == 1


def test_an_emptied_collection_has_the_new_language(client: Client) -> None:
    ingest("c", *FORMS)
    put(client, "german")
    assert empty(client, "c").status_code == 200
    assert work_off().result == {"language": "german"}
    assert Collection.objects.get().language == "german"


def test_long_texts_are_not_all_taken_at_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewording, "CHARACTERS_AT_ONCE", 1)
    fill("c", 3)
    assert put(client, "german").json()["job"]
    assert Segment.objects.filter(language="german").values_list("size", flat=True).get() == 1


def test_a_language_from_the_start(client: Client) -> None:
    made = client.post("/collections", {"name": "de", "language": "german"}, JSON).json()
    assert made["language"] == "german"
    ingest("de", *FORMS[:2])
    assert len(scores("Katze", "de")) == 2


def test_an_unknown_language_is_refused_with_the_known_ones(client: Client) -> None:
    ingest("c", *FORMS[:1])
    for answer in (
        put(client, "klingon"),
        client.post("/collections", {"name": "k", "language": "klingon"}, JSON),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "unknown_language")
        assert "german" in answer.json()["detail"]
    assert Collection.objects.values_list("name", "wanted_language").get() == ("c", "")
