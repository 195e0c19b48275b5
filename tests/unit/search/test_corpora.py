"""Scores by words of collections that are counted apart: comparable, whichever is named first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_app.ports import AskedTerm
from search_app.corpora import factors, together


def term(
    name: str,
    *words: str,
    weight: float = 1.0,
    idf: float = 2.0,
    chunks: int = 5,
    rarity: float = 0.0,
    worth: float = 0.0,
) -> AskedTerm:
    """Written as it is stemmed, unless `words` say otherwise."""
    return AskedTerm(
        term=name, weight=weight, idf=idf, chunks=chunks, rarity=rarity, worth=worth, words=words or (name,)
    )


def lacking(name: str, *words: str, idf: float = 5.0) -> AskedTerm:
    return term(name, *words, weight=0.0, idf=idf, chunks=0)


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
    name = term("a.b", idf=1.0, weight=sum(own) / least, chunks=1, rarity=1.0, worth=2.0 / least)
    knows = [name, *(term(f"w{n}", idf=mass) for n, mass in enumerate(own))]
    lacks = [term("a.b", chunks=0, weight=0.0), *(term(f"w{n}", idf=mass) for n, mass in enumerate(others))]
    scaled = factors({"lacks": lacks, "knows": knows})
    assert min(scaled.values()) == 1.0
    worst_with_name = scaled["knows"] * least * name.weight
    best_without = scaled["lacks"] * frequent * sum(others)
    assert worst_with_name >= best_without * (1 - 1e-9)


def test_a_corpus_that_knows_one_word_of_a_question_is_not_better_for_that() -> None:
    words = [term(f"w{n}", idf=3.0) for n in range(6)]
    one = [term("w0", idf=0.5), *(term(f"w{n}", weight=0.0, idf=5.0, chunks=0) for n in range(1, 6))]
    scaled = factors({"all": words, "one": one})
    assert scaled["one"] * 0.5 < scaled["all"] * 3.0


def test_stems_of_several_languages_are_one_word() -> None:
    """`bonus` is the same in both; what English stems otherwise is lacking in German all the same."""
    english = [term("compani", "company"), term("salari", "salary"), term("polici", "policy"), lacking("bonus")]
    german = [lacking("company"), lacking("salary"), lacking("policy"), term("bonus")]
    alike = [replace(one, term=one.words[0]) for one in english]
    assert factors({"en": english, "de": german}) == factors({"en": alike, "de": german})
    scaled = factors({"en": english, "de": german})
    assert scaled["en"] * 6.0 > scaled["de"] * 2.0
    assert [one.term for one in together({"en": english, "de": german}, scaled)] == [
        "bonus",
        "compani",
        "polici",
        "salari",
    ]


def test_every_stem_that_a_corpus_has_is_listed() -> None:
    """Hits of each are explained by their own; what no corpus has is listed once."""
    asked = {"en": [term("player"), lacking("fuzzi", "fuzzy")], "de": [term("play", "player"), lacking("fuzzy")]}
    found = [one.term for one in together(asked, {"en": 1.0, "de": 1.0})]
    assert found == ["fuzzy", "play", "player"]


def test_a_corpus_that_has_no_word_of_a_query_changes_nothing() -> None:
    """That `car` says nothing in French makes it no less lacking in German."""
    english, german = [term("car"), term("winter")], [lacking("car"), term("winter")]
    two = factors({"en": english, "de": german})
    three = factors({"en": english, "de": german, "fr": [lacking("winter")]})
    assert three["de"] / three["en"] == two["de"] / two["en"]


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
    only_name = [term("a.b", chunks=1, rarity=1.0, worth=3.0)]
    found = factors({"a": only_name, "b": [term("a.b", chunks=0, weight=0.0), term("fox")]})
    # A unit of `b` is its one word.
    assert found["a"] == pytest.approx((3.0 / 2.0) / (1.0 / 2.0))


def test_a_number_that_another_language_has_alone_is_as_good_as_the_words_and_no_better() -> None:
    """As in one collection, where a rare name counts as much as all other words: meaning decides then."""
    number = term("10000", weight=2.0, idf=1.9, chunks=6, rarity=1.0, worth=1.0)
    words = [term(f"w{n}", idf=2.0) for n in range(4)]
    unknown = [lacking(f"w{n}") for n in range(4)]
    scaled = factors({"en": [term("10000", weight=0.0, chunks=0), *words], "de": [number, *unknown]})
    assert scaled["de"] * 2.0 * 1.9 == pytest.approx(scaled["en"] * 8.0)


def test_a_name_that_everything_has_says_nothing() -> None:
    number = term("1040", weight=2.0, idf=0.0045, chunks=110, rarity=0.09, worth=0.09)
    words = [term(f"w{n}", idf=2.0) for n in range(4)]
    scaled = factors({"en": words, "de": [number, term("w0", weight=0.0, idf=5.0, chunks=0)]})
    assert scaled["de"] * 2.0 * 0.0045 < 0.1 * scaled["en"] * 8.0


def test_a_name_that_is_lacking_and_a_word_that_nobody_has_cost_no_corpus_anything() -> None:
    """As in one collection, where a word that no passage has counts for none of them."""
    number = term("1040", weight=2.0, idf=1.9, chunks=6, rarity=1.0, worth=1.0)
    words = [term("server", idf=3.0), term("reports", idf=2.0)]
    unknown = [lacking(one.term) for one in words]
    nobody, no_number = term("error", weight=0.0, chunks=0), term("1040", weight=0.0, idf=3.4, chunks=0)
    scaled = factors({"en": [no_number, nobody, *words], "de": [number, nobody, *unknown]})
    assert scaled["en"] * 5.0 == pytest.approx(scaled["de"] * 2.0 * 1.9)
