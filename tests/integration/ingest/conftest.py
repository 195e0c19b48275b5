"""What the tests of upkeep share."""

from __future__ import annotations

import pytest

from ingest_app import maintenance, planning
from tests.integration.ingest.fake_store import FakeStore


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStore:
    found = FakeStore()
    monkeypatch.setattr(maintenance, "store", lambda _name: found)
    monkeypatch.setattr(planning, "store", lambda _name: found)
    # The statistics are of all tests together.
    monkeypatch.setattr(planning, "_much_is_dead", lambda: False)
    return found
