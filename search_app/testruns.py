"""Running test cases: what each finds now, and whether that is better or worse than before."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db import connection

from collections_app.models import Chunk
from core_app.errors import InvalidInput, RagsiteError
from core_app.sql import statement
from search_app.asking import DEFAULT_LIMIT
from search_app.judging import DEPTH, Judged, Result, holds, matched, worth
from search_app.models import TestCase, TestRun
from search_app.results import Hit, SearchResult
from search_app.services import search
from search_app.testcases import get_case, judged_of, list_cases, options_of, source_of

logger = logging.getLogger(__name__)

#: One request runs so many; the command line runs all.
MOST_IN_REQUEST = 25
#: Of one case that are kept.
MOST_RUNS = 100
#: Judged passages that a report names as lost.
MOST_TOLD = 5
_ALIKE = 1e-9

Change = Literal["better", "worse", "same", "first", "failed"]
CHANGES: tuple[Change, ...] = ("better", "worse", "same", "first", "failed")


@dataclass(frozen=True, kw_only=True)
class FoundPassage:
    """One result of a run, with what was judged of it."""

    hit: Hit
    judged: Judged | None


@dataclass(frozen=True, kw_only=True)
class RanPassage:
    """One result of a run that was kept; its chunk is null where it is gone."""

    result: Result
    chunk: Chunk | None
    judged: Judged | None


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """One case that has just been run."""

    case: TestCase
    run: TestRun
    #: The run before it.
    before: TestRun | None
    change: Change
    #: Whether it finds less than was accepted.
    is_below_expected: bool
    #: Why it failed, or which judged passages are lost to it where it is worse; in sentences.
    detail: str = ""
    passages: Sequence[FoundPassage] = ()


def run_case(*, case: TestCase, ran_by: str) -> RunReport:
    """Search as the case says, keep what it is worth by its judgements, and compare that with the run before."""
    before = case.runs.order_by("-ran_at", "-id").first()
    judgements = judged_of(case)
    most = int(case.settings.get("top_k") or DEFAULT_LIMIT)
    try:
        options = {**options_of(case), "top_k": max(most, DEPTH), "patient": True, "asked_by": ran_by, "is_test": True}
        found = search(collection_name=case.collection.name, query=case.query, **options)  # type: ignore[arg-type]
    except RagsiteError as error:
        run = _kept(TestRun(case=case, ran_by=ran_by, error=error.code[:64]))
        return RunReport(
            case=case, run=run, before=before, change="failed", is_below_expected=True, detail=error.detail
        )
    told = matched([_result(hit) for hit in found.hits], judgements, standing=_standing(case, judgements))
    run = _kept(_run(case, ran_by, found, told, judgements, most))
    how = change(before, run)
    is_below = case.expected is not None and (run.ndcg_at_10 or 0.0) < case.expected - _ALIKE
    return RunReport(
        case=case,
        run=run,
        before=before,
        change=how,
        is_below_expected=is_below,
        detail=" ".join(losses_of(case=case, judgements=judgements)[:MOST_TOLD]) if how == "worse" or is_below else "",
        passages=[FoundPassage(hit=hit, judged=one) for hit, one in zip(found.hits, told, strict=True)],
    )


def run_cases(
    *, collection_name: str, ran_by: str, names: Sequence[str] | None = None, most: int | None = MOST_IN_REQUEST
) -> Iterator[RunReport]:
    """Those of these names, or all; one after the other. Raises NotFound, and InvalidInput for more than `most`."""
    if names is None:
        chosen = list(list_cases(collection_name=collection_name)[: None if most is None else most + 1])
    else:
        wanted = list(dict.fromkeys(names))[: None if most is None else most + 1]
        chosen = [get_case(collection_name=collection_name, name=name) for name in wanted]
    if most is not None and len(chosen) > most:
        raise InvalidInput(
            f"One request runs at most {most} test cases. Name some, or run all with 'manage.py testcases run'.",
            code="too_many_test_cases",
        )
    return (run_case(case=case, ran_by=ran_by) for case in chosen)


def change(before: TestRun | None, now: TestRun) -> Change:
    """By nDCG@10; where that is the same, by the rank of the first that is relevant."""
    if now.error or now.ndcg_at_10 is None:
        return "failed"
    if before is None or before.ndcg_at_10 is None:
        return "first"
    if abs(now.ndcg_at_10 - before.ndcg_at_10) > _ALIKE:
        return "better" if now.ndcg_at_10 > before.ndcg_at_10 else "worse"
    ranks = [float("inf") if run.first_rank is None else run.first_rank for run in (before, now)]
    if ranks[0] == ranks[1]:
        return "same"
    return "better" if ranks[1] < ranks[0] else "worse"


def latest_runs(*, case_ids: Sequence[int]) -> Mapping[int, Sequence[TestRun]]:
    """The last two of each case, the newest first."""
    found: dict[int, list[TestRun]] = {}
    for run in TestRun.objects.raw(statement("search_app", "latest_test_runs"), {"case_ids": list(case_ids)}):
        found.setdefault(run.case_id, []).append(run)
    return found


def results_of(*, run: TestRun) -> list[RanPassage]:
    """What a run found, as far as it is still there, with what is judged of it now."""
    case = run.case
    chunks = {
        chunk.external_id: chunk
        for chunk in Chunk.objects.filter(collection_id=case.collection_id, external_id__in=run.results).select_related(
            "document"
        )
    }
    there = [chunks.get(external_id) for external_id in run.results]
    results = [
        Result(
            external_id=external_id,
            source="" if chunk is None else source_of(chunk),
            text="" if chunk is None else chunk.text,
        )
        for external_id, chunk in zip(run.results, there, strict=True)
    ]
    judgements = judged_of(case)
    told = matched(results, judgements, standing=_standing(case, judgements))
    return [
        RanPassage(result=result, chunk=chunk, judged=judged)
        for result, chunk, judged in zip(results, there, told, strict=True)
    ]


def judged_hits(*, case: TestCase, lists: Sequence[Sequence[Hit]]) -> list[list[Judged | None]]:
    """For each hit of some searches what is judged of it, as a run of the case knows it."""
    judgements = judged_of(case)
    own = case.collection.name
    standing = {hit.id: _result(hit).text for hits in lists for hit in hits if hit.collection == own}
    # What was found need not be read again.
    others = [one for one in judgements if one.external_id not in standing]
    standing |= _standing(case, others) if others else {}
    return [matched([_result(hit) for hit in hits], judgements, standing=standing) for hits in lists]


def losses_of(*, case: TestCase, judgements: Sequence[Judged] | None = None) -> list[str]:
    """What no run can find as it was judged: sentences about relevant passages disabled, cut anew or deleted."""
    relevant = [one for one in (judged_of(case) if judgements is None else judgements) if one.grade > 0]
    rows = Chunk.objects.filter(collection_id=case.collection_id, external_id__in=[one.external_id for one in relevant])
    there = {row[0]: row[1:] for row in rows.values_list("external_id", "text", "disabled_at")}
    return [sentence for one in relevant if (sentence := _loss(one, there.get(one.external_id)))]


def _loss(judged: Judged, there: tuple[str, datetime | None] | None) -> str:
    name = judged.source or judged.external_id
    if there is None:
        return f"A relevant passage of '{name}' is not there any more: it was deleted, or cut anew."
    if there[1] is not None:
        return f"A relevant passage of '{name}' is disabled: no search finds it."
    if judged.excerpt and not holds(there[0], judged.excerpt):
        return f"A relevant passage of '{name}' has another text now: it was edited, or cut anew."
    return ""


def _standing(case: TestCase, judgements: Sequence[Judged]) -> dict[str, str]:
    """Texts of those passages that were judged and are still there."""
    ids = [judged.external_id for judged in judgements]
    rows = Chunk.objects.filter(collection_id=case.collection_id, external_id__in=ids)
    return dict(rows.values_list("external_id", "text"))


def _result(hit: Hit) -> Result:
    return Result(external_id=hit.id, source=str(hit.metadata["source"] or ""), text=hit.matched or hit.content)


def _run(
    case: TestCase,
    ran_by: str,
    found: SearchResult,
    told: Sequence[Judged | None],
    judgements: Sequence[Judged],
    most: int,
) -> TestRun:
    about = worth(told, judgements, most=most)
    return TestRun(
        case=case,
        ran_by=ran_by,
        ndcg_at_10=about.ndcg_at_10,
        hit=about.hit,
        first_rank=about.first_rank,
        mode=found.mode,
        fusion=found.fusion,
        reranker=found.reranker,
        results=[hit.id for hit in found.hits[:DEPTH]],
        warnings=[warning.code for warning in found.warnings],
    )


def _kept(run: TestRun) -> TestRun:
    run.save()
    with connection.cursor() as cursor:
        cursor.execute(statement("search_app", "forget_test_runs"), {"case_id": run.case_id, "most": MOST_RUNS})
    return run
