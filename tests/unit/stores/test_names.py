"""Rare names in a query (C-REQ-002): not drowned by its other words, and nothing else is changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores_app.lexical import bm25, names
from stores_app.lexical.analysis import query_terms, weights

CORPUS = 1000


def asked(query: str, *, least: float = 1.0, **chunks: int) -> tuple[dict[str, float], dict[str, float]]:
    """What each term counts, and the names; `chunks` are the terms that the collection has.

    Wherever a name is, it adds at least the share `least` of its mass.
    """
    terms = query_terms(query, "english")
    known = {term.replace("__", "."): count for term, count in chunks.items()}
    rarities = names.rarities(terms, known)
    idfs = {term: bm25.idf(chunks=CORPUS, df=df) for term, df in known.items()}
    leasts = dict.fromkeys(names.made_of_words(terms, rarities), least)
    parts = names.parts(rarities, least=leasts)
    return names.raised(weights(terms, known), idfs=idfs, rarities=rarities, parts=parts), rarities


def test_a_query_without_names_is_standard_bm25() -> None:
    found, rarities = asked("how do cronjobs work", cronjob=3, work=90)
    assert found == {"cronjob": 1.0, "work": 1.0}
    assert rarities == {}


@pytest.mark.parametrize(("least", "counted"), [(1.0, 1.0), (0.4, 0.4), (0.1, 0.1), (0.01, names.LEAST)])
def test_c_req_002_a_rare_name_counts_as_much_as_all_other_words(least: float, counted: float) -> None:
    query = "what is the best way to call create_module when the server starts again after winter"
    known = {"create_module": 1, "creat": 200, "modul": 300, "best": 50, "way": 80, "call": 90, "server": 400}
    known |= {"start": 100, "winter": 2}
    found, rarities = asked(query, least=least, **known)
    assert rarities == {"create_module": 1.0}
    masses = {term: weight * bm25.idf(chunks=CORPUS, df=known[term]) for term, weight in found.items()}
    others = sum(mass for term, mass in masses.items() if term != "create_module")
    assert counted * masses["create_module"] == pytest.approx(others)
    assert {term: weight for term, weight in found.items() if term in ("best", "server")} == {"best": 1, "server": 1}


@pytest.mark.parametrize(("chunks", "rarity"), [(1, 1.0), (10, 1.0), (20, 0.5), (1000, 0.01)])
def test_the_less_rare_a_name_the_less_it_is_raised(chunks: int, rarity: float) -> None:
    known = {"il-10": chunks, "il": chunks, "10": chunks, "receptor": 100}
    found, rarities = asked("IL-10 receptor", **known)
    assert rarities == {"il-10": pytest.approx(rarity)}
    idf = bm25.idf(chunks=CORPUS, df=chunks)
    rest = sum(found[term] * bm25.idf(chunks=CORPUS, df=known[term]) for term in known if term != "il-10")
    assert found["il-10"] * idf == pytest.approx(idf + rarity * (max(names.BOOST * idf, rest) - idf))


@pytest.mark.parametrize(
    ("name", "chunks", "times"),
    [
        ("e501", 1, 2.0),
        ("e501", 10, 2.0),
        ("ora-00942", 1, 2.0),
        ("cve-2024-1234", 1, 2.0),
        *((name, 1, 1.0) for name in ("e47", "500kg", "4711", "18h00", "1920x1080", "100m2", "200-page", "mp3")),
    ],
)
def test_c_req_002_a_code_counts_twice_all_other_words(name: str, chunks: int, times: float) -> None:
    """So that what is said of its neighbour, and is near in meaning too, does not come before it."""
    known = {name: chunks, "clean": 60, "filter": 50, "water": 80, "tank": 40, "machin": 30}
    found, _ = asked(f"how do I clean the filter and the water tank of the machine after {name}", **known)
    masses = {term: weight * bm25.idf(chunks=CORPUS, df=known[term]) for term, weight in found.items()}
    assert masses.pop(name) == pytest.approx(times * sum(masses.values()))


def test_a_code_counts_as_much_wherever_it_is_rare() -> None:
    """What several corpora compare: that it is first in one sum is no reason to be before another corpus's answer."""
    rarities, least = {"e501": 1.0, "il-10": 0.5, "a.b": 1.0}, {"a.b": 0.25}
    parts = names.parts(rarities, least=least)
    assert names.worths(rarities, parts=parts, made_of_words=least) == {"e501": 1.0, "il-10": 0.5, "a.b": 8.0}


@pytest.mark.parametrize(
    ("query", "known", "expected"),
    [
        ("error E501", {"error": 9, "e501": 1}, {"e501"}),
        ("error 42P01", {"error": 9, "42p01": 1}, {"42p01"}),
        ("part 1a", {"part": 9, "1a": 1}, set()),
        ("form 1040", {"form": 9, "1040": 1}, {"1040"}),
        ("above 120 or 0.5 or 3-4", {"120": 1, "0__5": 1, "0": 1, "5": 1, "3-4": 1, "3": 1, "4": 1}, set()),
        ("hook.player.connected", {"hook__player__connected": 2, "hook": 9}, {"hook.player.connected"}),
        ("hook.player.connected", {"hook": 9, "player": 8}, set()),
        ("v1.2-beta", {"1__2-beta": 1, "2-beta": 1, "beta": 4}, {"1.2-beta", "2-beta"}),
    ],
)
def test_names_are_whole_identifiers_and_terms_with_a_digit(
    query: str, known: dict[str, int], expected: set[str]
) -> None:
    assert set(asked(query, **known)[1]) == expected


@given(st.text(max_size=80), st.integers(1, CORPUS))
def test_no_term_ever_counts_less(query: str, chunks: int) -> None:
    terms = query_terms(query, "english")
    known = dict.fromkeys((term.term for term in terms), chunks)
    plain = weights(terms, known)
    idfs = {term: bm25.idf(chunks=CORPUS, df=df) for term, df in known.items()}
    rarities = names.rarities(terms, known)
    raised = names.raised(plain, idfs=idfs, rarities=rarities, parts=dict.fromkeys(rarities, 0.3))
    assert raised.keys() == plain.keys()
    assert all(raised[term] >= plain[term] - 1e-12 for term in plain)


@pytest.mark.parametrize(
    ("query", "known", "expected"),
    [
        ("my_app", {"my_app": 1}, True),
        ("Group.command", {"group.command": 1}, True),
        ("createModule", {"createmodule": 1}, True),
        ("IL-10", {"il-10": 1}, False),
        ("E501", {"e501": 1}, False),
        ("mRNA", {"mrna": 1}, False),
        ("U+20AC", {"20ac": 1}, False),
        ("GluR1-alpha-beta", {"glur1-alpha-beta": 1}, False),
    ],
)
def test_names_that_only_programs_have(query: str, known: dict[str, int], expected: bool) -> None:
    terms = query_terms(query, "english")
    rarities = names.rarities(terms, known)
    assert rarities
    assert bool(names.made_of_words(terms, rarities)) is expected


def test_other_names_count_as_much_as_all_other_words_wherever_they_are() -> None:
    known = {"il-10": 1, "receptor": 100, "cell": 300}
    assert asked("IL-10 receptor cells", least=0.2, **known) == asked("IL-10 receptor cells", **known)
