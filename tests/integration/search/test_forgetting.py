"""REQ-RAG-SEC-005, REQ-RAG-COMP-002: old queries are forgotten, a few at a time, by whoever is at it."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from core_app.sql import statement
from ragsite.celery import app
from search_app import forgetting
from search_app.forgetting import forget, forget_due
from search_app.models import QueryLog
from search_app.schedule import FORGET_QUERIES
from search_app.tasks import forget_queries
from tests.integration.search.asking import configure

pytestmark = pytest.mark.django_db


def asked(*days: float) -> list[int]:
    """A query asked so many days ago each, and a minute; returns the keys."""
    return [
        QueryLog.objects.create(
            asked_at=timezone.now() - timedelta(days=ago, minutes=1),
            asked_by="test",
            collections=["c"],
            text_form="hashed",
            mode="fast",
            fusion="rrf",
            query_strategy="",
            top_k=5,
            filtered=False,
            result_count=0,
            took_ms=1.0,
        ).pk
        for ago in days
    ]


def left() -> list[int]:
    return list(QueryLog.objects.order_by("pk").values_list("pk", flat=True))


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "BATCH", 3)


@pytest.mark.django_db(transaction=True)
def test_after_thirty_days_unless_somebody_says_otherwise(settings: Any) -> None:
    assert settings.RAGSITE.retention.query_log_days == 30
    keys = asked(31, 29, 400, 0, 30)
    for _ in range(2):
        forget_queries()
    assert left() == [keys[1], keys[3]]


def test_the_setting_decides(settings: Any) -> None:
    keys = asked(2, 1, 0)
    configure(settings, "retention", query_log_days=2)
    assert forget_due() == 1
    configure(settings, "retention", query_log_days=1)
    assert forget_due() == 1
    assert left() == keys[2:]


def test_0_keeps_for_ever(settings: Any) -> None:
    keys = asked(20_000, 0)
    configure(settings, "retention", query_log_days=0)
    assert forget_due() == 0
    assert left() == keys


@pytest.mark.usefixtures("small_batches")
def test_no_statement_deletes_more_than_a_batch() -> None:
    """Whatever the order of the keys, and with many of one moment."""
    asked(*[40, 31, 50, 60] * 2)
    moment = timezone.now() - timedelta(days=100)
    QueryLog.objects.filter(pk__in=asked(*[1] * 8)).update(asked_at=moment)
    asked(1)
    assert list(forget(before=timezone.now() - timedelta(days=30))) == [3, 3, 3, 3, 3, 1]
    assert QueryLog.objects.count() == 1


@pytest.mark.usefixtures("small_batches")
def test_a_round_ends_so_that_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "MOST_BATCHES", 2)
    asked(*[31] * 8)
    assert [forget_due(), forget_due(), forget_due()] == [6, 2, 0]


@pytest.mark.usefixtures("small_batches")
def test_it_may_be_called_again_wherever_it_died() -> None:
    asked(*[31] * 7)
    batches = forget(before=timezone.now() - timedelta(days=30))
    assert next(batches) == 3
    del batches
    assert forget_due() == 4
    assert forget_due() == 0


@pytest.mark.django_db(transaction=True)
def test_two_at_once_wait_for_nothing_of_each_other() -> None:
    keys = asked(33, 32, 31)
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT 1 FROM search_querylog WHERE id = %s FOR UPDATE", [keys[0]])
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '5s'")
        assert forget_due() == 2
        assert left() == [keys[0]]
    assert forget_due() == 1


def test_beat_sends_it_to_the_queue_of_short_tasks() -> None:
    (entry,) = [entry for entry in app.conf.beat_schedule.values() if entry["task"] == FORGET_QUERIES]
    assert entry["options"]["expires"] <= entry["schedule"]
    assert app.amqp.router.route({}, FORGET_QUERIES)["queue"].name == "control"
    app.loader.import_default_modules()
    assert app.tasks[FORGET_QUERIES].name == FORGET_QUERIES


def test_it_reads_no_more_than_it_deletes() -> None:
    asked(*[31] * 20, *[1] * 3000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE search_querylog")
        sql = statement("search_app", "forget_queries")
        moment = timezone.now() - timedelta(days=30)
        cursor.execute(f"EXPLAIN {sql}", {"before": moment, "after": moment - timedelta(days=99), "most": 2})
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Seq Scan on search_querylog" not in plan
    assert "search_querylog_asked_at" in plan


class TestTheCommand:
    def run(self, *arguments: str) -> str:
        out = StringIO()
        call_command("forget_queries", *arguments, stdout=out, stderr=StringIO())
        return out.getvalue().strip()

    def test_as_the_setting_says(self) -> None:
        keys = asked(31, 29)
        assert self.run() == "Queries deleted: 1."
        assert left() == keys[1:]

    @pytest.mark.usefixtures("small_batches")
    def test_older_than(self) -> None:
        keys = asked(*[3] * 7, 1)
        assert self.run("--older-than", "2") == "Queries deleted: 7."
        assert left() == keys[7:]
        assert self.run("--older-than", "0") == "Queries deleted: 1."

    def test_its_progress_is_shown(self) -> None:
        asked(31, 31)
        shown = StringIO()
        call_command("forget_queries", stdout=StringIO(), stderr=shown)
        assert "2/2" in shown.getvalue()

    @pytest.mark.parametrize("days", ["-1", "36501"])
    def test_days_that_cannot_be(self, days: str) -> None:
        with pytest.raises(CommandError, match="must be 0 to 36,500 days"):
            self.run("--older-than", days)

    def test_kept_for_ever(self, settings: Any) -> None:
        asked(31)
        configure(settings, "retention", query_log_days=0)
        with pytest.raises(CommandError, match="Say how old with --older-than"):
            self.run()
        assert self.run("--older-than", "30") == "Queries deleted: 1."

    def test_ctrl_c_says_what_is_gone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(**_: object) -> object:
            yield 3
            raise KeyboardInterrupt

        monkeypatch.setattr("search_app.management.commands.forget_queries.forget", interrupted)
        with pytest.raises(CommandError, match="3 queries were deleted"):
            self.run()
