"""`manage.py train-reranker`: learns a rule from judged queries, measures itself, and what it saves can be loaded."""

from __future__ import annotations

import io
import itertools
import json
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from core_app.config import Rerank
from inference_app.cross_encoder import CrossEncoderScorer
from rerank_app.training import learning
from tests.integration.rerank.tiny_cross_encoder import WORDS, save_encoder

ROOT = Path(__file__).resolve().parents[3]
RECIPE = (
    "--epochs",
    "5",
    "--batch-size",
    "8",
    "--learning-rate",
    "0.003",
    "--max-length",
    "32",
    "--depth",
    "60",
    "--threads",
    "1",
)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrained, and without a head."""
    return save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BEIR folder with a rule that no count of words sees: relevant is what begins with a word of the query."""
    folder = tmp_path_factory.mktemp("judged")
    draw = random.Random(1)
    documents = {f"d{number}": draw.sample(WORDS, 4) for number in range(60)}
    queries = {f"q{number}": pair for number, pair in enumerate(itertools.combinations(WORDS, 2))}
    for name, texts in (("corpus", documents), ("queries", queries)):
        lines = (json.dumps({"_id": key, "text": " ".join(words)}) + "\n" for key, words in texts.items())
        (folder / f"{name}.jsonl").write_text("".join(lines))
    pairs = ((query, name) for query in queries for name in documents if documents[name][0] in queries[query])
    (folder / "qrels").mkdir()
    (folder / "qrels" / "all.tsv").write_text("".join(f"{query}\t{name}\t1\n" for query, name in pairs))
    return folder


@pytest.fixture(scope="module")
def trained(judged: Path, encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    output = tmp_path_factory.mktemp("trained") / "deeper" / "model"
    return output, train(judged, output, encoder)


def train(source: Path, output: Path, base: Path, *more: str) -> str:
    said = io.StringIO()
    call_command(
        "train_reranker", str(source), "--output", str(output), "--base", str(base), *RECIPE, *more, stdout=said
    )
    return said.getvalue()


def report(output: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((output / "training.json").read_text(encoding="utf-8"))
    return found


def scorer(folder: Path) -> CrossEncoderScorer:
    """As a server loads it."""
    loaded = CrossEncoderScorer(Rerank(cross_encoder_path=str(folder), threads=1))
    loaded.load()
    return loaded


def test_the_rule_is_learned_and_holds_for_queries_never_seen(trained: tuple[Path, str]) -> None:
    found = report(trained[0])
    assert (found["learned_from"], found["tuned_on"], found["held_out"]) == (48, 5, 13)
    assert found["after"]["alone"] > 0.7 > found["before"]["alone"] + 0.2
    assert found["after"]["alone"] > found["after"]["candidates"] + 0.2
    assert found["before"]["candidates"] == found["after"]["candidates"]


def test_what_is_saved_loads_as_a_server_loads_it(trained: tuple[Path, str]) -> None:
    scores = scorer(trained[0]).scores(query="tea fox", texts=["rye oak sea tea", "fox oak sea rye", "oak sea map red"])
    assert int(scores.values.argmax()) == 1
    assert scores.values[1] > 0.5 > scores.values[2]  # so they mean something as they are
    assert json.loads((trained[0] / "tokenizer_config.json").read_text())["model_max_length"] == 32


def test_it_says_what_it_brought_and_how_it_is_loaded(trained: tuple[Path, str]) -> None:
    output, said = trained
    found = report(output)
    assert "Learned from 48 queries" in said
    assert f"cross-encoder alone{found['before']['alone']:>29.4f}{found['after']['alone']:>8.4f}" in said
    assert f"Load it: python server.py --cross-encoder-path {output}" in said
    assert ("set Rerank:Weight to" in said) == (found["weight"] < 1)
    assert [path.name for path in output.parent.iterdir()] == ["model"]


def test_judged_queries_are_learned_from_too(judged: Path, encoder: Path, tmp_path: Path) -> None:
    """The same judgements, one a line, with those of what is irrelevant."""
    texts, queries = (
        [line["text"] for line in map(json.loads, (judged / f"{name}.jsonl").read_text().splitlines())]
        for name in ("corpus", "queries")
    )
    with (tmp_path / "judged.jsonl").open("w") as file:
        for query, text in itertools.product(queries, texts):
            fits = text.split()[0] in query.split()
            file.write(json.dumps({"query": query, "text": text, "relevance": int(fits)}) + "\n")
    train(tmp_path / "judged.jsonl", tmp_path / "model", encoder, "--epochs", "2")
    found = report(tmp_path / "model")
    assert found["held_out"] == 13
    assert found["after"]["alone"] > found["before"]["alone"] + 0.2
    scorer(tmp_path / "model")


def test_candidates_of_a_file_are_put_in_order(judged: Path, trained: tuple[Path, str], tmp_path: Path) -> None:
    """Of those that are far behind, none is scored."""
    lines = [
        {"query": f"q{number}", "candidates": [{"document": f"d{place}", "score": -place} for place in range(60)]}
        for number in range(66)
    ]
    (tmp_path / "candidates.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = {}
    for depth in ("2", "60"):
        given = ("--candidates", str(tmp_path / "candidates.jsonl"), "--depth", depth, "--max-minutes", "0")
        train(judged, tmp_path / depth, trained[0], *given)
        found[depth] = report(tmp_path / depth)["after"]
    assert found["2"]["candidates"] == found["60"]["candidates"]
    assert found["60"]["alone"] > found["2"]["alone"] + 0.2


def test_the_same_seed_learns_the_same(judged: Path, encoder: Path, tmp_path: Path) -> None:
    found = []
    for number, seed in enumerate(("4", "4", "5")):
        train(judged, tmp_path / str(number), encoder, "--epochs", "1", "--seed", seed)
        found.append((report(tmp_path / str(number))["after"], scorer(tmp_path / str(number))))
    assert found[0][0] == found[1][0] != found[2][0]
    first, second = (loaded.scores(query="tea fox", texts=["rye", "tea"]).logits.tolist() for _, loaded in found[:2])
    assert first == second


def test_a_cross_encoder_is_taken_as_it_is(judged: Path, trained: tuple[Path, str], tmp_path: Path) -> None:
    said = train(judged, tmp_path / "again", trained[0], "--max-minutes", "0")
    found = report(tmp_path / "again")
    assert found["before"] == found["after"] == report(trained[0])["after"]
    assert "The time was over after 0 of" in said


def test_when_the_time_is_over_it_is_measured_and_saved(
    judged: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(learning, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    said = train(judged, tmp_path / "model", encoder, "--max-minutes", "0.2")
    found = report(tmp_path / "model")
    assert found["learned"]["steps"] == 11  # each looks at the clock once, and so did the beginning
    assert "The time was over after 11 of" in said
    assert found["after"] != found["before"]
    scorer(tmp_path / "model")


def test_what_is_worse_than_the_order_of_before_is_not_recommended(judged: Path, encoder: Path, tmp_path: Path) -> None:
    """The candidates are perfect: whatever begins with a word of the query, then the rest."""
    documents = {
        line["_id"]: line["text"] for line in map(json.loads, (judged / "corpus.jsonl").read_text().splitlines())
    }
    queries = map(json.loads, (judged / "queries.jsonl").read_text().splitlines())
    with (tmp_path / "perfect.jsonl").open("w") as file:
        for query in queries:
            fits = {name: text.split()[0] in query["text"].split() for name, text in documents.items()}
            listed = [{"document": name, "score": float(fit)} for name, fit in fits.items()]
            file.write(json.dumps({"query": query["_id"], "candidates": listed}) + "\n")
    said = train(
        judged, tmp_path / "model", encoder, "--candidates", str(tmp_path / "perfect.jsonl"), "--max-minutes", "0"
    )
    assert report(tmp_path / "model")["weight"] is None
    assert "better not load it" in said
    assert "Load it" not in said


@pytest.mark.parametrize("moment", ["learning", "saving"])
def test_stopped_by_hand_it_leaves_nothing(
    judged: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    from sentence_transformers import CrossEncoder

    def stop(*args: Any, **options: Any) -> None:
        if moment == "saving":
            (Path(args[1]) / "model.safetensors").write_bytes(b"half")
        raise KeyboardInterrupt

    if moment == "saving":
        monkeypatch.setattr(CrossEncoder, "save_pretrained", stop)
    else:
        monkeypatch.setattr(learning, "_loss", stop)
    with pytest.raises(CommandError, match=r"Stopped\. Nothing was saved\.") as stopped:
        train(judged, tmp_path / "model", encoder, "--epochs", "1")
    assert stopped.value.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_done_is_said_before_anything_is_learned(judged: Path, encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("mine")
    (tmp_path / "few.jsonl").write_text('{"query": "a", "text": "b", "relevance": 1}\n')
    (tmp_path / "no base").mkdir()
    for source, output, base, sentence in [
        (judged, tmp_path / "full", encoder, "The output folder is not empty"),
        (judged, tmp_path / "few.jsonl", encoder, "The output folder is not empty"),
        (tmp_path / "nowhere", tmp_path / "new", encoder, "There is no such folder or file"),
        (tmp_path / "few.jsonl", tmp_path / "new", encoder, "There are too few queries to hold some out: 1 "),
        (judged, tmp_path / "new", tmp_path / "no base", "The base model could not be loaded"),
    ]:
        with pytest.raises(CommandError, match=sentence) as refused:
            train(source, output, base)
        assert str(tmp_path) not in str(refused.value)
    with pytest.raises(CommandError, match=r"use a number from 0\.01 to 0\.9"):
        train(judged, tmp_path / "new", encoder, "--hold-out", "1")
    with pytest.raises(CommandError, match="The model could not be saved"):
        train(judged, tmp_path / "few.jsonl" / "new", encoder, "--max-minutes", "0")
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "full" / "kept").read_text() == "mine"


def test_the_command_has_a_hyphen_and_an_exit_code(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "manage.py",
        "train-reranker",
        str(tmp_path / "nowhere"),
        "--output",
        str(tmp_path / "m"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("Name a folder in BEIR's layout or a file of judged queries.")
    assert "Traceback" not in done.stderr


def test_help_knows_the_command_by_that_name() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "help", "train-reranker"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "--hold-out" in done.stdout
