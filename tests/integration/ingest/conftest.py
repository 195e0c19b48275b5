"""What the tests of upkeep share."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from collections_app.services import create_collection
from ingest_app import item_work, maintenance, planning
from tests.integration.ingest.connecting import allow
from tests.integration.ingest.fake_store import FakeStore


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStore:
    found = FakeStore()
    monkeypatch.setattr(maintenance, "store", lambda _name: found)
    monkeypatch.setattr(planning, "store", lambda _name: found)
    # The statistics are of all tests together.
    monkeypatch.setattr(planning, "_much_is_dead", lambda: False)
    return found


class _Here(Executor):
    """Runs what is submitted at once, in the thread that submits it, which sees the test's transaction."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - the future's, whatever it is
            future.set_exception(error)
        return future


@pytest.fixture
def model_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model works in the test's thread: what happens to the database meanwhile can be said there."""
    monkeypatch.setattr(item_work, "ThreadPoolExecutor", lambda **_: _Here())


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """A folder that connectors may read; 127.0.0.0/8 may be read, too."""
    below = tmp_path / "open" / "docs"
    below.mkdir(parents=True)
    (below / "a.md").write_text("# A\n\nalpha")
    (below / "b.md").write_text("beta")
    create_collection(name="c")
    allow(settings, sync_folders=(str(tmp_path / "open"),))
    return below
