"""Which judgement is about which result, and what a ranking is worth by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from core_app import metrics

#: As the field measures: how good the order of the first ten is.
DEPTH = 10
#: Characters of a passage's beginning that are kept, and that must be found again to know it by.
EXCERPT, _SIGN = 400, 80


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What somebody says of a passage; above 0 it is relevant."""

    external_id: str
    grade: int
    source: str = ""
    excerpt: str = ""


@dataclass(frozen=True, kw_only=True)
class Result:
    """A passage that a search found."""

    external_id: str
    source: str
    text: str


Meaning = Callable[[Result], bool]


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What a ranking is worth."""

    #: Of the first that is relevant, from 1.
    first_rank: int | None
    #: Whether something relevant is among the first so many that were asked for.
    hit: bool
    ndcg_at_10: float


def matched(
    results: Sequence[Result], judgements: Sequence[Judged], *, standing: Mapping[str, str]
) -> list[Judged | None]:
    """For each result the judgement about it; `standing` are the texts of those judged passages that are still there.

    A passage is known by its id while its text is what was judged. Where its source was cut anew, the passage of that
    source is meant that holds its beginning; where that is gone too, and it was relevant, the first of its source.
    """
    found: list[Judged | None] = [None] * len(results)
    doubtful: list[Judged] = []
    for judged in judgements:
        text = standing.get(judged.external_id)
        if text is not None and (not judged.excerpt or holds(text, judged.excerpt)):
            _take(found, results, judged, _has_id(judged.external_id))
        else:
            doubtful.append(judged)
    for judged in doubtful:
        _take_doubtful(found, results, judged, is_there=judged.external_id in standing)
    return found


def holds(text: str, excerpt: str) -> bool:
    """Whether a text has the beginning of an excerpt, whatever the spaces."""
    sign = " ".join(excerpt.split())[:_SIGN]
    return bool(sign) and sign in " ".join(text.split())


def worth(found: Sequence[Judged | None], judgements: Sequence[Judged], *, most: int) -> Worth:
    """Of results in their order; at least one judgement must be above 0."""
    grades = {judged.external_id: float(judged.grade) for judged in judgements}
    # What nobody has judged counts as not relevant, and no two of it are the same.
    ranking = [f"\0{place}" if judged is None else judged.external_id for place, judged in enumerate(found)]
    return Worth(
        first_rank=metrics.first_relevant(ranking, grades),
        hit=bool(metrics.hit(ranking, grades, most)),
        ndcg_at_10=metrics.ndcg(ranking, grades, DEPTH),
    )


def _take(found: list[Judged | None], results: Sequence[Result], judged: Judged, meant: Meaning) -> bool:
    for place, result in enumerate(results):
        if found[place] is None and meant(result):
            found[place] = judged
            return True
    return False


def _has_id(external_id: str) -> Meaning:
    return lambda result: result.external_id == external_id


def _take_doubtful(found: list[Judged | None], results: Sequence[Result], judged: Judged, *, is_there: bool) -> None:
    def same_text(result: Result) -> bool:
        return result.source == judged.source and holds(result.text, judged.excerpt)

    if _take(found, results, judged, same_text):
        return
    if is_there:
        _take(found, results, judged, _has_id(judged.external_id))
    elif judged.grade > 0 and judged.source:
        _take(found, results, judged, lambda result: result.source == judged.source)
