"""What a search may be asked for, what the modes are, and the clock that runs meanwhile."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import get_args

import pytest

from core_app.errors import InvalidInput
from search_app.asking import DEFAULT_LIMIT, WIDEST_WINDOW, Expansion, SearchRequest
from search_app.clock import Clock, Stage
from search_app.modes import DEFAULT_MODE, FUSIONS, LEGS, MODE_NAMES, MODES, Fusion, Legs, ModeName


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("section", Expansion(kind="section")),
        ("document", Expansion(kind="document")),
        ("window:1", Expansion(kind="window", size=1)),
        ("window:7", Expansion(kind="window", size=7)),
        (f"window:{WIDEST_WINDOW}", Expansion(kind="window", size=WIDEST_WINDOW)),
    ],
)
def test_an_expansion_is_read(text: str, expected: Expansion) -> None:
    assert Expansion.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "window", "window:", "window:0", f"window:{WIDEST_WINDOW + 1}", "window:-1", "window:1.5", "window:x",
        " window:1", "window:1 ", "window: 1", "window:1\n", "Window:1", "SECTION", "sections", "window:99999999999",
        "window:\u0663", "window:1,2",
    ],
)  # fmt: skip
def test_what_is_no_expansion_is_told_what_one_is(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Expansion.parse(text)
    assert caught.value.code == "invalid_expand"
    assert all(word in caught.value.detail for word in ("section", "document", "window:N", str(WIDEST_WINDOW)))


@pytest.mark.parametrize(("top_k", "limit"), [(1, 1), (7, 7), (0, 5), (-1, 5), (-100, 5)])
def test_b8_4_a_limit_below_one_counts_as_five(top_k: int, limit: int) -> None:
    assert DEFAULT_LIMIT == 5
    assert SearchRequest(query="q", top_k=top_k).limit == limit


class TestModes:
    def test_c_req_001_there_are_three_with_their_times(self) -> None:
        assert {name: mode.budget_ms for name, mode in MODES.items()} == {
            "fast": 200,
            "balanced": 500,
            "thorough": 2000,
        }
        assert DEFAULT_MODE == "balanced"

    def test_readme_8_fast_stops_at_the_fusion_by_ranks(self) -> None:
        assert MODES["fast"].fusion == "rrf"
        assert MODES["fast"].rerankers == ()
        assert MODES["balanced"].fusion == MODES["thorough"].fusion == "calibrated"

    def test_readme_8_thorough_re_orders_twenty_by_a_language_model_or_a_cross_encoder(self) -> None:
        assert (MODES["thorough"].rerankers, MODES["thorough"].rerank_depth) == (("llm", "cross-encoder"), 20)

    def test_b3_4_each_looks_deep_enough_for_the_usual_limit(self) -> None:
        assert all(mode.depth >= 2 * DEFAULT_LIMIT for mode in MODES.values())

    def test_the_tables_have_what_the_types_allow(self) -> None:
        assert get_args(ModeName) == MODE_NAMES
        assert get_args(Fusion) == FUSIONS
        assert get_args(Legs) == LEGS
        assert {mode.fusion for mode in MODES.values()} <= set(FUSIONS)


class Hands:
    """The time of day, moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def clock(self) -> Clock:
        return Clock(_started=self.now)


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Hands:
    return Hands(monkeypatch)


class TestClock:
    def test_stages_are_measured_in_their_order(self, hands: Hands) -> None:
        ran = hands.clock()
        with ran.stage("words"):
            hands.now += 0.012346
        hands.now += 1
        with ran.stage("meaning"):
            hands.now += 0.5
        assert ran.stages == [
            Stage(name="words", took_ms=12.35),
            Stage(name="meaning", began_ms=1012.35, took_ms=500.0),
        ]
        assert ran.took_ms == 1512.35

    def test_a_stage_that_fails_is_measured_too(self, hands: Hands) -> None:
        ran = hands.clock()
        with suppress(ZeroDivisionError), ran.stage("words"):
            hands.now += 0.25
            raise ZeroDivisionError
        assert ran.stages == [Stage(name="words", took_ms=250.0)]

    def test_without_a_budget_there_is_always_time(self, hands: Hands) -> None:
        ran = hands.clock()
        hands.now += 10_000
        assert ran.seconds_left == math.inf

    def test_c_req_001_time_runs_out_and_never_below_nothing(self, hands: Hands) -> None:
        ran = hands.clock()
        ran.budget_ms = 200
        hands.now += 0.15
        assert ran.seconds_left == pytest.approx(0.05)
        hands.now += 1
        assert ran.seconds_left == 0.0
