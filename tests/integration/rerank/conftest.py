"""A cross-encoder that has learned to tell texts apart, loaded as a server loads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core_app import wiring
from core_app.config import Llm
from tests.integration.inference.scripted_chat import Server, running_server
from tests.integration.rerank.tiny_cross_encoder import save_cross_encoder

KEY = "sk-secret-0815"


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


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.fixture
def connect(server: Server, settings: Any) -> Iterator[Callable[..., None]]:
    """Configures the chat model that the scripted server is."""

    def to(provider: str = "openai", **more: Any) -> None:
        base = server.address if provider == "anthropic" else f"{server.address}/v1"
        section = Llm.model_validate(
            {"provider": provider, "base_url": base, "api_key": KEY, "input_price": 2, "output_price": 10, **more}
        )
        settings.RAGSITE = settings.RAGSITE.model_copy(update={"llm": section})

    wiring._chat_model.cache_clear()
    yield to
    if wiring._chat_model.cache_info().currsize:
        model: Any = wiring.chat_model()
        model.close()
    wiring._chat_model.cache_clear()
