"""One open provider for each connection, by the newest row; what is over or idle is closed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from connections_app import opening
from connections_app.models import Connection
from connections_app.opening import close_all, opened

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Fake:
    """Knows whether it was closed, and of which row it is."""

    def __init__(self, row: Connection) -> None:
        self.name = row.name
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Fake]]:
    made: list[Fake] = []

    def built(row: Connection) -> Any:
        made.append(Fake(row))
        return made[-1]

    close_all()
    monkeypatch.setattr(opening, "built", built)
    yield made
    close_all()


def row(key: int = 1, *, name: str = "a", minutes: int = 0) -> Connection:
    return Connection(pk=key, name=name, provider="x", updated_at=NOW + timedelta(minutes=minutes))


def use(one: Connection) -> Any:
    with opened(one) as provider:
        return provider


def test_an_older_row_does_not_bring_older_settings_back(fakes: list[Fake]) -> None:
    old, new = use(row(name="old")), use(row(name="new", minutes=1))
    assert use(row(name="old")) is new
    assert (old.closed, new.closed, len(fakes)) == (1, 0, 2)


def test_what_is_replaced_in_use_is_closed_once_after_its_last_use() -> None:
    with opened(row()) as old:
        use(row(minutes=1))
        assert not old.closed  # type: ignore[union-attr]
    assert old.closed == 1  # type: ignore[union-attr]


def test_what_nobody_uses_for_minutes_is_closed_at_the_next_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that another process deleted."""
    gone = use(row(1))
    with opened(row(2)) as busy:
        later = time.monotonic() + 301
        monkeypatch.setattr(time, "monotonic", lambda: later)
        use(row(3))
        assert (gone.closed, busy.closed) == (1, 0)  # type: ignore[union-attr]
    again = use(row(1))
    assert again is not gone


def test_two_that_open_at_once_share_one(monkeypatch: pytest.MonkeyPatch, fakes: list[Fake]) -> None:
    simple = opening.built

    def slowly(one: Connection) -> Any:
        monkeypatch.setattr(opening, "built", simple)
        use(one)
        return simple(one)

    monkeypatch.setattr(opening, "built", slowly)
    first = use(row())
    assert first is fakes[0]
    assert [one.closed for one in fakes] == [0, 1]
