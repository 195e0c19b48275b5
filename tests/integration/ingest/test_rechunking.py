"""How a collection's texts are cut can be tried, and changed behind the scenes while the old passages serve."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from collections_app.models import Chunk, Collection, Document, DocumentText
from collections_app.services import create_collection
from core_app.errors import Conflict
from ingest_app import embedding, indexing, item_work
from ingest_app.models import Item, Job
from ingest_app.steering import retry_job
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app.services import search
from tests.integration.ingest.filling import JSON, ingest, never

pytestmark = pytest.mark.django_db

CHUNKING = "/api/rag/collections/c/chunking"
LONG = "# Guide\n\n" + "\n\n".join(f"## Part {n}\n\n" + f"Sentence number {n} is here. " * 12 for n in range(4))


@pytest.fixture(autouse=True)
def _collection() -> None:
    create_collection(name="c")


def put(client: Client, **chunking: Any) -> Any:
    return client.put(CHUNKING, chunking, JSON)


def spans(source: str) -> list[tuple[int, int]]:
    chunks = Chunk.objects.filter(document__source=source).order_by("ordinal")
    return [(chunk.start_offset or 0, chunk.end_offset or 0) for chunk in chunks]


def work_off() -> Job:
    job = Job.objects.get(kind=Job.Kind.RECHUNK, finished_at__isnull=True)
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    return job


def test_a_new_setting_cuts_what_is_stored_anew(client: Client) -> None:
    ingest("c", LONG, "Short.")
    before = spans("s0")
    answer = put(client, size=32, overlap=0)
    assert answer.status_code == 200
    assert (answer.json()["outdated"], answer.json()["documents"]) == (2, 2)
    assert spans("s0") == before, "the old passages serve until the job comes to them"
    assert search(collection_name="c", query="Sentence number 3").hits

    job = work_off()
    assert (job.state, len(spans("s0"))) == (Job.State.SUCCEEDED, 9)
    text = DocumentText.objects.get(document__source="s0").text
    for chunk in Chunk.objects.filter(document__source="s0"):
        assert chunk.text == text[chunk.start_offset : chunk.end_offset]
    state = client.get(CHUNKING).json()
    assert (state["outdated"], state["job"], state["own"]) == (0, None, {"size": 32, "overlap": 0})
    found = search(collection_name="c", query="Sentence number 3").hits
    assert found[0].metadata["section"] == "Part 3"


def test_parents_come_to_what_is_stored(client: Client) -> None:
    put(client, size=32, overlap=0)
    ingest("c", LONG)
    before, texts = spans("s0"), list(Chunk.objects.order_by("ordinal").values_list("text", flat=True))
    answer = put(client, size=32, overlap=0, parent_size=200).json()
    assert (answer["outdated"], answer["parent_size"]) == (1, 200)
    (hit, *_) = search(collection_name="c", query="Sentence number 3", top_k=1).hits
    assert (hit.content in texts, hit.matched) == (True, None), "the old passages serve until the job comes to them"

    assert work_off().state == Job.State.SUCCEEDED
    assert spans("s0") == before
    hits = search(collection_name="c", query="Sentence number 3", top_k=9).hits
    assert [hit.content for hit in hits][:1] == [LONG[LONG.index("## Part 3") :].strip()]
    assert (len(hits), {hit.matched in texts for hit in hits}) == (4, {True})
    assert client.get(CHUNKING).json()["outdated"] == 0

    put(client, size=32, overlap=0, parent_size=0)
    work_off()
    assert not Chunk.objects.filter(parent_start__isnull=False).exists()
    assert {hit.matched for hit in search(collection_name="c", query="Sentence", top_k=9).hits} == {None}


def test_what_is_sent_again_after_that_is_unchanged(client: Client) -> None:
    ingest("c", LONG)
    put(client, size=32)
    work_off()
    job = ingest("c", LONG)
    assert [item.state for item in Item.objects.filter(job=job)] == [Item.State.SKIPPED]


def test_a_change_during_the_work_is_worked_off_by_the_same_job(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest("c", LONG)
    put(client, size=32)
    original = indexing.write_draft
    calls = iter(range(100))

    def write_draft(**arguments: Any) -> None:
        original(**arguments)
        if next(calls) == 0:
            assert put(client, strategy="whole").status_code == 200

    monkeypatch.setattr(item_work, "write_draft", write_draft)
    assert work_off().state == Job.State.SUCCEEDED
    assert (len(spans("s0")), Job.objects.filter(kind=Job.Kind.RECHUNK).count()) == (1, 1)


@pytest.mark.usefixtures("model_here")
def test_a_version_that_came_meanwhile_is_not_overwritten(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest("c", LONG)
    put(client, size=32)
    original = embedding.embed_drafts

    def embed_drafts(**arguments: Any) -> Any:
        monkeypatch.setattr(embedding, "embed_drafts", original)
        ingest("c", "A newer text.")
        return original(**arguments)

    monkeypatch.setattr(embedding, "embed_drafts", embed_drafts)
    assert work_off().state == Job.State.SUCCEEDED
    assert list(Chunk.objects.values_list("text", flat=True)) == ["A newer text."]


def test_an_older_job_that_ends_later_still_counts_as_older(client: Client) -> None:
    """Cutting anew is no new version: it must not make a version that was sent before it seem out of date."""
    waiting = submit(
        collection_name="c", sources=[Source(name="s0", content=b"Sent before the setting changed.", is_text=True)]
    )
    ingest("c", LONG)
    Document.objects.update(submitted_at=timezone.now() - timedelta(days=1))
    put(client, size=32)
    work_off()
    run_job(job_id=waiting.pk, stopping=never)
    assert Item.objects.get(job=waiting).state == Item.State.SUCCEEDED


def test_a_document_of_an_older_version_says_what_to_do(client: Client) -> None:
    ingest("c", LONG, "Short.")
    DocumentText.objects.filter(document__source="s1").delete()
    put(client, size=32)
    job = work_off()
    assert (job.state, Item.objects.get(job=job, source="s1").code) == (Job.State.PARTIAL, "text_not_kept")
    assert spans("s1"), "it is found as before"
    with pytest.raises(Conflict, match="Nothing of the job failed that could be tried again"):
        retry_job(job=job)


def test_a_deleted_document_is_no_failure(client: Client) -> None:
    ingest("c", LONG, "Short.")
    put(client, size=32)
    client.delete("/api/rag/collections/c/sources?source=s1")
    assert work_off().state == Job.State.SUCCEEDED


def test_the_job_can_be_cancelled_and_the_setting_asked_for_again(client: Client) -> None:
    ingest("c", LONG)
    job = put(client, size=32).json()["job"]
    assert client.post(f"/api/rag/jobs/{job}/cancel").json()["state"] == "cancelled"
    assert client.get(CHUNKING).json()["outdated"] == 1
    assert put(client, size=32).json()["job"] not in (None, job)
    work_off()
    assert client.get(CHUNKING).json()["outdated"] == 0


def test_a_setting_that_changes_nothing_makes_no_job(client: Client) -> None:
    ingest("c", LONG)
    state = client.get(CHUNKING).json()
    again = put(client, strategy=state["strategy"], size=state["size"], overlap=state["overlap"]).json()
    assert (again["outdated"], again["job"]) == (0, None)
    assert put(client).json()["own"] == {}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"size": 3}, "size"),
        ({"strategy": "x"}, "strategy"),
        ({"parts": 1}, "parts"),
        ({"overlap": "3"}, "overlap"),
        ({"parent_size": "800"}, "parent_size"),
        ({"parent_size": -1}, "parent_size"),
        ({"parent_size": 8193}, "parent_size"),
    ],
)
def test_settings_that_cannot_be_are_refused(client: Client, body: dict[str, Any], field: str) -> None:
    answer = put(client, **body)
    assert (answer.status_code, list(answer.json()["errors"])) == (400, [field])
    assert Collection.objects.get().chunking == {}


@pytest.mark.parametrize(
    "chunking",
    [{"size": 40, "overlap": 21}, {"size": 40, "parent_size": 39}, {"strategy": "whole", "parent_size": 800}],
)
def test_sizes_that_do_not_fit_each_other_are_refused(client: Client, chunking: dict[str, Any]) -> None:
    answer = put(client, **chunking)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_chunking")
    assert preview(client, text="Words.", chunking=chunking).json()["code"] == "invalid_chunking"
    assert Collection.objects.get().chunking == {}


def test_no_parents_are_no_change(client: Client) -> None:
    ingest("c", LONG)
    for none in (0, None):
        state = put(client, parent_size=none).json()
        assert (state["outdated"], state["job"], state["parent_size"]) == (0, None, None)


def preview(client: Client, **body: Any) -> Any:
    return client.post(f"{CHUNKING}/preview", body, JSON)


def test_a_preview_of_a_text_changes_nothing(client: Client) -> None:
    shown = preview(client, text=LONG, chunking={"size": 32, "overlap": 0}).json()
    assert (shown["count"], shown["size"], len(shown["chunks"])) == (9, 32, 9)
    assert shown["smallest"] <= shown["median"] <= shown["largest"] <= 32
    first = shown["chunks"][0]
    assert (first["section"], first["start"], LONG[first["start"] : first["end"]]) == ("Part 0", 0, first["text"])
    assert not Document.objects.exists()
    assert Collection.objects.get().chunking == {}


def test_a_preview_says_what_shares_a_parent(client: Client) -> None:
    shown = preview(client, text=LONG, chunking={"size": 32, "overlap": 0, "parent_size": 70}).json()
    assert shown["parent_size"] == 70
    for number, parent in enumerate(shown["parents"]):
        sharing = shown["chunks"][parent["first"] : parent["last"] + 1]
        assert {part["parent_index"] for part in sharing} == {number}
        assert (parent["start"], parent["end"]) == (sharing[0]["start"], sharing[-1]["end"])
        assert parent["tokens"] <= 70
    assert [parent["last"] - parent["first"] for parent in shown["parents"]] == [2, 1, 1, 1]
    without = preview(client, text=LONG).json()
    assert (without["parent_size"], without["parents"], without["chunks"][0]["parent_index"]) == (None, [], None)


def test_a_preview_reads_by_the_name(client: Client) -> None:
    shown = preview(client, text="a,b\n1,2\n", name="t.csv").json()
    assert shown["chunks"][0]["text"] == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_a_preview_of_a_stored_document(client: Client) -> None:
    ingest("c", LONG)
    assert preview(client, source="s0").json()["count"] == len(spans("s0"))
    assert preview(client, source="s0", chunking={"strategy": "whole"}).json()["count"] == 1
    assert preview(client, source="nope").status_code == 404
    DocumentText.objects.all().delete()
    assert preview(client, source="s0").json()["code"] == "text_not_kept"


@pytest.mark.parametrize(
    ("body", "code"),
    [({}, "invalid"), ({"text": "x", "source": "y"}, "invalid"), ({"text": " "}, "empty_file")],
)
def test_a_preview_of_nothing_is_refused(client: Client, body: dict[str, Any], code: str) -> None:
    answer = preview(client, **body)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
