"""Which way of searching is the cheapest, in microseconds of a machine like any other.

Only the ratios matter. They were measured with 100,000 vectors of 384 dimensions in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

#: One vector that the index gives back; with a filter its chunk is looked up as well.
_VISIT = 5.0
_VISIT_FILTERED = 12.0
#: One vector in a scan, and each of its dimensions.
_COMPARE = 0.15
_COMPARE_DIMENSION = 0.0004
#: One distance while all are put in order.
_SORT = 0.25
#: One vector that is fetched by its key; one chunk that is, to see whether it passes; one chunk of many in a row.
_FETCH = 2.0
_LOOK_UP = 4.0
_READ = 1.2
#: Vectors longer than this do not fit a page and are stored out of line; reading one of those.
_LONGEST_INLINE = 2000
_DETOAST = 15.0
#: One unit of the planner's costs.
_PLANNED = 2.5

#: What pgvector allows.
_LARGEST_EF = 1000

#: Vectors that the index is compared with for each one that it gives back.
_EVALUATED = 10
#: The index is left after so many times the comparisons that should have been enough, but not before so many.
_PATIENCE = 4
_LEAST_EVALUATED = 20_000


@dataclass(frozen=True, kw_only=True)
class FilterEstimate:
    """What is known of a filter without running it. "Late" are the vectors beside the index."""

    indexed: float
    late: float
    #: What the filter lets through of either, 0 to 1; of the indexed always something.
    share: float
    late_share: float
    #: What finding all chunks that pass costs, in the planner's units.
    cost: float

    @property
    def total(self) -> float:
        return self.indexed + self.late

    @property
    def passing(self) -> float:
        return self.indexed * self.share + self.late * self.late_share


@dataclass(frozen=True, kw_only=True)
class IndexScan:
    """How the index is searched."""

    ef_search: int
    #: Vectors taken from the index, to be ordered by their exact distance.
    candidates: int
    #: Comparisons after which the index gives up looking for more.
    most_evaluated: int
    #: Whether the filter comes first for the vectors beside the index.
    is_late_by_filter: bool = False


def index_scan(
    *, limit: int, ef_search: int, dimension: int, indexed: int, estimate: FilterEstimate | None = None
) -> IndexScan | None:
    """How to search an index with so many vectors; None where it is cheaper to do without.

    `estimate` is of the filter, None where there is none.
    """
    if estimate is None:
        scan = unfiltered(limit=limit, ef_search=ef_search)
        return None if _visited(scan) * _VISIT >= indexed * _compare(dimension) else scan
    ef = _ef(limit, ef_search)
    # With a filter the index is searched in rounds, the later ones less thoroughly.
    candidates = 3 * limit
    visited = max(ef, candidates / estimate.share)
    by_filter = estimate.late * (_READ + estimate.late_share * _fetch(dimension))
    by_distance = _distance_first(limit, dimension, estimate.late, estimate.late_share)
    without = min(_filter_first(dimension, estimate), _all_by_distance(limit, dimension, estimate))
    if visited * _VISIT_FILTERED + min(by_filter, by_distance) >= without:
        return None
    return IndexScan(
        ef_search=ef,
        candidates=candidates,
        most_evaluated=_patience(visited),
        is_late_by_filter=by_filter < by_distance,
    )


def unfiltered(*, limit: int, ef_search: int) -> IndexScan:
    """How an index is searched without a filter, where that pays."""
    ef = _ef(limit, ef_search)
    return IndexScan(ef_search=ef, candidates=2 * limit, most_evaluated=_patience(max(ef, 2 * limit)))


def _ef(limit: int, ef_search: int) -> int:
    return min(max(ef_search, 4 * limit), _LARGEST_EF)


def _visited(scan: IndexScan) -> int:
    return max(scan.ef_search, scan.candidates)


def _patience(visited: float) -> int:
    return max(int(_PATIENCE * _EVALUATED * visited), _LEAST_EVALUATED)


def is_filter_first(*, limit: int, dimension: int, estimate: FilterEstimate) -> bool:
    """Without an index: whether to find what passes and compare it, or else to compare all and see what passes."""
    return _filter_first(dimension, estimate) <= _all_by_distance(limit, dimension, estimate)


def _filter_first(dimension: int, estimate: FilterEstimate) -> float:
    return estimate.cost * _PLANNED + estimate.passing * _fetch(dimension)


def _all_by_distance(limit: int, dimension: int, estimate: FilterEstimate) -> float:
    return _distance_first(limit, dimension, estimate.total, estimate.passing / max(estimate.total, 1))


def _distance_first(limit: int, dimension: int, total: float, share: float) -> float:
    looked_up = min(total, limit / share) if share > 0 else total
    return total * (_compare(dimension) + _SORT) + looked_up * _LOOK_UP


def _fetch(dimension: int) -> float:
    return _FETCH + _compare(dimension)


def _compare(dimension: int) -> float:
    return _COMPARE + dimension * _COMPARE_DIMENSION + (_DETOAST if dimension > _LONGEST_INLINE else 0.0)
