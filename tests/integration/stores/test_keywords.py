"""Searching by words within a filter, in several collections at once, and what each term adds to a score."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collections_app.models import Chunk
from core_app.errors import InvalidInput
from core_app.ports import AskedTerm, Bm25, LexicalFound, LexicalHit, TermShare
from core_app.where import And, Compare, Not, Or, Where, matches
from stores_app import keywords, segments
from stores_app.lexical.analysis import PART_WEIGHT
from stores_app.lexical.bm25 import idf
from stores_app.lexical.memory import Memory
from tests.integration.stores.shelf import Shelf, new_shelf

pytestmark = pytest.mark.django_db

WORDS = ("alpha", "beta", "gamma", "delta", "snake_case_name")
#: What decides how much is asked of the filter at a time; see `keywords`.
Look = tuple[int, int, int]
AS_SHIPPED: Look = (4, 256, 5000)
IN_TWO_STEPS: Look = (1, 1, 5000)
FILTER_FIRST: Look = (1, 1, 0)

FILTERS: Mapping[str, Where] = {
    "all": Compare("n", "$gte", 0),
    "half": Compare("even", "$eq", True),
    "few": Compare("tenth", "$eq", True),
    "none": Compare("n", "$lt", 0),
    "text": Compare(None, "$contains", "beta"),
    "together": And((Compare("even", "$eq", True), Not(Compare("tenth", "$eq", True)))),
    "either": Or((Compare("tenth", "$eq", True), Compare("missing", "$exists", True))),
}


def look_like(monkeypatch: pytest.MonkeyPatch, look: Look) -> None:
    for name, value in zip(("_FIRST_LOOK", "_LEAST_LOOKED", "_MOST_LOOKED"), look, strict=True):
        monkeypatch.setattr(keywords, name, value)


def search(
    shelves: Sequence[Shelf], query: str, *, limit: int = 10**6, where: Where | None = None, **more: Any
) -> LexicalFound:
    return shelves[0].store.lexical(
        collection_ids=[shelf.collection.pk for shelf in shelves],
        bm25=shelves[0].bm25,
        query=query,
        limit=limit,
        where=where,
        **more,
    )


def by_force(shelves: Sequence[Shelf], query: str, *, limit: int, where: Where) -> list[LexicalHit]:
    """Everything that has a word of the query, asked one by one whether it passes."""
    rows = Chunk.objects.filter(collection__in=[shelf.collection for shelf in shelves])
    passing = {chunk.pk for chunk in rows if matches(where, metadata=chunk.metadata, text=chunk.text)}
    return [hit for hit in search(shelves, query).hits if hit.chunk_id in passing][:limit]


def numbered(count: int, chance: random.Random, *, first: int = 0) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Texts with words in common, many of them the same, and metadata to filter by."""
    names = [f"{n}" for n in range(first, first + count)]
    texts = {name: " ".join(chance.choices(WORDS, k=chance.randrange(1, 5))) for name in names}
    metadata = {name: {"n": int(name), "even": int(name) % 2 == 0, "tenth": int(name) % 10 == 0} for name in names}
    return texts, metadata


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    """Ninety chunks in nine segments, a third of them deleted again."""
    chance = random.Random(1)
    for first in range(0, 90, 10):
        texts, metadata = numbered(10, chance, first=first)
        shelf.add(texts, metadata=metadata)
    shelf.remove(*(f"{n}" for n in chance.sample(range(90), 30)))
    return shelf


@pytest.mark.parametrize("where", FILTERS)
@pytest.mark.parametrize("look", [AS_SHIPPED, IN_TWO_STEPS, FILTER_FIRST], ids=["shipped", "two steps", "filter first"])
def test_b6_4_a_filtered_search_is_the_whole_search_filtered(
    filled: Shelf, monkeypatch: pytest.MonkeyPatch, look: Look, where: str
) -> None:
    """B6.4: in the same order with the same scores, and fewer than asked for only when fewer match."""
    look_like(monkeypatch, look)
    for query in ("alpha", "beta gamma", "snake_case_name alpha", "alpha beta gamma delta"):
        for limit in (1, 2, 5, 20):
            expected = by_force([filled], query, limit=limit, where=FILTERS[where])
            assert list(search([filled], query, limit=limit, where=FILTERS[where]).hits) == expected


def test_b6_4_each_way_is_taken_and_named(filled: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[Look, list[str]] = {}
    for look in (AS_SHIPPED, IN_TWO_STEPS, FILTER_FIRST):
        look_like(monkeypatch, look)
        found[look] = [search([filled], "alpha beta", limit=2, where=FILTERS[name]).way for name in ("all", "few")]
    assert found[AS_SHIPPED] == ["best first, then filtered"] * 2
    assert found[IN_TWO_STEPS][0] == "best first, then filtered"
    assert found[FILTER_FIRST] == ["best first, then filtered", "filter first"]
    assert search([filled], "alpha").way == "all scored"
    assert search([filled], "the of").way == "no words"
    assert search([filled], "alpha", limit=0).way == "no words"


def test_b6_4_what_the_filter_keeps_out_makes_no_word_rarer(filled: Shelf) -> None:
    """Scores are those of the whole collection, so that they say the same with and without a filter."""
    whole = {hit.chunk_id: hit.score for hit in search([filled], "alpha beta").hits}
    some = search([filled], "alpha beta", limit=20, where=FILTERS["few"]).hits
    assert some
    assert all(whole[hit.chunk_id] == hit.score for hit in some)


def test_a_filtered_search_takes_few_statements_however_many_segments(
    filled: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = {}
    monkeypatch.setattr(segments, "memory", lambda: Memory(limit=0))
    for look, where in ((AS_SHIPPED, "half"), (IN_TWO_STEPS, "half"), (FILTER_FIRST, "few")):
        look_like(monkeypatch, look)
        with CaptureQueriesContext(connection) as queries:
            search([filled], "alpha beta gamma", limit=3, where=FILTERS[where])
        counted[look] = len(queries)
    # Segments and postings; then for each step ids and filter; at last all that pass, whole segments, and winners.
    assert counted[AS_SHIPPED] == 4
    assert counted[IN_TWO_STEPS] <= 9
    assert counted[FILTER_FIRST] <= 7


SHAPES = st.tuples(
    st.integers(0, 2**20),
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
    st.sampled_from(sorted(FILTERS)),
    st.integers(1, 20),
    st.sampled_from([AS_SHIPPED, IN_TWO_STEPS, FILTER_FIRST, (1, 3, 4), (2, 2, 1)]),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shape=SHAPES, query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join))
def test_b6_4_any_collections_filter_and_limit_give_what_force_gives(
    db: None, shape: tuple[int, list[int], str, int, Look], query: str
) -> None:
    seed, sizes, where, limit, look = shape
    chance = random.Random(seed)
    shelves = [new_shelf(), new_shelf()]
    for at, size in enumerate(sizes):
        texts, metadata = numbered(size, chance, first=100 * at)
        shelves[at % 2].add(texts, metadata=metadata)
    for shelf in shelves:
        shelf.remove(*(name for name in shelf.ids if chance.random() < 0.3))
    with pytest.MonkeyPatch.context() as patched:
        look_like(patched, look)
        found = search(shelves, query, limit=limit, where=FILTERS[where])
    assert list(found.hits) == by_force(shelves, query, limit=limit, where=FILTERS[where])


def test_several_collections_score_as_one_that_holds_all_their_chunks(db: None) -> None:
    """Results of several collections are one list only if their scores mean the same."""
    chance = random.Random(4)
    one, two, both = new_shelf(), new_shelf(), new_shelf()
    for at, shelf in enumerate((one, two, one, two)):
        texts, _ = numbered(12, chance, first=100 * at)
        shelf.add(texts)
        both.add(texts)
    for shelf, gone in ((one, ("3", "205")), (two, ("110",))):
        shelf.remove(*gone)
        both.remove(*gone)
    names = {pk: name for shelf in (one, two) for name, pk in shelf.ids.items()}
    for query in ("alpha", "beta snake_case_name", "gamma delta alpha"):
        apart = {names[hit.chunk_id]: hit.score for hit in search([one, two], query).hits}
        assert apart == dict(both.words(query, limit=100))
        ranked = [(hit.score, hit.chunk_id) for hit in search([one, two], query, limit=7).hits]
        assert ranked == sorted(ranked, key=lambda pair: (-pair[0], pair[1]))
        assert [score for score, _ in ranked] == [score for _, score in both.words(query, limit=7)]


@pytest.mark.parametrize("where", [None, FILTERS["all"]])
@pytest.mark.parametrize("look", [AS_SHIPPED, FILTER_FIRST])
def test_chunks_of_other_collections_are_never_found(
    filled: Shelf, monkeypatch: pytest.MonkeyPatch, look: Look, where: Where | None
) -> None:
    look_like(monkeypatch, look)
    before = search([filled], "alpha beta", limit=50, where=where)
    other = new_shelf()
    texts, metadata = numbered(50, random.Random(2))
    other.add(texts, metadata=metadata)
    assert search([filled], "alpha beta", limit=50, where=where) == before
    held = set(filled.ids.values())
    assert {hit.chunk_id for hit in search([filled, other], "alpha", limit=200, where=where).hits} - held


def test_no_collections_have_no_words(shelf: Shelf) -> None:
    shelf.add({"a": "alpha"})
    found = shelf.store.lexical(collection_ids=[], bm25=shelf.bm25, query="alpha", limit=5)
    assert (found.hits, found.terms) == ((), ())
    assert shares(shelf, "alpha", collection_ids=[]) == {}


def shares(
    shelf: Shelf, query: str, *, names: Sequence[str] = ("a",), collection_ids: Sequence[int] | None = None
) -> dict[int, list[TermShare]]:
    return shelf.store.term_shares(
        collection_ids=[shelf.collection.pk] if collection_ids is None else collection_ids,
        bm25=shelf.bm25,
        query=query,
        chunk_ids=[shelf.ids[name] for name in names],
    )


def test_the_terms_shares_add_up_to_the_score_to_the_last_bit(filled: Shelf) -> None:
    for query in ("alpha", "gamma snake_case_name beta", "alpha alpha beta case", "delta name alpha gamma"):
        hits = search([filled], query).hits
        explained = filled.store.term_shares(
            collection_ids=[filled.collection.pk],
            bm25=filled.bm25,
            query=query,
            chunk_ids=[hit.chunk_id for hit in hits],
        )
        assert {hit.chunk_id: hit.score for hit in hits} == {
            # One after the other, as they were: `sum` corrects what is rounded.
            chunk_id: reduce(add, (share.share for share in of_chunk))
            for chunk_id, of_chunk in explained.items()
        }


def test_a_share_names_what_it_comes_from(shelf: Shelf) -> None:
    shelf.add({"a": "Alpha beta alpha. Gamma?", "b": "beta beta", "c": "delta"})
    shelf.add({"gone": "alpha alpha alpha"})
    shelf.remove("gone")
    shelf.bm25 = Bm25(language="english", k1=1.5, b=0.6)
    ((alpha, beta),) = shares(shelf, "beta alphas unheard").values()
    average = (4 + 2 + 1) / 3
    assert (alpha.term, alpha.frequency, alpha.length, alpha.weight) == ("alpha", 2, 4, 1.0)
    assert alpha.idf == idf(chunks=3, df=1)
    assert alpha.share == pytest.approx(alpha.idf * 2 / (2 + 1.5 * (1 - 0.6 + 0.6 * 4 / average)), abs=1e-12)
    assert (beta.term, beta.frequency, beta.idf) == ("beta", 1, idf(chunks=3, df=2))


def test_shares_are_of_the_collections_asked_and_of_living_chunks_alone(shelf: Shelf) -> None:
    other = new_shelf()
    theirs = other.add({"x": "alpha"})
    ids = shelf.add({"a": "alpha", "b": "beta", "gone": "alpha"})
    shelf.remove("gone")
    asked = [*ids.values(), *theirs.values(), ids["a"], 10**15, -1]
    found = shelf.store.term_shares(
        collection_ids=[shelf.collection.pk], bm25=shelf.bm25, query="alpha", chunk_ids=asked
    )
    assert set(found) == {ids["a"]}
    assert len(found[ids["a"]]) == 1
    assert shares(shelf, "the of") == {}


def terms(shelf: Shelf, query: str) -> dict[str, AskedTerm]:
    return {term.term: term for term in search([shelf], query).terms}


def test_c_req_002_the_terms_say_which_are_names_and_how_rare(shelf: Shelf) -> None:
    shelf.add({"a": "snake_case_name alpha", "b": "a case of alpha", "c": "delta"})
    found = terms(shelf, "snake_case_name alpha absent")
    assert {name: term.rarity for name, term in found.items() if term.rarity} == {"snake_case_name": 1.0}
    assert found["snake_case_name"].chunks == 1
    assert found["snake_case_name"].weight >= 2.0
    assert (found["case"].chunks, found["case"].weight) == (2, PART_WEIGHT), "a part while the whole is known"
    assert (found["alpha"].chunks, found["alpha"].weight, found["alpha"].idf) == (2, 1.0, idf(chunks=3, df=2))
    assert (found["absent"].chunks, found["absent"].weight) == (0, 0.0)


def test_c_req_002_parts_of_an_unknown_name_are_words_like_others(shelf: Shelf) -> None:
    shelf.add({"a": "a case of alpha"})
    found = terms(shelf, "Other.Case.Name")
    assert not any(term.rarity for term in found.values())
    assert (found["other.case.name"].weight, found["case"].weight) == (0.0, 1.0)


@pytest.mark.parametrize("query", ["moduleControllerCreate", "CVE-2024-1234", "hook.player.connected", "IL-10"])
def test_c_req_002_a_name_comes_before_what_repeats_its_parts(shelf: Shelf, query: str) -> None:
    parts = "module Controller create CVE 2024 1234 hook player connected IL 10 "
    shelf.add({"parts": parts * 20, "name": f"Somewhere {query} stands among many other words of the text."})
    assert next(iter(shelf.words(query)))[0] == "name"


def test_a_word_in_every_chunk_still_counts_a_little(shelf: Shelf) -> None:
    shelf.add({f"{n}": "alpha" for n in range(5)})
    assert len(shelf.words("alpha")) == 5
    assert all(score > 0 for _, score in shelf.words("alpha"))


def test_an_unknown_language_cannot_be_explained(shelf: Shelf) -> None:
    shelf.add({"a": "alpha"})
    shelf.bm25 = Bm25(language="klingon", k1=1.2, b=0.75)
    with pytest.raises(InvalidInput):
        shares(shelf, "alpha")
