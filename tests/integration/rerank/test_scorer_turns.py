"""How requests share the cross-encoder: turns, what is taken on beside others, and what is not.

A batch is scored at once here, whatever it is thought to take: thousands of seconds, so that no real ones matter.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core_app.config import Rerank
from inference_app import cross_encoder
from inference_app.cross_encoder import CrossEncoderScorer

#: What a batch is thought to take, whatever is in it; with two threads.
BATCH = 1000.0


@pytest.fixture(scope="module")
def loaded(cross_encoder_folder: Path) -> CrossEncoderScorer:
    scorer = CrossEncoderScorer(Rerank(cross_encoder_path=str(cross_encoder_folder), batch_size=8, threads=2))
    scorer.load()
    return scorer


@pytest.fixture
def scorer(loaded: CrossEncoderScorer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(loaded, "_pace", copy(loaded._pace))
    loaded._pace._parts = (BATCH, 1e-9)
    yield loaded
    assert loaded._under_way == {}
    until(lambda: not loaded._in_pool)


@pytest.fixture
def scored(scorer: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The query and the number of texts of each batch."""
    batches: list[tuple[str, int]] = []

    def score(asked: Any, places: Any) -> Any:
        batches.append((asked.query, len(places)))
        return nothing(places)

    monkeypatch.setattr(scorer, "_score", score)
    return batches


def nothing(places: Any) -> Any:
    zeros = np.zeros(len(places), np.float32)
    return cross_encoder._Batch(places=places, logits=zeros, values=zeros, tokens=1)


def until(holds: Callable[[], bool]) -> None:
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


def asked_by_others(scorer: Any, texts: int) -> Any:
    return cross_encoder._Asked(scorer, "others", ["red fox"] * texts, math.inf, partial=False)


@pytest.mark.parametrize(("parts", "size"), [((BATCH, 1.0), 1), ((0.01, 0.0045), 3), ((1e-9, 1e-9), 8)])
def test_a_turn_is_a_tenth_of_a_second_or_one_text(
    scorer: Any, scored: list[tuple[str, int]], parts: tuple[float, float], size: int
) -> None:
    """`red fox` beside `fox` is guessed to have 5.5 tokens: three times that fit into 0.09 seconds."""
    scorer._pace._parts = parts
    for partial in (False, True):
        assert len(scorer.scores(query="fox", texts=["red fox"] * 24, partial=partial).values) == 24
    assert scored == [("fox", size)] * (2 * 24 // size)


def test_one_that_comes_when_another_is_nearly_done_is_taken(scorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Semaphore(0)
    tries = 0

    def score(_asked: Any, places: Any) -> Any:
        assert gate.acquire(timeout=60)
        return nothing(places)

    score_all = scorer._score_all

    def begin(asked: Any) -> Any:
        nonlocal tries
        tries += asked.query == "second"
        return score_all(asked) if asked.query == "first" else []

    monkeypatch.setattr(scorer, "_score", score)
    monkeypatch.setattr(scorer, "_score_all", begin)
    with ThreadPoolExecutor(1) as client:
        first = client.submit(scorer.scores, query="first", texts=["fox"] * 20, seconds=20 * BATCH)
        until(lambda: len(scorer._in_pool) == 2)
        (asked,) = scorer._under_way.values()
        # Alone it takes 2 batches' time, and beside the first one, with its two turns and those before, 5.
        scorer.scores(query="second", texts=["fox"] * 4, seconds=4 * BATCH)
        assert tries == 0
        for _ in range(18):
            gate.release()
        until(lambda: asked.finished == 18)
        scorer.scores(query="second", texts=["fox"] * 4, seconds=4 * BATCH)
        assert tries == 1
        for _ in range(2):
            gate.release()
        assert len(first.result(timeout=60).values) == 20


def test_where_others_take_all_of_the_time_it_is_not_begun(
    scorer: Any, scored: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer, "_under_way", {number: asked_by_others(scorer, 100) for number in range(40)})
    assert len(scorer.scores(query="fox", texts=["fox"] * 4, seconds=30 * BATCH).values) == 0
    assert scored == []
    # Forty others, who have two batches in the pool each, and take a turn for each of its own.
    assert len(scorer.scores(query="fox", texts=["fox"] * 4, seconds=200 * BATCH).values) == 4
    scorer._under_way.clear()


def test_a_short_one_waits_for_a_turn_of_each_of_the_others(
    scorer: Any, scored: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However short it is, and however long they are."""
    monkeypatch.setattr(scorer, "seconds", lambda tokens: BATCH if tokens > 20 else 1e-6)
    others = [cross_encoder._Asked(scorer, "owl", ["fox " * 48] * 900, math.inf, partial=False) for _ in range(10)]
    monkeypatch.setattr(scorer, "_under_way", dict(enumerate(others)))
    assert len(scorer.scores(query="fox", texts=["fox"], seconds=9 * BATCH).values) == 0
    assert scored == []
    assert len(scorer.scores(query="fox", texts=["fox"], seconds=11 * BATCH).values) == 1
    scorer._under_way.clear()


def test_what_others_have_no_time_for_is_not_counted(
    scorer: Any, scored: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = asked_by_others(scorer, 100)
    other.deadline = time.monotonic()
    monkeypatch.setattr(scorer, "_under_way", {0: other})
    assert len(scorer.scores(query="fox", texts=["fox"] * 4, seconds=3 * BATCH).values) == 4
    scorer._under_way.clear()


def test_what_was_taken_on_is_not_given_up_for_those_who_come_later(
    scorer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def score(_asked: Any, places: Any) -> Any:
        scorer._under_way.update((number, asked_by_others(scorer, 100)) for number in range(40))
        return nothing(places)

    monkeypatch.setattr(scorer, "_score", score)
    assert len(scorer.scores(query="fox", texts=["fox"] * 40, seconds=30 * BATCH).values) == 40
    scorer._under_way.clear()


def test_what_is_refused_counts_for_nobody(scorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "_under_way", {0: asked_by_others(scorer, 100)})
    counted: list[int] = []
    fits = scorer._fits

    def seen(asked: Any, **more: Any) -> Any:
        counted.append(len(scorer._under_way))
        return fits(asked, **more)

    monkeypatch.setattr(scorer, "_fits", seen)
    assert len(scorer.scores(query="fox", texts=["fox"] * 4, seconds=3 * BATCH).values) == 0
    assert counted == [1, 1]
    scorer._under_way.clear()


def test_before_anything_was_learned_nothing_is_refused(scorer: Any, scored: list[tuple[str, int]]) -> None:
    scorer._pace._parts = (0.0, 0.0)
    assert len(scorer.scores(query="fox", texts=["fox"] * 400, seconds=60).values) == 400


def test_what_seems_too_slow_by_mistake_is_done_all_the_same(scorer: Any) -> None:
    assert len(scorer.scores(query="fox", texts=["red fox"] * 20, seconds=60).values) == 20


def test_a_search_plans_with_what_is_in_the_pool(
    scorer: Any, scored: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer._pace._parts = (1e-6, 1e-9)
    before = scorer.seconds(48)

    def found(ahead: int) -> int:
        monkeypatch.setattr(scorer, "_in_pool", {Future(): BATCH for _ in range(ahead)})
        return len(scorer.scores(query="fox", texts=["fox"] * 4, seconds=60, partial=True).values)

    assert found(2) == 0, "both threads are taken"
    assert scorer.seconds(48) == before, "the model is no slower for that"
    assert found(0) == 4
    scorer._in_pool.clear()


def test_a_search_is_never_refused_and_gets_what_fits(
    scorer: Any, scored: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer, "_under_way", {number: asked_by_others(scorer, 100) for number in range(40)})
    found = scorer.scores(query="fox", texts=["fox"] * 400, seconds=30 * BATCH, partial=True)
    assert len(found.values) == 400, "as long as its batches are done at once"
    assert len(scorer.scores(query="fox", texts=["fox"] * 4, seconds=BATCH / 2, partial=True).values) == 0
    scorer._under_way.clear()


@pytest.mark.parametrize("text", ["red fox and owl " * 2, "中文字符检索模型重排序" * 3])
def test_any_script_costs_about_what_it_takes(scorer: Any, text: str) -> None:
    (cost,) = scorer.costs("fox", [text])
    tokens = scorer.scores(query="fox", texts=[text]).tokens
    assert tokens / 2 < cost < 2 * tokens


def test_learned_is_from_the_tokens_that_were_read(scorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guess that is far off must not make everything else seem slow: each of these is thought to be a few tokens."""
    learned: list[float] = []
    monkeypatch.setattr(scorer._pace, "learn", lambda tokens, _seconds: learned.append(tokens))
    found = scorer.scores(query="fox", texts=["!?,.;:" * 6, "." * 36])
    assert learned == [40, 40]
    assert found.tokens == 80
    assert max(scorer.costs("fox", ["." * 36])) < 20


def test_a_model_that_fails_leaves_nothing_behind(scorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_asked: Any, _places: Any) -> Any:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(scorer, "_score", fail)
    for partial in (False, True):
        with pytest.raises(RuntimeError, match="out of memory"):
            scorer.scores(query="fox", texts=["fox"] * 40, partial=partial)
