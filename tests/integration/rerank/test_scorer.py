"""The cross-encoder itself: within the time, together with others, and whatever it is sent."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core_app.config import Rerank
from inference_app.cross_encoder import CrossEncoderScorer

TEXTS = ["tea rye", "red fox", "owl", "jam pie hat fox sea", "oak " * 30]


@pytest.fixture(scope="module")
def loaded(cross_encoder_folder: Path) -> CrossEncoderScorer:
    scorer = CrossEncoderScorer(Rerank(cross_encoder_path=str(cross_encoder_folder), batch_size=2, threads=2))
    scorer.load()
    return scorer


@pytest.fixture
def scorer(loaded: CrossEncoderScorer, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(loaded, "_pace", copy(loaded._pace))
    return loaded


def test_scores_are_those_of_the_library(scorer: Any, cross_encoder_folder: Path) -> None:
    from sentence_transformers import CrossEncoder

    theirs = CrossEncoder(str(cross_encoder_folder), device="cpu").predict([("fox", text) for text in TEXTS])
    for partial in (False, True):
        found = scorer.scores(query="fox", texts=TEXTS, seconds=60, partial=partial)
        np.testing.assert_allclose(found.values, theirs, atol=1e-5)
        assert found.tokens > 0


def test_many_at_once_get_what_one_alone_gets(scorer: Any) -> None:
    """The tokenizer and the model are shared by all threads."""
    queries = ["fox", "tea", "owl", "jam"] * 6
    alone = {query: scorer.scores(query=query, texts=TEXTS).values for query in set(queries)}
    with ThreadPoolExecutor(8) as clients:
        together = list(clients.map(lambda query: scorer.scores(query=query, texts=TEXTS).values, queries))
    for query, found in zip(queries, together, strict=True):
        np.testing.assert_allclose(found, alone[query], atol=1e-5)
    assert scorer._under_way == {}


@pytest.mark.parametrize("texts", [[""], ["", "Fox", "Tea"]])
def test_no_request_makes_it_seem_so_slow_that_nobody_is_scored(scorer: Any, texts: list[str]) -> None:
    before = scorer.seconds(48)
    for _ in range(30):
        scorer.scores(query="words and more words " * 190, texts=texts)
    assert scorer.seconds(48) < 20 * before
    assert len(scorer.scores(query="fox", texts=TEXTS, seconds=30).values) == len(TEXTS)


def test_one_that_seems_too_slow_is_tried_again_after_a_while(scorer: Any) -> None:
    scorer._pace._parts = (100.0, 1.0)
    budget = 0.5
    counts = [len(scorer.scores(query="fox", texts=TEXTS, seconds=budget, partial=True).values) for _ in range(200)]
    assert counts[0] == 0
    assert counts[-1] == len(TEXTS)


def test_what_is_late_is_left_out_and_what_was_done_is_kept(scorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    score = scorer._score

    def slow_at_last(asked: Any, places: Any) -> Any:
        if 3 in places:
            assert go.wait(60)
        return score(asked, places)

    monkeypatch.setattr(scorer, "_score", slow_at_last)
    scorer._pace._parts = (1e-9, 1e-12)
    try:
        found = scorer.scores(query="fox", texts=TEXTS, seconds=0.5, partial=True)
        assert len(found.values) == 2, "the first batch"
        assert len(scorer.scores(query="fox", texts=TEXTS, seconds=0.1).values) == 0, "all or nothing"
        assert not go.is_set()
    finally:
        go.set()


def test_a_text_far_longer_than_the_model_reads_is_cut_before_it_is_taken_apart(
    scorer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = 0
    preprocess = scorer._model.preprocess

    def seen(pairs: Any, **more: Any) -> Any:
        nonlocal longest
        longest = max(longest, *(len(text) for _, text in pairs))
        return preprocess(pairs, **more)

    monkeypatch.setattr(scorer._model, "preprocess", seen)
    whole = scorer.scores(query="fox", texts=["red fox " * 500_000]).values
    assert longest <= 50 * 48
    np.testing.assert_allclose(whole, scorer.scores(query="fox", texts=["red fox " * 48]).values, atol=1e-5)
