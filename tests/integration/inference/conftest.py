"""An embedder of a tiny model, with a data folder of its own, whose exports are made in this process and counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from core_app.config import Embedding
from inference_app import sentence_transformer
from inference_app.fast_queries import engine, exporting
from inference_app.fast_queries.files import store
from inference_app.sentence_transformer import SentenceTransformerEmbedder

MakeEmbedder = Callable[..., SentenceTransformerEmbedder]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The server's data folder."""
    folder = tmp_path / "data"
    monkeypatch.setattr(sentence_transformer, "data_folder", lambda: folder)
    return folder


@pytest.fixture
def exports(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every export that was made, in this process: starting another takes ten seconds."""
    made: list[Path] = []

    def export(*, location: str, path: Path, digest: str) -> None:
        from sentence_transformers import SentenceTransformer

        made.append(path)
        store(path, write=lambda part: exporting.write_graph(SentenceTransformer(location, device="cpu"), part))

    monkeypatch.setattr(engine, "export_beside", export)
    return made


@pytest.fixture
def make_embedder(data: Path, exports: list[Path]) -> MakeEmbedder:
    """One whose model lies in this folder. Warm it up to have it prepare what is tested."""

    def make(folder: Path, *, query_engine: str = "auto") -> SentenceTransformerEmbedder:
        settings = {"model": str(folder / "model"), "query_engine": query_engine, "threads": 1}
        return SentenceTransformerEmbedder(Embedding.model_validate(settings))

    return make
