"""A cross-encoder that has learned to tell texts apart, loaded as a server loads it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core_app import wiring
from tests.integration.rerank.tiny_cross_encoder import save_cross_encoder


@pytest.fixture(scope="session")
def cross_encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _trained(tmp_path_factory.getbasetemp())


@cache
def _trained(base: Path) -> Path:
    """Once a run: the fixture is known in several folders of tests, to each as its own."""
    return save_cross_encoder(base / "cross-encoder")


@pytest.fixture
def cross_encoder(cross_encoder_folder: Path, settings: Any) -> Iterator[None]:
    """Configured by its folder."""
    section = settings.RAGSITE.rerank.model_copy(update={"cross_encoder_path": str(cross_encoder_folder)})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"rerank": section})
    wiring._pair_scorer.cache_clear()
    yield
    wiring._pair_scorer.cache_clear()
