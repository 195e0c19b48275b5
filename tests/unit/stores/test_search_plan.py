"""Which way of searching is taken, for numbers of vectors and shares of filters."""

from __future__ import annotations

import pytest

from stores_app.search_plan import FilterEstimate, IndexScan, index_scan, is_filter_first

#: What the planner says of finding 5 % of 100,000 chunks by GIN, and of reading all of them.
BY_GIN, BY_READING = 5_600.0, 22_000.0


def estimate(
    share: float, *, cost: float, indexed: float = 100_000, late: float = 0, late_share: float = 0.0
) -> FilterEstimate:
    return FilterEstimate(indexed=indexed, late=late, share=share, late_share=late_share, cost=cost)


def scan(filtered: FilterEstimate | None = None, *, limit: int = 10, indexed: int = 100_000) -> IndexScan | None:
    return index_scan(limit=limit, ef_search=200, dimension=384, indexed=indexed, estimate=filtered)


def test_without_a_filter_many_vectors_are_searched_by_index_and_few_are_not() -> None:
    assert scan() == IndexScan(ef_search=200, candidates=20, most_evaluated=20_000)
    assert scan(indexed=1000) is None


@pytest.mark.parametrize(("limit", "ef_search"), [(1, 200), (50, 200), (100, 400), (250, 1000), (400, 1000)])
def test_the_search_is_more_thorough_for_more_results_as_far_as_pgvector_goes(limit: int, ef_search: int) -> None:
    found = scan(limit=limit)
    assert found is not None
    assert (found.ef_search, found.candidates) == (ef_search, 2 * limit)


def test_for_a_good_part_of_all_vectors_the_index_does_not_pay() -> None:
    assert scan(limit=20_000) is None


@pytest.mark.parametrize(
    ("share", "cost", "by_index"),
    [
        (0.5, 60_000, True),
        (0.05, BY_GIN, True),
        (0.005, 600, False),
        (0.05, BY_READING, True),
        (0.005, BY_READING, False),
    ],
)
def test_a_filter_is_left_to_the_index_where_much_passes(share: float, cost: float, by_index: bool) -> None:
    found = scan(estimate(share, cost=cost))
    assert (found is not None) is by_index


def test_the_index_gives_up_later_the_less_passes() -> None:
    much, little = scan(estimate(0.5, cost=60_000)), scan(estimate(0.02, cost=BY_READING))
    assert much is not None
    assert little is not None
    assert much.candidates == little.candidates == 30
    assert 20_000 <= much.most_evaluated < little.most_evaluated


def test_what_nobody_has_passed_yet_beside_the_index_is_not_put_in_order_for_nothing() -> None:
    none_passes = scan(estimate(0.5, cost=60_000, late=20_000, late_share=0.0))
    half_passes = scan(estimate(0.5, cost=60_000, late=20_000, late_share=0.5))
    assert none_passes is not None
    assert half_passes is not None
    assert none_passes.is_late_by_filter
    assert not half_passes.is_late_by_filter


@pytest.mark.parametrize(
    ("share", "cost", "filter_first"),
    [(0.5, 60_000, False), (0.05, BY_GIN, True), (0.005, 600, True), (0.5, BY_READING, False), (0.0, 100, True)],
)
def test_without_an_index_what_is_fewer_comes_first(share: float, cost: float, filter_first: bool) -> None:
    unindexed = estimate(0.5, cost=cost, indexed=0, late=100_000, late_share=share)
    assert is_filter_first(limit=10, dimension=384, estimate=unindexed) is filter_first


def test_nothing_at_all_is_no_error() -> None:
    nothing = estimate(0.5, cost=0, indexed=0)
    assert is_filter_first(limit=10, dimension=384, estimate=nothing) in {True, False}
    assert scan(nothing, indexed=0) is None


def test_vectors_that_do_not_fit_a_page_make_the_index_pay_sooner() -> None:
    assert index_scan(limit=10, ef_search=200, dimension=384, indexed=2000) is None
    assert index_scan(limit=10, ef_search=200, dimension=3072, indexed=2000) is not None
