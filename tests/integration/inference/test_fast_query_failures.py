"""Whatever goes wrong with the fast way of queries, torch answers, and it is said why."""

from __future__ import annotations

import errno
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core_app.errors import RagsiteError
from core_app.ports import QueryEngine, Vectors
from inference_app import sentence_transformer
from inference_app.fast_queries import engine, exporting
from inference_app.fast_queries.exporting import export_beside
from inference_app.fast_queries.models import OnGpu, Unusable, digest
from inference_app.sentence_transformer import SentenceTransformerEmbedder
from tests.integration.inference.conftest import MakeEmbedder
from tests.integration.inference.tiny_models import TEXTS, save_model

READY = QueryEngine(name="onnxruntime")


def exported(data: Path) -> list[Path]:
    return sorted((data / "query_models").glob("*.onnx"))


def expect_torch(embedder: SentenceTransformerEmbedder, model: Any, reason: str) -> None:
    is_fallback = reason != "Embedding:QueryEngine says so"
    assert embedder.query_engine == QueryEngine(name="torch", reason=reason, is_fallback=is_fallback)
    np.testing.assert_array_equal(embedder.embed_query("tea"), model.encode_query("tea", show_progress_bar=False))


def test_the_setting_torch_prepares_nothing(
    make_embedder: MakeEmbedder, exports: list[Path], data: Path, tmp_path: Path
) -> None:
    model = save_model(tmp_path)
    embedder = make_embedder(tmp_path, query_engine="torch")
    embedder.warm_up()
    expect_torch(embedder, model, "Embedding:QueryEngine says so")
    assert exports == []
    assert not data.exists()


def test_without_onnxruntime(
    make_embedder: MakeEmbedder, exports: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_model(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    expect_torch(embedder, model, "onnxruntime cannot be imported")
    assert exports == []


@pytest.mark.parametrize(
    "error", [RuntimeError("an operator is not known"), OSError(errno.ENOSPC, "No space left on device")]
)
def test_an_export_that_fails_leaves_nothing(
    make_embedder: MakeEmbedder,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    def fail(model: Any, path: Path) -> None:
        path.write_bytes(b"half of it")
        raise error

    model = save_model(tmp_path)
    monkeypatch.setattr(exporting, "write_graph", fail)
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    expect_torch(embedder, model, "preparing it failed; the log has the cause")
    assert str(error) in caplog.text
    assert [path.name for path in (data / "query_models").iterdir()] == [".lock"]


def test_a_data_folder_that_cannot_be_written(
    make_embedder: MakeEmbedder, exports: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_model(tmp_path)
    (tmp_path / "file").write_text("a file is no folder, for root neither", encoding="utf-8")
    monkeypatch.setattr(sentence_transformer, "data_folder", lambda: tmp_path / "file" / "data")
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    expect_torch(embedder, model, "the data folder cannot be written (Not a directory)")
    assert exports == []


def test_a_folder_that_others_can_write_is_not_used(
    make_embedder: MakeEmbedder, exports: list[Path], data: Path, tmp_path: Path
) -> None:
    model = save_model(tmp_path)
    (data / "query_models").mkdir(parents=True)
    (data / "query_models").chmod(0o770)
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    expect_torch(embedder, model, "the folder of exported models can be written by others")
    assert exports == []


def test_a_second_process_finds_the_file(
    make_embedder: MakeEmbedder, exports: list[Path], data: Path, tmp_path: Path
) -> None:
    save_model(tmp_path)
    for _ in range(2):
        embedder = make_embedder(tmp_path)
        embedder.warm_up()
        assert embedder.query_engine == READY
    assert exports == exported(data)
    assert exports[0].stat().st_mode & 0o777 == 0o600


def test_while_the_model_is_loaded_it_says_so(
    make_embedder: MakeEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(tmp_path)
    embedder = make_embedder(tmp_path)
    seen: list[QueryEngine] = []
    monkeypatch.setattr(embedder, "embed_query", lambda _: seen.append(embedder.query_engine))
    embedder.warm_up()
    assert seen == [QueryEngine(name="torch", reason="the model is being loaded", is_loading=True)]
    assert not embedder.query_engine.is_loading


def test_a_model_that_cannot_be_loaded_is_not_being_loaded(make_embedder: MakeEmbedder, tmp_path: Path) -> None:
    embedder = make_embedder(tmp_path)
    with pytest.raises(RagsiteError):
        embedder.warm_up()
    assert not embedder.query_engine.is_loading


def test_a_damaged_file_is_made_anew_once(
    make_embedder: MakeEmbedder,
    exports: list[Path],
    data: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    save_model(tmp_path)
    make_embedder(tmp_path).warm_up()
    (path,) = exported(data)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    assert embedder.query_engine == READY
    assert len(exports) == 2
    assert len(path.read_bytes()) == len(whole)
    assert "cannot be used; it is made anew" in caplog.text


def test_a_file_that_others_could_write_is_made_anew(
    make_embedder: MakeEmbedder, exports: list[Path], data: Path, tmp_path: Path
) -> None:
    save_model(tmp_path)
    make_embedder(tmp_path).warm_up()
    exported(data)[0].chmod(0o620)
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    assert embedder.query_engine == READY
    assert len(exports) == 2
    assert exported(data)[0].stat().st_mode & 0o777 == 0o600


def test_an_export_with_other_vectors_is_not_used(
    make_embedder: MakeEmbedder, exports: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, other = save_model(tmp_path / "one"), save_model(tmp_path / "other", seed=1)
    write_graph = exporting.write_graph
    with monkeypatch.context() as patched:
        patched.setattr(exporting, "write_graph", lambda _, path: write_graph(other, path))
        for tries in (1, 2):
            embedder = make_embedder(tmp_path / "one")
            embedder.warm_up()
            assert embedder.query_engine.reason.startswith("its export is not exact: a cosine of 0.")
            expect_torch(embedder, model, embedder.query_engine.reason)
            assert len(exports) == tries
    embedder = make_embedder(tmp_path / "one")
    embedder.warm_up()
    assert embedder.query_engine == READY


def test_other_weights_under_the_same_name_are_exported_anew(
    make_embedder: MakeEmbedder, exports: list[Path], data: Path, tmp_path: Path
) -> None:
    save_model(tmp_path / "one")
    new = save_model(tmp_path / "two", seed=1)
    make_embedder(tmp_path / "one").warm_up()
    (tmp_path / "one" / "model").rename(tmp_path / "old")
    (tmp_path / "two" / "model").rename(tmp_path / "one" / "model")
    embedder = make_embedder(tmp_path / "one")
    embedder.warm_up()
    assert embedder.query_engine == READY
    np.testing.assert_allclose(embedder.embed_query("tea"), new.encode_query("tea", show_progress_bar=False), atol=1e-5)
    assert len(set(exports)) == 2
    assert exported(data) == exports[1:]


def test_the_digest_knows_weights_and_modules(tmp_path: Path) -> None:
    models = [
        save_model(tmp_path / "a"),
        save_model(tmp_path / "b", seed=1),
        save_model(tmp_path / "c", pooling="cls"),
        save_model(tmp_path / "d", prompts={"query": "tea: ", "document": ""}),
    ]
    assert len({digest(model) for model in models}) == 4
    assert digest(save_model(tmp_path / "elsewhere")) == digest(models[0])


class Broken:
    def embed(self, text: str) -> Vectors | None:
        raise RuntimeError("out of memory")


def test_a_failure_of_onnxruntime_is_answered_by_torch(
    make_embedder: MakeEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = save_model(tmp_path)
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    monkeypatch.setattr(embedder, "_fast", Broken())
    expected = model.encode_query(TEXTS[1], show_progress_bar=False)
    np.testing.assert_array_equal(embedder.embed_query(TEXTS[1]), expected)
    expect_torch(embedder, model, "onnxruntime failed; the log has the cause")
    assert "out of memory" in caplog.text


def test_a_text_that_neither_can_embed_changes_nothing(make_embedder: MakeEmbedder, tmp_path: Path) -> None:
    save_model(tmp_path)
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    with pytest.raises(TypeError):
        embedder.embed_query("half a surrogate pair: \ud83d")
    assert embedder.query_engine == READY


def test_on_a_gpu_torch_is_no_fallback(
    make_embedder: MakeEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(tmp_path)
    embedder = make_embedder(tmp_path)

    def prepare(**_: Any) -> None:
        raise OnGpu("it does not run on the CPU")

    monkeypatch.setattr(engine, "prepare", prepare)
    embedder.warm_up()
    assert embedder.query_engine == QueryEngine(name="torch", reason="it does not run on the CPU")


def test_a_fallback_is_a_warning_in_the_log(
    make_embedder: MakeEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    save_model(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    make_embedder(tmp_path).warm_up()
    said = [record.levelname for record in caplog.records if "embedded by torch" in record.getMessage()]
    assert said == ["WARNING"]


def test_documents_stay_with_torch(
    make_embedder: MakeEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = save_model(tmp_path)
    embedder = make_embedder(tmp_path)
    embedder.warm_up()
    monkeypatch.setattr(embedder, "_fast", Broken())
    np.testing.assert_array_equal(embedder.embed_documents(TEXTS), model.encode_document(list(TEXTS)))
    assert embedder.query_engine == READY


def test_the_child_process_exports_what_it_was_asked_for(
    data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = save_model(tmp_path)
    location, path = str(tmp_path / "model"), data / "tiny.onnx"
    data.mkdir()
    with caplog.at_level(logging.WARNING), pytest.raises(Unusable, match="its export failed"):
        export_beside(location=location, path=path, digest="of another model")
    assert "the model has changed since the server loaded it" in caplog.text
    assert [found.name for found in data.iterdir()] == [".lock"]
    export_beside(location=location, path=path, digest=digest(model))
    fast = engine.FastQueries(path, model=model, threads=1)
    found = fast.embed("tea")
    assert found is not None
    np.testing.assert_allclose(found, model.encode_query("tea", show_progress_bar=False), atol=1e-5)
