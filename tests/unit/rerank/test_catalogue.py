"""A10: what an operator is told about the cross-encoders there are."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.reranking.made_up import config_of
from ragsite.reranker_flags import LinesKept, add_reranker_flags
from ragsite.up import parse
from rerank_app.catalogue import Model, banner, catalogue, listing

ROOT = Path(__file__).resolve().parents[3]
each_model = pytest.mark.parametrize("model", catalogue().models, ids=lambda model: model.name)


@pytest.mark.parametrize("columns", [80, 120])
def test_a10_1_help_names_models_with_size_and_use(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    parser = argparse.ArgumentParser(prog="server.py", formatter_class=LinesKept)
    add_reranker_flags(parser)
    text = parser.format_help()
    assert max(map(len, text.splitlines())) <= columns
    words = " ".join(text.split())
    for group in catalogue().groups:
        for model in group.models:
            assert f"- {model.name} ({group.title}; {model.size}, {model.latency}): {model.use}" in words
    assert "--cross-encoder-path PATH" in words
    assert "--list-reranker-models" in words


def test_a10_2_the_list_is_grouped_and_says_where_there_is_more() -> None:
    lines = listing().splitlines()
    assert [group.title for group in catalogue().groups] == ["fast", "recommended", "high accuracy"]
    titles = [next(n for n, line in enumerate(lines) if line.startswith(group.title.capitalize()))
              for group in catalogue().groups]  # fmt: skip
    assert titles == sorted(titles)
    for start, end, group in zip(titles, [*titles[1:], len(lines)], catalogue().groups, strict=True):
        for model in group.models:
            assert any(model.name in line for line in lines[start:end])
    assert "Any Hugging Face cross-encoder works" in listing()
    assert "https://huggingface.co/models?" in listing()
    assert max(map(len, lines)) <= 80


def test_a10_3_the_hints_name_a_model_and_the_list() -> None:
    disabled, enabling, more = banner()
    assert "cross-encoder is disabled" in disabled
    assert f"--cross-encoder {catalogue().example}" in enabling
    assert catalogue().example in {model.name for model in catalogue().models}
    assert "--list-reranker-models" in more


@each_model
def test_a10_4_each_model_has_name_size_latency_and_accuracy(model: Model) -> None:
    (line,) = [line for line in listing().splitlines() if line.split()[:1] == [model.name]]
    assert line.split() == [model.name, *model.size.split(), *model.latency.split(), *model.tier.split()]
    assert model.name.count("/") == 1
    assert model.size.endswith((" MB", " GB"))
    assert model.latency.endswith((" ms", " s"))
    assert model.accuracy in listing()


@each_model
def test_a10_4_sizes_are_those_of_the_published_shapes(model: Model) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    config = config_of(model.shape)
    with torch.device("meta"):
        built = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
    assert built.num_parameters() / 1e6 == pytest.approx(model.parameters, rel=0.01)


@pytest.mark.parametrize(
    "command",
    [("server.py",), ("manage.py", "serve"), ("-m", "ragsite.up")],
    ids=["server.py", "manage.py serve", "script/server"],
)
def test_a10_2_the_list_is_printed_whatever_is_wrong_with_the_settings(command: tuple[str, ...]) -> None:
    environ = {**os.environ, "Search__NoSuchSetting": "1", "ConnectionStrings__RagDatabase": "nonsense"}
    done = subprocess.run(
        [sys.executable, *command, "--list-reranker-models"], cwd=ROOT, env=environ, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{listing()}\n"


def test_a10_2_the_list_needs_neither_django_nor_torch() -> None:
    code = "import sys, ragsite.reranker_flags; print(*sorted({'django', 'torch', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_a11_2_script_server_gives_serve_a_path_that_is_right_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = parse(["--cross-encoder", "some/name", "--cross-encoder-path", "model", "--log"])
    expected = ("--log", "--cross-encoder", "some/name", "--cross-encoder-path", str(tmp_path / "model"))
    assert options.serve_flags == expected
