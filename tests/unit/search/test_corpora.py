"""Scores by words of collections that are counted apart: comparable, whichever is named first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_app.ports import AskedTerm
from search_app.corpora import RATIO, factors, together


def term(name: str, *, weight: float = 1.0, idf: float = 2.0, chunks: int = 5, rarity: float = 0.0) -> AskedTerm:
    return AskedTerm(term=name, weight=weight, idf=idf, chunks=chunks, rarity=rarity)


MASSES = st.lists(st.floats(0.1, 50), min_size=1, max_size=6)


def test_one_corpus_alone_stays_as_it_is() -> None:
    terms = [term("fox"), term("dog", chunks=0, weight=0.0)]
    assert factors({"en": terms}) == {"en": 1.0}
    assert together({"en": terms}, {"en": 1.0}) == [terms[1], terms[0]]
    assert factors({"en": []}) == {"en": 1.0}
    assert factors({}) == {}


def test_a_larger_corpus_is_not_better_for_being_larger() -> None:
    small, large = [term("fox", idf=1.0), term("dog", idf=2.0)], [term("fox", idf=4.0), term("dog", idf=8.0)]
    assert factors({"small": small, "large": large}) == {"small": 4.0, "large": 1.0}


@given(MASSES, MASSES, st.floats(0.1, 1.0), st.floats(0.1, 1.0))
def test_c_req_002_no_corpus_without_the_name_outranks_one_that_has_it(
    own: list[float], others: list[float], least: float, frequent: float
) -> None:
    """Where the name adds as much as all other words can, and wherever else these say as much as they can."""
    name = term("a.b", idf=1.0, weight=max(sum(own) / max(least, 0.1), 0.1), chunks=1, rarity=1.0)
    knows = [name, *(term(f"w{n}", idf=mass) for n, mass in enumerate(own))]
    lacks = [term("a.b", chunks=0, weight=0.0), *(term(f"w{n}", idf=mass) for n, mass in enumerate(others))]
    scaled = factors({"lacks": lacks, "knows": knows})
    assert min(scaled.values()) == 1.0
    worst_with_name = scaled["knows"] * max(least, 0.1) * name.weight
    best_without = scaled["lacks"] * frequent * sum(others)
    if name.weight / sum(own) <= RATIO:
        assert worst_with_name >= best_without * (1 - 1e-9)


def test_a_corpus_that_knows_one_word_of_a_question_is_not_better_for_that() -> None:
    words = [term(f"w{n}", idf=3.0) for n in range(6)]
    one = [term("w0", idf=0.5), *(term(f"w{n}", weight=0.0, idf=5.0, chunks=0) for n in range(1, 6))]
    scaled = factors({"all": words, "one": one})
    assert scaled["one"] * 0.5 < scaled["all"] * 3.0


def test_terms_are_those_of_the_corpus_where_they_count_most() -> None:
    asked = {
        "fr": [term("a.b", chunks=0, weight=0.0), term("chat", idf=3.0)],
        "en": [term("a.b", weight=4.0, chunks=1, rarity=1.0), term("chat", idf=1.0, chunks=2)],
    }
    scaled = {"fr": 1.0, "en": 2.0}
    found = together(asked, scaled)
    assert found == together(dict(reversed(asked.items())), scaled)
    assert [(one.term, one.weight, one.chunks) for one in found] == [("a.b", 8.0, 1), ("chat", 1.0, 5)]


def test_without_a_word_that_is_known_nothing_is_divided_by_nothing() -> None:
    nothing = [term("fox", chunks=0, weight=0.0)]
    assert factors({"a": nothing, "b": nothing}) == {"a": 1.0, "b": 1.0}
    only_name = [term("a.b", chunks=1, rarity=1.0)]
    found = factors({"a": only_name, "b": [term("a.b", chunks=0, weight=0.0), term("fox")]})
    assert found["a"] == pytest.approx((1 + RATIO) * 2.0 / 2.0)
