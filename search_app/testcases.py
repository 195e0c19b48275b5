"""Test cases of a collection: a question, how it is searched, and which passages people judged relevant to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Prefetch, QuerySet

from access_app.audit import record
from collections_app.models import Chunk, Collection
from collections_app.selectors import get_collection
from core_app.api import reject_unstorable
from core_app.errors import Conflict, InvalidInput, NotFound
from core_app.names import is_collection_name
from core_app.where import parse_where
from search_app.asking import LARGEST_GROUP, Expansion, SearchOptions
from search_app.asking import options_of as asked_options
from search_app.judging import EXCERPT, Judged
from search_app.models import Judgement, TestCase, TestRun
from search_app.modes import FUSIONS, LEGS, MODE_NAMES, RERANKERS

LONGEST_NAME, LONGEST_QUERY = 200, 4000
#: Of one collection, and judgements of one case.
MOST_CASES, MOST_JUDGEMENTS = 1000, 1000
HIGHEST_GRADE = 3
#: Fields of a case that say what is searched for, and how.
QUESTION = ("query", "topic", "where", "settings")
_INVALID = "invalid_test_case"
_CHOICES: Mapping[str, Sequence[str]] = {
    "mode": MODE_NAMES,
    "fusion": FUSIONS,
    "legs": LEGS,
    "reranker": (*RERANKERS, "none"),
}
_SHARES = ("lexical_weight", "min_score", "diversity")
_WHOLE: Mapping[str, int] = {"top_k": 100, "group_size": LARGEST_GROUP}
#: What `settings` of a case may hold: what a search request may say, and nothing that only changes what is shown.
#: `filter` is a filter kept by name: each run uses it as it is then, and fails with a sentence where it is gone.
SETTINGS = (*_CHOICES, *_SHARES, *_WHOLE, "expand", "filter")


def list_cases(*, collection_name: str) -> QuerySet[TestCase]:
    """By name, with judgements. Raises NotFound."""
    return cases().filter(collection=get_collection(name=collection_name))


def cases() -> QuerySet[TestCase]:
    """All of them, with collection and judgements."""
    return TestCase.objects.select_related("collection").prefetch_related(
        Prefetch("judgements", queryset=Judgement.objects.order_by("-grade", "id"))
    )


def get_case(*, collection_name: str, name: str) -> TestCase:
    """One of them. Raises NotFound."""
    found = list_cases(collection_name=collection_name).filter(name=name).first()
    if found is None:
        raise NotFound(f"Collection '{collection_name}' has no test case '{name}'.", code="test_case_not_found")
    return found


def save_case(
    *,
    collection_name: str,
    name: str,
    query: str,
    judgements: Sequence[Judged],
    saved_by: str,
    topic: str = "",
    where: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    expected: float | None = None,
    replace: bool = False,
) -> TestCase:
    """Save a case with its judgements, all of them; with `replace` in the place of the one of that name.

    Raises NotFound, InvalidInput for what cannot be searched for or judged, and Conflict where the name is taken.
    """
    collection = get_collection(name=collection_name)
    name = _checked_name(name)
    _check_question(query, topic, where)
    own = checked_settings(settings or {})
    if expected is not None and not 0 <= expected <= 1:  # so not NaN either
        raise InvalidInput("expected_ndcg_at_10: use a number from 0 to 1.", code=_INVALID)
    rows = _rows(collection, judgements)
    values = {
        "query": query,
        "topic": topic,
        "where": where or None,
        "settings": own,
        "saved_by": saved_by,
        "expected": expected,
    }
    try:
        with transaction.atomic():
            return _write(collection, name, values, rows, replace=replace)
    except IntegrityError as error:
        raise _taken(name) from error


def delete_case(*, collection_name: str, name: str) -> None:
    """With its judgements and runs. Raises NotFound."""
    with transaction.atomic():
        case = get_case(collection_name=collection_name, name=name)
        record("testcase.deleted", case, before=_audited(case))
        case.delete()


def expect(*, case: TestCase, ndcg_at_10: float) -> None:
    """From now on less than this is worse than expected."""
    before = {"expected": case.expected}
    with transaction.atomic():
        kept = TestCase.objects.select_for_update().filter(pk=case.pk).first()
        if kept is None:
            raise NotFound("This test case was deleted meanwhile.", code="test_case_not_found")
        case.expected = kept.expected = ndcg_at_10
        kept.save(update_fields=["expected", "updated_at"])
        record("testcase.saved", kept, before=before, after={"expected": ndcg_at_10})


def judged_of(case: TestCase) -> list[Judged]:
    """What was judged, best first."""
    return [
        Judged(external_id=row.external_id, grade=row.grade, source=row.source, excerpt=row.excerpt)
        for row in case.judgements.all()
    ]


def options_of(case: TestCase) -> SearchOptions:
    """What a search for it is asked for. Raises InvalidInput where the language of filters has changed since."""
    return asked_options({**case.settings, "topic": case.topic, "where": case.where})


def checked_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are set. Raises InvalidInput."""
    own = {key: value for key, value in settings.items() if value is not None}
    for key, value in own.items():
        if key in _CHOICES:
            is_good, wanted = value in _CHOICES[key], f"one of {', '.join(_CHOICES[key])}"
        elif key in _SHARES:
            is_good, wanted = _is_number(value) and 0 <= value <= 1, "a number from 0 to 1"
        elif key in _WHOLE:
            is_good = _is_number(value) and isinstance(value, int) and 1 <= value <= _WHOLE[key]
            wanted = f"a whole number from 1 to {_WHOLE[key]}"
        elif key == "expand" and isinstance(value, str):
            Expansion.parse(value)
            continue
        elif key == "filter":
            is_good, wanted = isinstance(value, str) and is_collection_name(value), "the name of a kept filter"
        else:
            raise InvalidInput(f"settings: '{key[:50]}' is unknown. Known: {', '.join(SETTINGS)}.", code=_INVALID)
        if not is_good:
            raise InvalidInput(f"settings: {key} must be {wanted}.", code=_INVALID)
    return own


def source_of(chunk: Chunk) -> str:
    """What it came from; of one that was stored directly as its metadata says."""
    return chunk.document.source if chunk.document else str(chunk.metadata.get("source") or "")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise InvalidInput(f"Give the test case a name of 1 to {LONGEST_NAME} characters.", code=_INVALID)
    reject_unstorable(name, "name")
    return name


def _check_question(query: str, topic: str, where: Mapping[str, Any] | None) -> None:
    if not (query.strip() or topic.strip()) or len(query) > LONGEST_QUERY or len(topic) > LONGEST_QUERY:
        raise InvalidInput(f"Send a query of 1 to {LONGEST_QUERY} characters.", code=_INVALID)
    reject_unstorable(query, "query")
    reject_unstorable(topic, "topic")
    if where is not None:
        parse_where(where)
        reject_unstorable(where, "where")


def _rows(collection: Collection, judgements: Sequence[Judged]) -> list[Judgement]:
    """With source and beginning of what is there; what is not must bring its own."""
    if not any(judged.grade > 0 for judged in judgements):
        raise InvalidInput("Judge at least one passage as relevant: a test looks for it.", code=_INVALID)
    if len(judgements) > MOST_JUDGEMENTS:
        raise InvalidInput(f"A test case has at most {MOST_JUDGEMENTS:,} judgements.", code=_INVALID)
    reject_unstorable([[one.external_id, one.source, one.excerpt] for one in judgements], "judgements")
    ids = [judged.external_id for judged in judgements]
    if len(set(ids)) < len(ids):
        raise InvalidInput("Judge each passage once.", code=_INVALID)
    chunks = Chunk.objects.filter(collection=collection, external_id__in=ids).select_related("document")
    there = {chunk.external_id: chunk for chunk in chunks}
    return [_row(judged, there.get(judged.external_id)) for judged in judgements]


def _row(judged: Judged, chunk: Chunk | None) -> Judgement:
    if not 0 <= judged.grade <= HIGHEST_GRADE:
        raise InvalidInput(f"A grade is a whole number from 0 to {HIGHEST_GRADE}.", code=_INVALID)
    source, excerpt = judged.source, judged.excerpt
    if chunk is None and not source:
        raise InvalidInput(
            f"The collection has no passage '{judged.external_id[:100]}'. Send its source, too, if it will come back.",
            code=_INVALID,
        )
    if chunk is not None and not (source or excerpt):
        source, excerpt = source_of(chunk), chunk.text
    return Judgement(external_id=judged.external_id, source=source, excerpt=excerpt[:EXCERPT], grade=judged.grade)


def _write(
    collection: Collection, name: str, values: Mapping[str, Any], rows: Sequence[Judgement], *, replace: bool
) -> TestCase:
    case = TestCase.objects.filter(collection=collection, name=name).select_for_update().first()
    before = None if case is None else _audited(case)
    if case is None:
        if TestCase.objects.filter(collection=collection).count() >= MOST_CASES:
            raise Conflict(
                f"The collection has {MOST_CASES:,} test cases already. Delete some.", code="too_many_test_cases"
            )
        case = TestCase(collection=collection, name=name)
    elif not replace:
        raise _taken(name)
    if before is not None and any(getattr(case, key) != values[key] for key in QUESTION):
        # What was found for another question says nothing of this one.
        TestRun.objects.filter(case=case).delete()
    for key, value in values.items():
        setattr(case, key, value)
    case.save()
    Judgement.objects.filter(case=case).delete()
    for row in rows:
        row.case = case
    Judgement.objects.bulk_create(rows)
    record("testcase.saved", case, before=before, after=_audited(case))
    return case


def _audited(case: TestCase) -> dict[str, Any]:
    """What the audit log keeps of a case."""
    grades = dict(Judgement.objects.filter(case=case).values_list("external_id", "grade"))
    question = {"query": case.query, "topic": case.topic, "where": case.where, "settings": case.settings}
    return {**question, "expected": case.expected, "judgements": grades}


def _taken(name: str) -> Conflict:
    return Conflict(
        f"There is a test case '{name}' already. Choose another name, or replace it.", code="test_case_exists"
    )
