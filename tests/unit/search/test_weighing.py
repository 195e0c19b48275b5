"""How much words count beside meaning (README 8, C-REQ-002)."""

from __future__ import annotations

import pytest

from core_app.ports import AskedTerm
from search_app.weighing import weight_of_words


def term(rarity: float, *, weight: float = 1.0, idf: float = 2.0) -> AskedTerm:
    return AskedTerm(term="t", weight=weight, chunks=1, idf=idf, rarity=rarity)


def test_an_ordinary_question_weighs_both_alike() -> None:
    assert weight_of_words([term(0), term(0)], own=None) == 0.5


def test_a_query_that_is_nothing_but_a_rare_name_is_for_words() -> None:
    assert weight_of_words([term(1.0)], own=None) == pytest.approx(0.9)


def test_a_name_beside_words_counts_by_its_share() -> None:
    assert weight_of_words([term(1.0), term(0)], own=None) == pytest.approx(0.7)
    assert weight_of_words([term(0.5), term(0)], own=None) == pytest.approx(0.6)
    assert weight_of_words([term(1.0, weight=3.0), term(0)], own=None) == pytest.approx(0.8)
    assert weight_of_words([term(1.0, idf=6.0), term(0)], own=None) == pytest.approx(0.8)


def test_unknown_words_and_none_at_all() -> None:
    assert weight_of_words([], own=None) == 0.5
    assert weight_of_words([term(0, weight=0.0)], own=None) == 0.5
    assert weight_of_words([term(1.0, weight=0.0)], own=None) == 0.5
    assert weight_of_words([term(1.0, weight=0.0), term(0)], own=None) == 0.5


@pytest.mark.parametrize("own", [0.0, 0.3, 1.0])
def test_what_the_collection_says_holds(own: float) -> None:
    assert weight_of_words([term(1.0)], own=own) == own
