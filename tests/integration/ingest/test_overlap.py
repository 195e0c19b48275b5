"""Reading, embedding and writing at the same time."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from collections_app.models import Chunk
from collections_app.services import create_collection
from core_app.wiring import embedder
from ingest_app import embedding, indexing, item_work
from ingest_app.models import Item, Job
from ingest_app.steering import cancel_job
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job

pytestmark = pytest.mark.django_db

#: Longer than anything here takes; where it runs out, what was waited for never came.
PATIENCE = 20


@pytest.fixture(autouse=True)
def _one_chunk_a_batch(settings: Any) -> None:
    section = settings.RAGSITE.embedding.model_copy(update={"batch_size": 1})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"embedding": section})
    create_collection(name="c")


def send(*texts: str) -> Job:
    sources = [Source(name=f"s{n}", content=text.encode(), is_text=True) for n, text in enumerate(texts)]
    return submit(collection_name="c", sources=sources)


def never() -> bool:
    return False


def states(job: Job) -> list[str]:
    return list(Item.objects.filter(job=job).order_by("ordinal").values_list("state", flat=True))


def test_the_next_file_is_read_and_the_last_one_written_while_the_model_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model does not begin the second file before the third is read, nor end it before the first is written."""
    read, written = threading.Event(), threading.Event()
    late: list[threading.Event] = []
    draft_item, write_draft, embed_drafts = indexing.draft_item, indexing.write_draft, embedding.embed_drafts

    def reading(*, item: Item, **others: Any) -> Any:
        draft = draft_item(item=item, **others)
        if item.source == "s2":
            read.set()
        return draft

    def writing(**arguments: Any) -> None:
        write_draft(**arguments)
        written.set()

    def modelling(*, drafts: Any, check: Any) -> Any:
        if drafts[0].item.source == "s1":
            late.extend(what for what in (read, written) if not what.wait(PATIENCE))
        return embed_drafts(drafts=drafts, check=check)

    monkeypatch.setattr(item_work, "draft_item", reading)
    monkeypatch.setattr(item_work, "write_draft", writing)
    monkeypatch.setattr(embedding, "embed_drafts", modelling)
    job = send("first", "second", "third", "fourth")
    run_job(job_id=job.pk, stopping=never)
    assert late == []
    assert states(job) == ["succeeded"] * 4


def test_a_cancel_ends_the_model_s_work_after_its_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up, batches = threading.Event(), []
    draft_item = indexing.draft_item
    embed_documents = type(embedder()).embed_documents
    give_up = embedding.Embedding.give_up

    def reading(*, item: Item, **others: Any) -> Any:
        if item.source == "s1":
            cancel_job(job=item.job)
        return draft_item(item=item, **others)

    def modelling(self: Any, texts: Any) -> Any:
        batches.append(len(texts))
        if len(batches) > 1:
            assert given_up.wait(PATIENCE)
        return embed_documents(self, texts)

    def giving_up(self: embedding.Embedding) -> None:
        give_up(self)
        given_up.set()

    monkeypatch.setattr(item_work, "draft_item", reading)
    monkeypatch.setattr(type(embedder()), "embed_documents", modelling)
    monkeypatch.setattr(embedding.Embedding, "give_up", giving_up)
    job = send("\n\n".join(f"# Part {n}\n\nText." for n in range(500)), "second", "third")
    run_job(job_id=job.pk, stopping=never)
    job.refresh_from_db()
    assert (job.state, states(job)) == ("cancelled", ["cancelled"] * 3)
    assert len(batches) == 2
    assert Chunk.objects.count() == 0


def test_what_was_begun_before_is_tried_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be what kills workers: nothing else is with the model, or waits for it, meanwhile."""
    job = send("first", "second", "third", "fourth")
    Item.objects.filter(source="s2").update(state=Item.State.RUNNING, attempts=1)
    seen: dict[str, list[str]] = {}
    draft_item = indexing.draft_item

    def reading(*, item: Item, **others: Any) -> Any:
        running = Item.objects.filter(state=Item.State.RUNNING).order_by("ordinal")
        seen[item.source] = list(running.values_list("source", flat=True))
        return draft_item(item=item, **others)

    monkeypatch.setattr(item_work, "draft_item", reading)
    run_job(job_id=job.pk, stopping=never)
    assert seen["s2"] == ["s2"]
    assert seen["s3"] == ["s3"]
    assert states(job) == ["succeeded"] * 4
