"""Health on the home page: each part in each of its states, by stand-ins for what they ask."""

from __future__ import annotations

import datetime
import re
import shutil
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from collections_app import health as held
from collections_app.models import Collection
from console_app import health as shown
from core_app import health as core
from core_app.errors import Unavailable
from core_app.health import State
from core_app.ports import QueryEngine
from inference_app.hashing import HashingEmbedder
from ingest_app import health as asked
from ingest_app.dispatching import QUEUES
from ingest_app.models import Job
from ingest_app.schedule import PLAN_UPKEEP
from tests.integration.console.conftest import Login
from tests.integration.search.asking import configure

pytestmark = pytest.mark.django_db

ALL_QUEUES = sorted(set(QUEUES.values()))


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody answers in these tests, so nobody is waited for."""
    monkeypatch.setattr(asked, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(asked, "PLAN_INTERVAL_SECONDS", 0.0)


class Workers:
    """What `celery inspect` gives for workers of some queues; each look has beat's task counted once more, or not."""

    def __init__(self, queues: list[str], *, planning: bool = True) -> None:
        self.queues, self.planning, self.looks = queues, planning, 0

    def active_queues(self) -> dict[str, list[dict[str, Any]]] | None:
        return {f"{name}@here": [{"name": name}] for name in self.queues} or None

    def stats(self) -> dict[str, dict[str, Any]]:
        self.looks += self.planning
        return {"control@here": {"total": {PLAN_UPKEEP: self.looks}}}


def states(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> dict[str, State]:
    monkeypatch.setattr(asked, "_inspect", lambda *_: workers)
    return {check.part: check.state for check in asked.check_broker_and_workers()}


def test_everything_works(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(states(Workers(ALL_QUEUES), monkeypatch).values()) == {State.GOOD}


def test_a_queue_that_nobody_serves_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(Workers(["control", "sync"]), monkeypatch)["workers"] is State.BAD
    found = next(check for check in asked.check_broker_and_workers() if check.part == "workers")
    assert found.says == "No worker answers for: default, maintenance."
    assert found.command.endswith("-Q default,maintenance")
    assert found.cure


def test_a_worker_that_holds_a_job_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    soon = timezone.now() + datetime.timedelta(seconds=60)
    Job.objects.create(kind="ingest", state="running", lease_expires_at=soon)
    assert states(Workers(["control", "sync", "maintenance"]), monkeypatch)["workers"] is State.GOOD
    Job.objects.update(lease_expires_at=timezone.now() - datetime.timedelta(seconds=1))
    assert states(Workers(["control", "sync", "maintenance"]), monkeypatch)["workers"] is State.BAD


def test_a_scheduler_that_sends_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(Workers(ALL_QUEUES, planning=False), monkeypatch)["beat"] is State.BAD
    assert states(Workers(["default"]), monkeypatch)["beat"] is State.UNKNOWN


def test_all_are_asked_at_once_and_then_those_who_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both questions to all stand open at a time; the second look asks the one worker that can know."""
    together = threading.Barrier(2, timeout=10)
    named: list[list[str]] = []

    class Waiting(Workers):
        def active_queues(self) -> dict[str, list[dict[str, Any]]] | None:
            together.wait()
            return super().active_queues()

        def stats(self) -> dict[str, dict[str, Any]]:
            if not named[-1]:
                together.wait()
            return super().stats()

    workers = Waiting(ALL_QUEUES)

    def inspect(asked_for: Sequence[str] = ()) -> Workers:
        named.append(list(asked_for))
        return workers

    monkeypatch.setattr(asked, "_inspect", inspect)
    assert {check.state for check in asked.check_broker_and_workers()} == {State.GOOD}
    assert named == [[], [], ["control@here"]]


def test_a_broker_that_hangs_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    hung = threading.Event()
    monkeypatch.setattr(asked, "_reach_broker", hung.wait)
    monkeypatch.setattr(asked, "MOST_SECONDS", 0.05)
    found = {check.part: check.state for check in asked.check_broker_and_workers()}
    hung.set()
    assert found == {"broker": State.BAD, "workers": State.UNKNOWN, "beat": State.UNKNOWN}


def test_a_broker_that_refuses_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> bool:
        raise ConnectionRefusedError("redis://secret:password@10.0.0.1")

    monkeypatch.setattr(asked, "_reach_broker", refuse)
    found = asked.check_broker_and_workers()
    assert found[0].state is State.BAD
    assert "secret" not in repr(found)


@pytest.mark.parametrize(("age", "held_by", "state"), [(10, 0, "good"), (900, 0, "bad"), (900, 1, "degraded")])
def test_how_long_jobs_wait(age: float, held_by: int, state: str) -> None:
    Job.objects.create()
    Job.objects.update(created_at=timezone.now() - datetime.timedelta(seconds=age))
    for _ in range(held_by):
        Job.objects.create(state="running", lease_expires_at=timezone.now() + datetime.timedelta(seconds=60))
    found = asked.check_queue()
    assert (found.state, "waiting: 1" in found.says) == (State(state), True)
    assert bool(found.cure) is (state != "good")


def test_jobs_that_may_wait_are_not_counted() -> None:
    Job.objects.create(next_try_at=timezone.now() + datetime.timedelta(hours=1))
    Job.objects.create(state="succeeded", finished_at=timezone.now())
    assert asked.queue() == asked.Queue(waiting=0, waiting_seconds=0.0, running=0)


@pytest.mark.parametrize(
    ("engine", "state"),
    [
        (QueryEngine(name="onnxruntime"), State.GOOD),
        (QueryEngine(name="torch", is_loading=True), State.DEGRADED),
        (QueryEngine(name="torch", reason="no export", is_fallback=True), State.DEGRADED),
    ],
)
def test_the_embedder(engine: QueryEngine, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HashingEmbedder, "query_engine", engine)
    assert core.check_embedder().state is state


def test_the_cross_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert core.check_cross_encoder().state is State.OFF
    monkeypatch.setattr(core, "pair_scorer", lambda: SimpleNamespace(model="a/model"))
    assert "a/model" in core.check_cross_encoder().says
    monkeypatch.setattr(core, "pair_scorer", _unavailable)
    found = core.check_cross_encoder()
    assert (found.state, found.says) == (State.BAD, "It cannot be loaded.")
    assert found.cure


def test_the_language_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert core.check_chat_model().state is State.OFF
    monkeypatch.setattr(core, "chat_model", lambda: SimpleNamespace(model="m", connection="ollama"))
    assert core.check_chat_model().state is State.UNKNOWN
    monkeypatch.setattr(core, "chat_model", _unavailable)
    assert core.check_chat_model().state is State.BAD


@pytest.mark.parametrize(("free", "state"), [(10**12, "good"), (2**30, "degraded"), (1, "bad")])
def test_the_disk(free: int, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=free))
    assert core.check_disk().state is State(state)


def test_the_disk_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: object) -> None:
        raise PermissionError("/secret/folder")

    monkeypatch.setattr(shutil, "disk_usage", refuse)
    found = core.check_disk()
    assert found.state is State.UNKNOWN
    assert "secret" not in found.says


def test_the_query_log(settings: Any) -> None:
    assert core.check_query_log().state is State.GOOD
    configure(settings, "search", query_log="off")
    assert core.check_query_log().state is State.OFF


def test_the_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert held.check_stores().state is State.GOOD
    Collection.objects.create(name="old", store="of yesterday")
    found = held.check_stores()
    assert found.state is State.BAD
    assert "'of yesterday'" in found.says


def test_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    assert held.check_database().state is State.GOOD
    monkeypatch.setattr(held, "holdings", _no_database)
    found = held.check_database()
    assert (found.state, found.says) == (State.BAD, "The database cannot be reached.")


def test_each_part_has_a_name_and_each_state_a_word(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "_inspect", lambda *_: Workers(["control"]))
    page = root.get("/admin/collections/collection/home/health/").content.decode()
    assert set(re.findall(r'data-part="(\w+)"', page)) == set(shown.NAMES)
    assert set(shown.WORDS) == set(shown.TONES) == set(State)
    assert page.index('data-state="bad"') < page.index('data-state="good"')  # what needs attention stands first
    for part in ("Broken", "Works", "Off", "What helps:", "docs/operations.md#what-runs"):
        assert part in page


def test_links_lead_only_where_one_may_go(login: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "_inspect", lambda *_: Workers(ALL_QUEUES))
    page = login("ingest.view_job").get("/admin/collections/collection/home/health/").content.decode()
    assert 'href="/admin/ingest/job/"' in page
    assert 'href="/admin/search/querylog/"' not in page


def test_a_reranker_that_cannot_be_loaded_does_not_break_home(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console_app.home.pair_scorer", _unavailable)
    assert root.get("/admin/").status_code == 200


def _unavailable() -> None:
    raise Unavailable("It cannot be loaded.")


def _no_database() -> Callable[[], None]:
    raise OperationalError("host=secret")
