"""The benchmark of latency without its databases: what is made of times, how ways take turns, what is made up."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.latency import figures
from benchmarks.latency.figures import Series, Way, exact_nearest, grown, percentile, recall, table, turn_about
from benchmarks.latency.plot import svg
from benchmarks.latency.texts import Library, sentences
from benchmarks.latency.vectors import Embedded, normalised

SOURCE = (
    "One thing is told here.",
    "Then another thing follows it.",
    "A third one is last of all.",
    "So it ends here.",
)


class Clock:
    """Stands still until it is moved."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(figures, "time", found)
    return found


def test_percentiles_lie_between_times() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert percentile(list(range(101)), 95) == 95
    assert math.isnan(percentile([], 50))
    series = Series(times=[1.0, 2.0, 9.0])
    assert series.p50 == 2.0
    assert series.p95 == pytest.approx(8.3)


def test_recall_counts_what_of_the_exact_answer_was_found() -> None:
    assert recall([1, 2, 3, 9], [1, 2, 3, 4]) == 0.75
    assert recall([], [1]) == 0.0
    assert recall([5], []) == 1.0


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_the_exact_answer_is_that_of_sorting_everything(limit: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors, queries = (normalised(random.normal(size=(count, 6))) for count in (12, 3))
    ids = np.arange(100, 112)
    scores = queries @ vectors.T
    expected = [[int(ids[place]) for place in np.argsort(-row, kind="stable")[:limit]] for row in scores]
    assert exact_nearest(queries, vectors, ids, limit=limit) == expected


def test_ways_take_turns_and_only_the_call_is_measured(clock: Clock) -> None:
    calls: list[tuple[str, int]] = []

    @contextmanager
    def slow() -> Iterator[None]:
        clock.now += 5
        yield
        clock.now += 5

    def call(name: str, seconds: float, item: int) -> int:
        calls.append((name, item))
        clock.now += seconds
        return item * 10

    ways: dict[str, Way[int]] = {
        "a": Way(call=lambda item: call("a", 0.001, item), within=slow),
        "b": Way(call=lambda item: call("b", 0.002, item)),
    }
    found = turn_about(ways, [1, 2], warm=[0])
    assert calls == [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 2), ("b", 2)]
    assert found["a"].times == pytest.approx([1.0, 1.0])
    assert found["b"].times == pytest.approx([2.0, 2.0])
    assert found["a"].answers == found["b"].answers == [10, 20]


def test_growth_is_from_the_smallest_to_the_largest_in_any_order() -> None:
    assert grown([300, 20, 100], [12.0, 3.0, 5.0]) == 4.0


def test_a_table_has_a_line_below_its_head() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_texts_are_cut_at_full_stops_and_empty_lines() -> None:
    text = "One sentence stands here. Another e.g. one\nfollows it\n\nand a part. No."
    assert sentences(text) == ("One sentence stands here.", "Another e.g. one follows it", "and a part.")


def test_passages_are_always_the_same_and_say_what_they_are_about() -> None:
    library = Library(kept=[SOURCE, SOURCE, SOURCE], held_out=[SOURCE])
    first, second = (list(library.passages(20, subjects=2)) for _ in range(2))
    assert first == second
    assert {passage.source for passage in first} == {0, 1}
    assert len({passage.text for passage in first}) == 20
    assert min(len(passage.text.split()) for passage in first) >= 90


def test_queries_are_words_that_follow_each_other_in_what_was_held_out() -> None:
    library = Library(kept=[("Nothing of this is asked.",)], held_out=[SOURCE])
    asked = library.queries(8, words=3)
    assert len(set(asked)) == 8
    for query in asked:
        assert len(query.split()) == 3
        assert query in " ".join(SOURCE)


def test_vectors_are_near_what_they_are_made_of() -> None:
    real = Embedded.of(np.random.default_rng(1).normal(size=(50, 64)).astype(np.float32))
    sources = np.arange(50).repeat(4)
    made = real.around(sources, seed=2)
    assert made.dtype == np.float32
    assert np.linalg.norm(made, axis=1) == pytest.approx(1.0, abs=1e-5)
    own = np.einsum("ij,ij->i", made, real.vectors[sources])
    assert own.mean() > 3 * np.abs(made @ real.vectors.T).mean()
    assert not np.array_equal(made, real.around(sources, seed=3))


def test_the_picture_has_a_line_for_each_part_and_a_place_for_each_size() -> None:
    root = ET.fromstring(svg([20, 100, 300], {"words": [1.0, 2.0, 3.0], "meaning": [4.0, 5.0, 6.5]}))  # noqa: S314 - ours
    lines = [line for line in root.iter() if line.tag.endswith("polyline")]
    assert len(lines) == 2
    places = [tuple(map(float, point.split(","))) for point in lines[1].attrib["points"].split()]
    assert [x for x, _ in places] == sorted({x for x, _ in places})
    assert [y for _, y in places] == sorted({y for _, y in places}, reverse=True)
    assert {"words", "meaning", "20", "300"} <= {found.text for found in root.iter()}
