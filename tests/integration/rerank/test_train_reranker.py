"""`manage.py train-reranker`: learns a rule from judged queries, measures itself, and what it saves can be loaded."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from core_app.config import Rerank
from inference_app.cross_encoder import CrossEncoderScorer
from rerank_app.training import learning, services
from tests.integration.rerank.tiny_cross_encoder import WORDS, save_encoder

ROOT = Path(__file__).resolve().parents[3]
#: Enough for a model of a few thousand weights; the test says how much was learned, not how fast.
LEARNING = ("--epochs", "12", "--batch-size", "8", "--learning-rate", "0.003", "--max-length", "48", "--threads", "1")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrained, and without a head."""
    return save_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BEIR folder: of the texts that have a word of the query, those that have it first are relevant."""
    folder = tmp_path_factory.mktemp("judged")
    draw = random.Random(1)
    texts = {f"d{number}": draw.choices(WORDS, k=4) for number in range(300)}
    queries = {f"q{number}": list(pair) for number, pair in enumerate(_pairs())}
    with (folder / "corpus.jsonl").open("w") as file:
        for name, words in texts.items():
            file.write(json.dumps({"_id": name, "title": "", "text": " ".join(words)}) + "\n")
    with (folder / "queries.jsonl").open("w") as file:
        for name, words in queries.items():
            file.write(json.dumps({"_id": name, "text": " ".join(words)}) + "\n")
    (folder / "qrels").mkdir()
    with (folder / "qrels" / "all.tsv").open("w") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        for query, words in queries.items():
            relevant = [name for name, found in texts.items() if found[0] in words]
            file.writelines(f"{query}\t{name}\t1\n" for name in relevant[:3])
    return folder


def _pairs() -> Iterator[tuple[str, str]]:
    return ((first, second) for place, first in enumerate(WORDS) for second in WORDS[place + 1 :])


def train(source: Path, output: Path, base: Path, *more: str) -> str:
    said = io.StringIO()
    call_command(
        "train_reranker", str(source), "--output", str(output), "--base", str(base), *LEARNING, *more, stdout=said
    )
    return said.getvalue()


def report(output: Path) -> dict[str, Any]:
    return json.loads((output / "training.json").read_text(encoding="utf-8"))


def test_it_works(judged, encoder, tmp_path):
    print(train(judged, tmp_path/"m", encoder))
    print(report(tmp_path/"m"))
    print(list((tmp_path/"m").iterdir()))
    assert 0
