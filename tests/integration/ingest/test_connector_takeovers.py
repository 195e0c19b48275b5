"""Syncs that are taken over, stopped half-way, or held up: nothing is told twice, and nothing lives for ever."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from collections_app.services import create_collection
from core_app.wiring import app_settings
from ingest_app import comparing, connectors, indexing, item_work, removing, syncing
from ingest_app.models import Connector, Item, Job, Payload
from ingest_app.parsing import sniff
from ingest_app.work import run_job
from tests.integration.ingest.connecting import ADDRESS, make, run, sources, work_off
from tests.integration.ingest.filling import WorkerDied, expire, never

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("folder")]


def asked_for(client: Client, key: str) -> Job:
    """A run that nobody works on yet."""
    return Job.objects.get(pk=client.post(f"{ADDRESS}/{key}/run").json()["id"])


def die(job: Job) -> None:
    """A worker takes the job and is killed over it."""
    with pytest.raises(WorkerDied):
        run_job(job_id=job.pk, stopping=never)
    expire(job)


def deadly(monkeypatch: pytest.MonkeyPatch, name: str) -> Callable[[], None]:
    """Whoever looks at the file of this name is killed; what comes back makes it harmless again."""

    def dying(*, name: str, content: bytes, deadly: str = name) -> str | None:
        if name == deadly:
            raise WorkerDied
        return sniff(name=name, content=content)

    monkeypatch.setattr(comparing, "sniff", dying)
    return lambda: monkeypatch.setattr(comparing, "sniff", sniff)


class TestABusyCollection:
    @pytest.fixture(autouse=True)
    def _due(self, client: Client, folder: Path) -> None:
        """Two connectors of `c` and one of `d`, due in this order."""
        create_collection(name="d")
        for number, name in enumerate("ccd"):
            body = {"kind": "urls", "urls": [f"https://example.org/{number}"], "every_seconds": 60}
            answer = client.post(f"/api/rag/collections/{name}/connectors", json.dumps(body), "application/json")
            assert answer.status_code == 201
            due = timezone.now() - timedelta(minutes=10 - number)
            Connector.objects.filter(pk=answer.json()["id"]).update(next_run_at=due)

    def test_the_rest_of_it_waits_for_the_next_round_and_no_other_does(self, monkeypatch: pytest.MonkeyPatch) -> None:
        first, second, other = Connector.objects.order_by("next_run_at")
        running, tried = connectors._run_if_due, []

        def busy(key: Any) -> bool:
            tried.append(key)
            if key == first.pk:
                raise OperationalError("canceling statement due to lock timeout")
            return running(key)

        with monkeypatch.context() as held:
            held.setattr(connectors, "_run_if_due", busy)
            assert connectors.run_due() == 1
        assert tried == [first.pk, other.pk]
        assert list(Job.objects.values_list("connector", flat=True)) == [other.pk]
        assert connectors.run_due() == 2
        assert set(Job.objects.values_list("connector", flat=True)) == {first.pk, second.pk, other.pk}


def crash_on(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Reading this file fails, and may go well another time."""
    drafting = indexing.draft_item

    def crashing(*, item: Item, **others: Any) -> Any:
        if item.source == name:
            raise RuntimeError("the disk is full")
        return drafting(item=item, **others)

    monkeypatch.setattr(item_work, "draft_item", crashing)


def test_an_item_that_waits_does_not_keep_a_sync_alive(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its attempts count on while nothing gets an outcome; else it would be taken over for ever."""
    monkeypatch.setattr(syncing, "FILES_TOGETHER", 1)
    (folder / "c.md").write_text("gamma")
    crash_on(monkeypatch, "a.md")
    deadly(monkeypatch, "c.md")
    job = asked_for(client, make(client, kind="folder", location=str(folder)).json()["id"])
    die(job)
    # Its next try is not due before the test is over.
    waiting = Item.objects.filter(job=job, source="a.md", state=Item.State.QUEUED)
    assert waiting.update(next_try_at=timezone.now() + timedelta(days=1)) == 1
    for _ in range(app_settings().ingestion.max_attempts - 1):
        die(job)
    work_off(job)
    assert (job.state, job.code) == ("failed", "quarantined")
    states = dict(Item.objects.filter(job=job).values_list("source", "state"))
    assert states == {"a.md": "cancelled", "b.md": "succeeded"}
    assert not Payload.objects.exists(), "the bytes of what waited are of no use any more"


def test_a_sync_that_gets_on_is_not_set_aside(client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many workers it takes, as long as each brings a file to its outcome."""
    monkeypatch.setattr(syncing, "FILES_TOGETHER", 1)
    names = [f"n{number}.md" for number in range(app_settings().ingestion.max_attempts + 2)]
    for name in names:
        (folder / name).write_text(name)
    job = asked_for(client, make(client, kind="folder", location=str(folder)).json()["id"])
    for name in names:
        mend = deadly(monkeypatch, name)
        die(job)
        mend()
    work_off(job)
    assert (job.state, job.code) == ("succeeded", "")
    assert sources() == ["a.md", "b.md", *names]


@pytest.mark.parametrize("together", [2, 3, 200])
def test_a_duplicate_is_told_once_whoever_took_over(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    """Whether or not the worker that died had come to write it down."""
    monkeypatch.setattr(syncing, "FILES_TOGETHER", together)
    for byte in (b"\xfe", b"\xff"):
        Path(os.fsdecode(os.fsencode(folder) + b"/c" + byte + b".md")).write_text("text")
    (folder / "z.md").write_text("omega")
    job = asked_for(client, make(client, kind="folder", location=str(folder)).json()["id"])
    mend = deadly(monkeypatch, "z.md")
    die(job)
    told = Item.objects.filter(job=job, code="duplicate_source").count()
    assert told == (1 if together == 2 else 0)
    mend()
    work_off(job)
    items = Item.objects.filter(job=job).order_by("source", "ordinal")
    assert list(items.values_list("source", "code")) == [
        ("a.md", ""), ("b.md", ""), ("c.md", ""), ("c.md", "duplicate_source"), ("z.md", ""),
    ]  # fmt: skip
    assert job.state == "partial"


def test_who_switches_removing_off_during_it_keeps_the_rest(
    client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "REMOVED_TOGETHER", 1)
    for number in range(3):
        (folder / f"n{number}.md").write_text("text")
    key = make(client, kind="folder", location=str(folder), remove_vanished=True).json()["id"]
    run(client, key)
    for number in range(3):
        (folder / f"n{number}.md").unlink()
    remove = removing.remove_document

    def switching(**arguments: Any) -> int:
        Connector.objects.update(remove_vanished=False)
        return remove(**arguments)

    monkeypatch.setattr(comparing, "remove_document", switching)
    job = run(client, key)
    assert (job.state, job.result) == ("succeeded", {"unchanged": 2, "vanished": 3, "removed": 1})
    assert sources() == ["a.md", "b.md", "n1.md", "n2.md"]
