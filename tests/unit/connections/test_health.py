"""Health of many connections: slow ones hold up no other, and nobody is asked more often than needed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from django.utils import timezone

from connections_app import health
from connections_app.health import health_of
from connections_app.models import Connection
from core_app.errors import Unavailable
from core_app.providers import ProviderHealth

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NUMBERS = count(1)


class Services:
    """Those whose name begins with `slow` answer when they are let go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go = threading.Event()

    @contextmanager
    def opened(self, row: Connection) -> Iterator[Any]:
        self.asked.append(row.name)
        if row.name == "closed":
            raise Unavailable("The secrets cannot be read.")
        yield _Service(self, row.name)


class _Service:
    def __init__(self, services: Services, name: str) -> None:
        self._services, self._name = services, name

    def health_check(self) -> ProviderHealth:
        if self._name.startswith("slow"):
            self._services.go.wait(30)
        if self._name == "broken":
            raise ValueError("boom")
        is_healthy = self._name != "ill"
        return ProviderHealth(is_healthy=is_healthy, checked_at=timezone.now(), error="" if is_healthy else "Is ill.")


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    found = Services()
    monkeypatch.setattr(health, "opened", found.opened)
    monkeypatch.setattr(health, "SECONDS", 0.5)
    yield found
    found.go.set()


def row(name: str) -> Connection:
    return Connection(pk=next(NUMBERS) + 1_000_000, name=name, provider="x", updated_at=NOW)


def test_slow_services_make_no_other_unhealthy(services: Services) -> None:
    found = health_of(connections=[*(row(f"slow {number}") for number in range(12)), row("quick")])
    assert [one.is_healthy for one in found] == [False] * 12 + [True]
    assert "in time" in found[0].error


def test_one_service_is_asked_by_one_at_a_time_and_its_answer_kept(services: Services) -> None:
    slow = row("slow")
    health_of(connections=[slow])
    health_of(connections=[slow, slow])
    assert services.asked == ["slow"]
    services.go.set()
    first, second = health_of(connections=[slow]), health_of(connections=[slow])
    assert first[0].is_healthy
    assert first == second
    assert services.asked == ["slow"]


def test_it_is_asked_again_later_and_with_other_settings(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = row("quick")
    health_of(connections=[quick])
    changed = Connection(pk=quick.pk, name="quick", provider="x", updated_at=timezone.now())
    health_of(connections=[changed])
    assert len(services.asked) == 2
    monkeypatch.setattr(health, "_GOOD_FOR_SECONDS", -1.0)
    health_of(connections=[quick])
    assert len(services.asked) == 3


def test_the_log_has_the_cause(services: Services, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="connections_app.health"):
        found = health_of(connections=[row("ill"), row("broken"), row("closed"), row("well")])
    assert [one.is_healthy for one in found] == [False, False, False, True]
    assert {one.connection for one in caplog.records} == {"ill", "broken", "closed"}  # type: ignore[attr-defined]
    assert "Is ill." in caplog.text
    assert "ValueError: boom" in caplog.text
    assert "Unavailable: " in caplog.text
