"""Ways of merging two legs, BM25 with raised identifiers, and their table, on recordings small enough to check."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.quality import fusions
from benchmarks.quality.fusion_table import RULES, table
from benchmarks.quality.fusions import Merged
from benchmarks.quality.identifier_rule import Rule, weigh
from benchmarks.quality.recording import Asked, Indexed, Recorded
from benchmarks.quality.words import Words
from core_app.ports import AskedTerm
from search_app.fusion import reciprocal_rank_fusion
from search_app.weighing import weight_of_words
from stores_app.lexical import names
from stores_app.lexical.analysis import weights

MERGED = Merged(
    chunks=np.array([1, 2, 3]),
    dense_rank=np.array([2, 1, 0]),
    lexical_rank=np.array([1, 0, 2]),
    similarity=np.array([0.2, 0.6, 0.1]),
    bm25=np.array([9.0, 0.0, 3.0]),
)
TEXTS = [
    "turn_valve moves one lever",
    "how people use water and open a pipe",
    "how to use water when people open every pipe",
    "people and water",
]


def recorded(*queries: Asked) -> Recorded:
    return Recorded(
        name="small",
        language="english",
        k1=1.2,
        b=0.75,
        chunks=[Indexed(document=f"d{place}", text=text) for place, text in enumerate(TEXTS)],
        vectors=np.eye(len(TEXTS), dtype="<f4").tobytes(),
        queries=list(queries),
        judgements={query.id: {"d0": 1} for query in queries},
    )


def test_reciprocal_ranks_are_the_search_s_own() -> None:
    expected = reciprocal_rank_fusion([[2, 1], [1, 3]])
    assert fusions.reciprocal_ranks(MERGED) == pytest.approx([expected[1], expected[2], expected[3]])


def test_min_max_weighs_each_leg_from_0_to_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """From its worst; words from 0 where they found fewer than make a scale."""
    assert fusions.min_max(MERGED, lexical_weight=0.7) == pytest.approx([0.7, 0.3, 0.7 / 3])
    monkeypatch.setattr(fusions, "SCALED", 2)
    assert fusions.min_max(MERGED, lexical_weight=0.7) == pytest.approx([0.7, 0.3, 0.0])


def test_a_leg_that_found_nothing_adds_nothing() -> None:
    nothing = np.zeros(3, np.int64)
    alone = Merged(
        chunks=MERGED.chunks,
        dense_rank=np.array([2, 1, 3]),
        lexical_rank=nothing,
        similarity=MERGED.similarity,
        bm25=np.zeros(3),
    )
    assert fusions.min_max(alone, lexical_weight=0.5) == pytest.approx([0.1, 0.5, 0.0])
    assert list(np.argsort(-fusions.z_scores(alone, lexical_weight=0.5))) == [1, 0, 2]


def test_words_are_scored_as_bm25_says() -> None:
    words = Words(recorded())
    scores = words.scores({"valv": 1.0})
    assert words.df("valv") == 1
    norm = 1.2 * (0.25 + 0.75 * words.lengths[0] / words.lengths.mean())
    assert scores == pytest.approx([math.log(1 + 3.5 / 1.5) / (1 + norm), 0, 0, 0])


def test_a_query_without_an_identifier_is_standard_bm25_and_weighs_both_legs_alike() -> None:
    weighed = weigh(Words(recorded()), "people open water", Rule())
    assert set(weighed.terms.values()) == {1.0}
    assert weighed.lexical_weight == 0.5


@pytest.mark.parametrize("text", ["people open water", "what does turn_valve do", "turn_valve people 2024 E501 people"])
def test_the_rule_that_is_measured_is_the_one_that_is_shipped(text: str) -> None:
    words = Words(recorded())
    asked = words.asked(text)
    chunks = {term.term: words.df(term.term) for term in asked if term.term in words}
    rarities = names.rarities(asked, chunks)
    idfs = {term: words.idf(term) for term in chunks}
    least = {name: words.impacts(name).least for name in names.made_of_words(asked, rarities)}
    parts = names.parts(rarities, least=least)
    shipped = names.raised(weights(asked, chunks), idfs=idfs, rarities=rarities, parts=parts)
    terms = [
        AskedTerm(term=term, weight=weight, chunks=chunks[term], idf=idfs[term], rarity=rarities.get(term, 0.0))
        for term, weight in shipped.items()
    ]
    measured = weigh(words, text, Rule())
    assert measured.terms == pytest.approx(shipped)
    assert measured.lexical_weight == pytest.approx(weight_of_words(terms, own=None))


def test_a_rare_identifier_is_not_drowned_by_other_words() -> None:
    words = Words(recorded())
    question = "how do people use turn_valve when they open water or a pipe"
    plain = weigh(words, question, Rule(boost=1, dominance=0))
    raised = weigh(words, question, Rule())
    assert words.scores(plain.terms).argmax() != 0
    assert words.scores(raised.terms).argmax() == 0
    assert raised.lexical_weight > plain.lexical_weight > 0.5


def test_the_table_scores_legs_fusions_and_the_rule() -> None:
    query = Asked(
        id="q",
        text="how do people use turn_valve when they open water or a pipe",
        dense=[1, 0, 2, 3],
        lexical=[2, 1, 0, 3],
        bm25=[3.0, 2.0, 1.0, 0.5],
        similarities={0: 0.6, 1: 0.7, 2: 0.2, 3: 0.1},
        vector=np.array([0.6, 0.7, 0.2, 0.1], "<f4").tobytes(),
    )
    scores = table(recorded(query), rules={"rule": RULES["rule"]})
    assert scores["BM25"].mrr_at_10 == pytest.approx(1 / 3)
    assert scores["dense"].mrr_at_10 == pytest.approx(1 / 2)
    assert scores["BM25, rule"].hit_at_1 == 1
    assert scores["min-max, rule"].hit_at_1 == 1
    assert scores["min-max 0.5"].hit_at_1 == 0
