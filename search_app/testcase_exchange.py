"""Test cases as queries with judgements: `core_app.wiring` finds these by their paths."""

from __future__ import annotations

from collections.abc import Iterator

from collections_app.models import Chunk
from core_app.errors import InvalidInput
from core_app.judged import JudgedQuery
from search_app.judging import Judged
from search_app.testcases import HIGHEST_GRADE, list_cases, save_case


def save_judged_query(*, collection_name: str, query: JudgedQuery, saved_by: str) -> None:
    """Save it as a test case of its id. Judgements of chunks that are not there are left out, high grades lowered."""
    chunks = Chunk.objects.filter(collection__name=collection_name, external_id__in=list(query.grades))
    there = set(chunks.values_list("external_id", flat=True))
    judgements = [
        Judged(external_id=key, grade=min(HIGHEST_GRADE, max(0, grade)))
        for key, grade in query.grades.items()
        if key in there
    ]
    if not any(judged.grade for judged in judgements):
        raise InvalidInput("None of its relevant passages is in the collection.", code="no_relevant_passage")
    save_case(
        collection_name=collection_name,
        name=query.id,
        query=query.text,
        judgements=judgements,
        saved_by=saved_by,
        replace=True,
    )


def judged_queries(*, collection_name: str) -> Iterator[JudgedQuery]:
    """By name. Filters and settings of a case have no place in it."""
    for case in list_cases(collection_name=collection_name):
        grades = {row.external_id: row.grade for row in case.judgements.all()}
        yield JudgedQuery(id=case.name, text=case.query or case.topic, grades=grades)
