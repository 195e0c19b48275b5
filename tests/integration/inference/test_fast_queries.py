"""Queries by onnxruntime have torch's vectors, whatever the model does after its transformer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core_app.ports import QueryEngine, Vectors
from inference_app.fast_queries import engine
from inference_app.sentence_transformer import SentenceTransformerEmbedder
from tests.integration.inference.conftest import MakeEmbedder
from tests.integration.inference.tiny_models import TEXTS, WIDTH, save_model


def warmed(embedder: SentenceTransformerEmbedder) -> SentenceTransformerEmbedder:
    """Prepared, and from now on without torch: what answers is onnxruntime."""
    embedder.warm_up()
    assert embedder.query_engine == QueryEngine(name="onnxruntime")
    return embedder


def without_torch(embedder: SentenceTransformerEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> Any:
        raise AssertionError("torch was asked")

    monkeypatch.setattr(embedder, "_transformer", gone)


def by_torch(model: Any, texts: Sequence[str] = TEXTS) -> list[Vectors]:
    return [np.asarray(model.encode_query(text, show_progress_bar=False)) for text in texts]


def nothing(_: Any) -> list[Any]:
    return []


@pytest.mark.parametrize(
    ("pooling", "more"),
    [
        ("mean", lambda modules: [modules.Normalize()]),
        ("cls", nothing),
        ("lasttoken", nothing),
        (("max", "mean_sqrt_len_tokens", "weightedmean"), nothing),
        ("mean", lambda modules: [modules.Dense(WIDTH, 12), modules.Normalize()]),
    ],
    ids=["mean-normalised", "cls", "lasttoken", "several", "dense"],
)
def test_vectors_are_torchs(
    make_embedder: MakeEmbedder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pooling: str | tuple[str, ...],
    more: Callable[[Any], Sequence[Any]],
) -> None:
    model = save_model(tmp_path, pooling=pooling, more=more)
    expected = by_torch(model)
    embedder = warmed(make_embedder(tmp_path))
    without_torch(embedder, monkeypatch)
    for text, vector in zip(TEXTS, expected, strict=True):
        found = embedder.embed_query(text)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, vector, rtol=1e-4, atol=1e-5, err_msg=text)


def test_the_prompt_of_queries_is_kept(
    make_embedder: MakeEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_model(tmp_path, prompts={"query": "coffee: ", "document": ""})
    embedder = warmed(make_embedder(tmp_path))
    document = embedder.embed_documents(["tea"])[0]
    without_torch(embedder, monkeypatch)
    np.testing.assert_allclose(embedder.embed_query("tea"), by_torch(model, ["tea"])[0], atol=1e-5)
    assert float(embedder.embed_query("tea") @ document) < 0.99


def test_what_the_model_does_not_read_changes_nothing(
    make_embedder: MakeEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(tmp_path)
    embedder = warmed(make_embedder(tmp_path))
    without_torch(embedder, monkeypatch)
    read = "tea " * 30
    np.testing.assert_array_equal(embedder.embed_query(read + "coffee"), embedder.embed_query(read + "x"))


def test_longer_texts_than_queries_are_left_to_torch(
    make_embedder: MakeEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MOST_TOKENS", 8)
    model = save_model(tmp_path)
    embedder = warmed(make_embedder(tmp_path))
    (long,) = by_torch(model, ["tea " * 12])
    np.testing.assert_array_equal(embedder.embed_query("tea " * 12), long)
    without_torch(embedder, monkeypatch)
    embedder.embed_query("tea " * 6)  # and two tokens around them
    with pytest.raises(AssertionError, match="torch was asked"):
        embedder.embed_query("tea " * 7)


def test_threads_share_it(make_embedder: MakeEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = by_torch(save_model(tmp_path))
    embedder = warmed(make_embedder(tmp_path))
    without_torch(embedder, monkeypatch)
    asked = [number % len(TEXTS) for number in range(400)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: embedder.embed_query(TEXTS[number]), asked))
    for number, vector in zip(asked, found, strict=True):
        np.testing.assert_allclose(vector, expected[number], rtol=1e-4, atol=1e-5)


def test_torch_answers_while_it_is_prepared(
    make_embedder: MakeEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_model(tmp_path)
    embedder = make_embedder(tmp_path)
    answers: list[Vectors] = []
    export = vars(engine)["export_beside"]

    def exporting(**options: Any) -> None:
        assert (embedder.query_engine.name, embedder.query_engine.is_fallback) == ("torch", False)
        answers.append(embedder.embed_query("tea"))
        export(**options)

    monkeypatch.setattr(engine, "export_beside", exporting)
    warmed(embedder)
    np.testing.assert_array_equal(answers, by_torch(model, ["tea"]))


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"more": lambda modules: [modules.LayerNorm(WIDTH)]}, "the module LayerNorm is not known"),
        (
            {"more": lambda modules: [modules.Normalize(module_input_name="token_embeddings")]},
            "the module Normalize is not known",
        ),
        (
            {"include_prompt": False, "prompts": {"query": "coffee: ", "document": ""}},
            "it leaves the prompt out of the pooling",
        ),
    ],
)
def test_a_model_that_does_more_is_left_to_torch(
    make_embedder: MakeEmbedder, exports: list[Path], tmp_path: Path, made: dict[str, Any], reason: str
) -> None:
    model = save_model(tmp_path, **made)
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    assert embedder.query_engine == QueryEngine(name="torch", reason=reason, is_fallback=True)
    assert exports == []
    np.testing.assert_array_equal(embedder.embed_query("tea"), by_torch(model, ["tea"])[0])


@pytest.mark.parametrize("processing", [{"text": {"padding": "max_length"}}, {"text": {"max_length": 10}}])
def test_a_tokenizer_that_is_used_otherwise_is_noticed(
    make_embedder: MakeEmbedder, tmp_path: Path, processing: dict[str, Any]
) -> None:
    model = save_model(tmp_path, processing=processing)
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    reason = "its tokenizer cuts differently than torch is given it"
    assert embedder.query_engine == QueryEngine(name="torch", reason=reason, is_fallback=True)
    np.testing.assert_array_equal(embedder.embed_query(TEXTS[-1]), by_torch(model, TEXTS[-1:])[0])
