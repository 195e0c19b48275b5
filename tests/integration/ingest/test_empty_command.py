"""`manage.py empty_collection`: asks, shows, does it without a worker, and takes a no for a no."""

from __future__ import annotations

import io
import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from collections_app.services import create_collection, touch
from ingest_app import emptying, services
from ingest_app.models import Job
from ingest_app.work import run_job
from tests.integration.ingest.filling import fill, held, never

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest_app.management.commands.empty_collection.TAKE_OVER_SECONDS", 0.02)
    monkeypatch.setattr(services, "TAKE_OVER_SECONDS", 0.02)
    create_collection(name="c")
    fill("c", 5)


def output_of(*arguments: str) -> str:
    written = io.StringIO()
    call_command("empty_collection", *arguments, stdout=written, stderr=written)
    return written.getvalue()


def type_in(monkeypatch: pytest.MonkeyPatch, answer: str | BaseException) -> None:
    def typed(_prompt: str) -> str:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    monkeypatch.setattr("builtins.input", typed)


def test_it_works_without_a_worker() -> None:
    assert "Chunks deleted: 5." in output_of("c", "--yes")
    assert held("c") == 0


def test_a_worker_does_it_where_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(_seconds: float) -> None:
        run_job(job_id=Job.objects.get().pk, stopping=never)

    monkeypatch.setattr(services, "time", SimpleNamespace(sleep=work, monotonic=time.monotonic))
    monkeypatch.setattr(services, "run_job", lambda **_: pytest.fail("the worker is on it"))
    assert "Chunks deleted: 5." in output_of("c", "--yes")


def test_a_dry_run_asks_nothing_and_deletes_nothing() -> None:
    assert output_of("c", "--dry-run") == "Would delete 5 chunks and 0 documents.\n"
    assert held("c") == 5
    assert not Job.objects.exists()


def test_it_asks_for_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "c")
    assert "This deletes 5 chunks and 0 documents of 'c'." in output_of("c")
    assert held("c") == 0


@pytest.mark.parametrize("answer", ["", "C", "yes", EOFError(), KeyboardInterrupt()])
def test_anything_else_is_a_no(monkeypatch: pytest.MonkeyPatch, answer: str | BaseException) -> None:
    type_in(monkeypatch, answer)
    with pytest.raises(CommandError, match="Nothing was deleted"):
        output_of("c")
    assert held("c") == 5
    assert not Job.objects.exists()


def test_a_collection_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(CommandError, match="Collection 'nowhere' not found"):
        output_of("nowhere", "--yes")


def test_an_interrupt_before_it_began_cancels_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(services, "time", SimpleNamespace(sleep=interrupt, monotonic=time.monotonic))
    with pytest.raises(CommandError, match="Cancelled: nothing was deleted"):
        output_of("c", "--yes")
    assert (Job.objects.get().state, held("c")) == ("cancelled", 5)


def test_an_interrupt_while_the_command_itself_is_on_it_takes_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**arguments: Any) -> None:
        touch(**arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(emptying, "touch", interrupted)
    with pytest.raises(CommandError, match="Cancelled: nothing was deleted"):
        output_of("c", "--yes")
    assert (Job.objects.get().state, held("c")) == ("cancelled", 5)


def test_a_failure_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(emptying, "touch", fail)
    with pytest.raises(CommandError, match="Its log has the cause"):
        output_of("c", "--yes")
    assert held("c") == 5
