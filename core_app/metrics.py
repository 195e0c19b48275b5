"""How good a ranking is by what people judged relevant; the same definitions as trec_eval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

#: Id of a passage or document → grade; grades above 0 are relevant.
Grades = Mapping[str, float]


def ndcg(ranking: Sequence[str], grades: Grades, depth: int) -> float:
    """Sum of grade / log2(rank + 1), over that of the ideal order of all that is judged, found or not.

    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002. Something must be relevant.
    """
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:depth]
    return _discounted(max(0.0, grades.get(name, 0.0)) for name in ranking[:depth]) / _discounted(ideal)


def recall(ranking: Sequence[str], grades: Grades, depth: int) -> float:
    """The share of what is relevant that is among the first `depth`. Something must be relevant."""
    relevant = {name for name, grade in grades.items() if grade > 0}
    return len(relevant & set(ranking[:depth])) / len(relevant)


def first_relevant(ranking: Sequence[str], grades: Grades) -> int | None:
    """The rank of the first that is relevant, from 1."""
    return next((rank for rank, name in enumerate(ranking, start=1) if grades.get(name, 0) > 0), None)


def reciprocal_rank(ranking: Sequence[str], grades: Grades, depth: int) -> float:
    """1 / rank of the first that is relevant, 0 when the first `depth` hold none."""
    rank = first_relevant(ranking[:depth], grades)
    return 0.0 if rank is None else 1 / rank


def hit(ranking: Sequence[str], grades: Grades, depth: int) -> float:
    """1 when the first `depth` hold something relevant, else 0; also called success."""
    return float(first_relevant(ranking[:depth], grades) is not None)


def _discounted(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
