"""After the server is ready it prepares what makes queries fast; no failure of that ends it."""

from __future__ import annotations

import gc

import pytest

from core_app.errors import Unavailable
from ragsite.management.commands import serve


class Embedder:
    def __init__(self, error: Exception | None = None) -> None:
        self.times = 0
        self._error = error

    def warm_up(self) -> None:
        self.times += 1
        if self._error is not None:
            raise self._error


@pytest.fixture(autouse=True)
def nothing_stays_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "freeze", lambda: None)


def test_the_embedder_is_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Embedder()
    monkeypatch.setattr(serve, "embedder", lambda: source)
    serve._warm_up()
    assert source.times == 1


def test_a_model_that_cannot_be_loaded_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    source = Embedder(Unavailable("The embedding model could not be loaded."))
    monkeypatch.setattr(serve, "embedder", lambda: source)
    serve._warm_up()
    assert "searches use words alone until it can" in caplog.text
