"""What moved between two orders, and the bars that draw them."""

from __future__ import annotations

import pytest

from console_app.moves import Move, in_short, moves
from console_app.passages import fused_bars, reranked_bars
from core_app.ports import TermShare
from search_app.explaining import HitExplanation, LegExplanation
from search_app.reranking import RerankedHit


def test_each_passage_says_where_it_went() -> None:
    found = moves(["a", "b", "c", "d"], ["d", "b", "e", "a"])
    assert found == {
        "d": Move(kind="up", by=3, other=4),
        "b": Move(kind="same", other=2),
        "e": Move(kind="new"),
        "a": Move(kind="down", by=3, other=1),
        "c": Move(kind="gone", other=3),
    }
    assert [found[key].sign for key in "dbeac"] == ["↑3", "=", "+", "↓3", "\N{MULTIPLICATION SIGN}"]
    assert found["d"].words == "up 3, was 4"
    assert found["c"].words == "gone"
    assert in_short(found) == "1 up, 1 down, 1 new, 1 gone, 1 in the same place"


@pytest.mark.parametrize(("before", "after"), [([], []), (["a"], ["a"]), (["a", "b"], ["a", "b"])])
def test_nothing_moves_between_equal_orders(before: list[str], after: list[str]) -> None:
    assert all(move.kind == "same" for move in moves(before, after).values())
    assert moves([], ["a"]) == {"a": Move(kind="new")}


def test_a_passage_that_is_there_twice_counts_where_it_is_first() -> None:
    assert moves(["a", "b", "a"], ["b", "a"])["a"] == Move(kind="down", by=1, other=1)


def leg(share: float, rank: int | None = 1) -> LegExplanation:
    return LegExplanation(rank=rank, score=0.5, normalised=None, share=share)


def term(name: str, share: float) -> TermShare:
    return TermShare(term=name, weight=1, idf=1, frequency=1, length=3, share=share)


def test_the_bars_add_up_to_the_score() -> None:
    why = HitExplanation(
        dense=leg(0.3), lexical=leg(0.2), terms=[term("fox", 6.0), term("night", 2.0)], score=0.5, rank=1
    )
    meaning, words, fox, night, total = fused_bars(why, most=0.8)
    assert meaning.value + words.value == pytest.approx(total.value)
    assert fox.value + night.value == pytest.approx(words.value)
    assert fox.value == pytest.approx(0.15)
    assert meaning.start == 0
    assert words.start == pytest.approx(meaning.width)
    assert night.start + night.width == pytest.approx(words.start + words.width)
    assert total.width == pytest.approx(62.5)
    assert (total.x, total.wide) == ("0.00", "62.50")


def test_a_leg_that_found_nothing_adds_nothing() -> None:
    why = HitExplanation(dense=leg(0.5), lexical=leg(0.0, rank=None), terms=[term("fox", 1.0)], score=0.5, rank=1)
    bars = fused_bars(why, most=0.5)
    assert [bar.kind for bar in bars] == ["meaning", "words", "total"]
    assert bars[1].note == "not found by it"


def test_the_reranker_s_bars_add_up_to_the_last_score() -> None:
    one = RerankedHit(score=4.2, share=0.6, share_before=0.1, final=0.7, rank=2)
    why = HitExplanation(dense=leg(0.5), lexical=leg(0.0), terms=(), score=0.5, rank=1, reranked=one)
    reranker, before, final = reranked_bars(why)
    assert reranker.value + before.value == pytest.approx(final.value)
    assert before.start == pytest.approx(reranker.width)
    assert reranked_bars(HitExplanation(dense=leg(0.5), lexical=leg(0.0), terms=(), score=0.5, rank=1)) == []
