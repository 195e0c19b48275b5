"""Test cases as lines of JSON, to be kept beside a configuration or carried to another server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from core_app.errors import InvalidInput
from search_app.judging import Judged
from search_app.models import TestCase
from search_app.testcases import list_cases, save_case

_CODE = "invalid_test_case"
_KEYS = {"name", "query", "topic", "where", "settings", "expected_ndcg_at_10", "judgements"}


def export_cases(*, collection_name: str) -> Iterator[str]:
    """A line for each, by name. Raises NotFound."""
    for case in list_cases(collection_name=collection_name):
        yield json.dumps(as_row(case), ensure_ascii=False)


def as_row(case: TestCase) -> dict[str, Any]:
    """A case with its judgements, as it is exported."""
    return {
        "name": case.name,
        "query": case.query,
        "topic": case.topic,
        "where": case.where,
        "settings": case.settings,
        "expected_ndcg_at_10": case.expected,
        "judgements": [
            {"id": row.external_id, "grade": row.grade, "source": row.source, "excerpt": row.excerpt}
            for row in case.judgements.all()
        ],
    }


def import_cases(
    *, collection_name: str, lines: Iterable[str], saved_by: str, replace: bool = False
) -> Iterator[TestCase]:
    """Save them, each by itself. Raises InvalidInput with the number of the line that is wrong, and Conflict."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _saved(collection_name, _row(line), saved_by, replace=replace)
        except InvalidInput as error:
            raise InvalidInput(f"Line {number}: {error.detail}", code=error.code) from None


def judged(rows: Any) -> list[Judged]:
    """Judgements as JSON has them. Raises InvalidInput."""
    if not isinstance(rows, list):
        raise InvalidInput("judgements: send a list.", code=_CODE)
    return [_judged(row) for row in rows]


def _row(line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidInput("this is not JSON.", code=_CODE) from None
    if not isinstance(row, dict) or set(row) - _KEYS or not isinstance(row.get("name"), str):
        raise InvalidInput(f"write an object with a name and of {', '.join(sorted(_KEYS))} only.", code=_CODE)
    texts = [row.get("query"), row.get("topic", "")]
    objects = [row.get("where") or {}, row.get("settings") or {}]
    expected = row.get("expected_ndcg_at_10")
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(one, dict) for one in objects):
        raise InvalidInput("query and topic are texts, where and settings objects.", code=_CODE)
    if expected is not None and (isinstance(expected, bool) or not isinstance(expected, int | float)):
        raise InvalidInput("expected_ndcg_at_10 is a number from 0 to 1.", code=_CODE)
    return row


def _saved(collection_name: str, row: Mapping[str, Any], saved_by: str, *, replace: bool) -> TestCase:
    return save_case(
        collection_name=collection_name,
        name=row["name"],
        query=row["query"],
        topic=row.get("topic", ""),
        where=row.get("where"),
        settings=row.get("settings"),
        expected=row.get("expected_ndcg_at_10"),
        judgements=judged(row.get("judgements", [])),
        saved_by=saved_by,
        replace=replace,
    )


def _judged(row: Any) -> Judged:
    if not isinstance(row, dict):
        raise InvalidInput("judgements: write objects with id and grade.", code=_CODE)
    texts = {"external_id": row.get("id"), "source": row.get("source", ""), "excerpt": row.get("excerpt", "")}
    grade = row.get("grade")
    is_good = isinstance(grade, int) and not isinstance(grade, bool)
    if not is_good or not all(isinstance(text, str) for text in texts.values()):
        raise InvalidInput("judgements: id, source and excerpt are texts, grade a whole number.", code=_CODE)
    return Judged(grade=int(grade), **texts)  # type: ignore[arg-type]
