"""Calibrated fusion (README 8): scores of both legs on scales from 0 to 1, weighed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_app.ports import DenseHit, LexicalHit
from search_app import ranking
from search_app.findings import Findings
from search_app.fusion import Calibrated, Scale, calibrated_fusion
from search_app.modes import Fusion
from search_app.ranking import Ranking, ranked
from search_app.tuning import Tuning


def fused(
    similarities: Mapping[int, float], lexical: Mapping[int, float], weight: float, *, order: list[int] | None = None
) -> dict[int, Calibrated]:
    return calibrated_fusion(
        list(dict.fromkeys([*similarities, *lexical])) if order is None else order,
        similarities=similarities,
        lexical=lexical,
        dense_scale=Scale.of(list(similarities.values())),
        lexical_scale=Scale.of(list(lexical.values())),
        lexical_weight=weight,
    )


class TestScale:
    def test_the_worst_is_0_and_the_best_is_1(self) -> None:
        scale = Scale.of([2.0, 5.0, 3.0])
        assert [scale.normalised(score) for score in (2.0, 3.5, 5.0)] == [0.0, 0.5, 1.0]

    def test_a_floor_takes_the_place_of_the_worst(self) -> None:
        assert Scale.of([2.0, 4.0], floor=0.0).normalised(2.0) == 0.5
        assert Scale.of([], floor=0.0) == Scale(low=0.0, high=0.0)

    def test_what_is_beyond_the_scale_is_at_its_ends(self) -> None:
        scale = Scale(low=1.0, high=2.0)
        assert (scale.normalised(0.5), scale.normalised(3.0)) == (0.0, 1.0)

    def test_what_a_leg_does_not_know_is_0(self) -> None:
        assert Scale(low=-1.0, high=2.0).normalised(None) == 0.0
        assert Scale.of([]).normalised(None) == 0.0

    @pytest.mark.parametrize("scores", [[3.0], [3.0, 3.0, 3.0]])
    def test_where_all_are_alike_all_are_the_best(self, scores: list[float]) -> None:
        scale = Scale.of(scores)
        assert (scale.normalised(3.0), scale.normalised(2.9)) == (1.0, 0.0)
        assert Scale.of(scores, floor=0.0).normalised(3.0) == 1.0


def test_readme_8_the_formula() -> None:
    """score = (1 - w) dense' + w lexical', both from 0 to 1."""
    found = fused({1: 0.9, 2: 0.5, 3: 0.7}, {2: 8.0, 3: 4.0, 4: 6.0}, 0.25)
    assert astuple(found[1]) == pytest.approx((1.0, 0.0, 0.75))
    assert astuple(found[2]) == pytest.approx((0.0, 1.0, 0.25))
    assert astuple(found[3]) == pytest.approx((0.5, 0.0, 0.375))
    assert astuple(found[4]) == pytest.approx((0.0, 0.5, 0.125))
    assert list(found) == [1, 3, 2, 4]


def test_readme_8_ties_stay_in_the_order_given() -> None:
    alike = dict.fromkeys([5, 2, 9], 0.5)
    assert list(fused(alike, alike, 0.5, order=[9, 5, 2])) == [9, 5, 2]
    assert list(fused(alike, {}, 0.5, order=[2, 9, 5])) == [2, 9, 5]


def test_one_hit_and_none() -> None:
    assert fused({}, {}, 0.5) == {}
    assert fused({7: 0.2}, {7: 3.0}, 0.5)[7].score == 1.0
    assert fused({7: 0.2}, {}, 0.5)[7].score == 0.5


SCORES = st.dictionaries(st.integers(1, 20), st.integers(0, 50).map(float), min_size=1, max_size=12)


def best_first(scores: Mapping[int, float]) -> list[int]:
    return sorted(scores, key=lambda identifier: (-scores[identifier], identifier))


@given(SCORES, SCORES)
def test_readme_8_all_the_weight_on_one_leg_is_its_order(
    similarities: dict[int, float], words: dict[int, float]
) -> None:
    everything = sorted({*similarities, *words})
    for weight, leg in ((0.0, similarities), (1.0, words)):
        found = [pk for pk in fused(similarities, words, weight, order=everything) if pk in leg]
        assert found == best_first(leg)


@given(SCORES, SCORES, st.integers(0, 10))
def test_readme_8_the_formula_holds_for_any_scores(
    similarities: dict[int, float], words: dict[int, float], tenths: int
) -> None:
    def share(score: float | None, leg: dict[int, float]) -> Fraction:
        low, high = min(leg.values()), max(leg.values())
        if score is None:
            return Fraction(0)
        return Fraction(1) if high == low else Fraction(score - low) / Fraction(high - low)

    found = fused(similarities, words, tenths / 10)
    weight = Fraction(tenths, 10)
    for pk, calibrated in found.items():
        expected = (1 - weight) * share(similarities.get(pk), similarities) + weight * share(words.get(pk), words)
        assert calibrated.score == pytest.approx(float(expected), abs=1e-12)
        assert 0.0 <= calibrated.score <= 1.0
    scores = [calibrated.score for calibrated in found.values()]
    assert scores == sorted(scores, reverse=True)
    assert set(found) == {*similarities, *words}


def order(found: Findings, *, fusion: Fusion = "calibrated", weight: float | None = None, scaled: int = 10) -> Ranking:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "SCALED", scaled)
        return ranked(found, tuning=Tuning(mode="balanced", fusion=fusion, lexical_weight=weight))


def findings(similarities: Mapping[int, float], words: Mapping[int, float], dense: int = 2) -> Findings:
    """The first `dense` of the similarities are what meaning found, the others were computed afterwards."""
    return Findings(
        dense=[DenseHit(chunk_id=pk, distance=1 - score) for pk, score in list(similarities.items())[:dense]],
        lexical=[LexicalHit(chunk_id=pk, score=score) for pk, score in words.items()],
        similarities=dict(similarities),
    )


def test_b4_a_fusion_by_ranks_is_the_formula_of_b4() -> None:
    found = order(findings({1: 0.9, 2: 0.8}, {2: 5.0, 3: 4.0}), fusion="rrf")
    assert found.fusion == "rrf"
    assert found.scores == found.rrf == {2: 1 / 62 + 1 / 61, 1: 1 / 61, 3: 1 / 62}
    assert found.calibrated == {}


@pytest.mark.parametrize(
    ("similarities", "words"), [({1: 0.9, 2: 0.8}, {}), ({}, {2: 5.0, 3: 4.0}), ({}, {}), ({2: 0.1}, {2: 5.0, 3: 4.0})]
)
def test_b3_5_one_leg_alone_keeps_its_order(similarities: dict[int, float], words: dict[int, float]) -> None:
    """The last found nothing by meaning; the similarity was computed."""
    found = order(findings(similarities, words, dense=0 if words else 2))
    assert found.fusion == "rrf"
    assert list(found.scores) == list(words or similarities)


def test_readme_8_the_score_of_ranks_is_there_beside_the_calibrated_one() -> None:
    """B4.2, B5.4"""
    found = order(findings({1: 0.9, 2: 0.8, 3: 0.1}, {2: 5.0, 3: 4.0}), weight=0.5)
    assert found.fusion == "calibrated"
    assert dict(found.rrf) == {2: 1 / 62 + 1 / 61, 1: 1 / 61, 3: 1 / 62}
    assert found.lexical_weight == 0.5
    # Of two found by meaning the worse is 0; what words found, is from 0 where they found all there is.
    assert found.calibrated[2] == Calibrated(dense=0.0, lexical=1.0, score=0.5)
    assert found.calibrated[3] == Calibrated(dense=0.0, lexical=0.8, score=0.4)
    assert list(found.scores) == [2, 1, 3], "ties as the ranks have it"


def test_a_leg_that_found_as_many_as_it_was_asked_for_begins_at_its_worst() -> None:
    found = order(findings({1: 0.9, 2: 0.8}, {2: 5.0, 3: 4.0}), weight=0.5, scaled=2)
    assert found.calibrated[3].lexical == 0.0


def test_the_order_does_not_depend_on_how_deep_the_legs_looked() -> None:
    similarities = {pk: 1 - pk / 300 for pk in range(1, 201)}
    words = {201 - pk: 20 - pk / 20 for pk in range(1, 201)}
    deep = order(findings(similarities, words, dense=200), weight=0.5, scaled=100)
    first = {pk: words[pk] for pk in list(words)[:100]}
    flat = order(findings(similarities, first, dense=100), weight=0.5, scaled=100)
    assert list(deep.scores)[:100] == list(flat.scores)[:100]
    assert {pk: deep.scores[pk] for pk in list(deep.scores)[:100]} == {
        pk: flat.scores[pk] for pk in list(flat.scores)[:100]
    }
