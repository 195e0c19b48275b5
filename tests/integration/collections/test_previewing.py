"""A filter seen before it is used (issue 7, point 4: live count and five sample rows, what missing keys do)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from collections_app import previewing
from collections_app.previewing import preview_filter
from core_app import snapshot
from core_app.errors import InvalidInput, NotFound
from core_app.where import Where, parse_where
from tests.integration.collections.test_fields import stored

pytestmark = pytest.mark.django_db

JSON = "application/json"
PREVIEW = "/api/rag/collections/docs/filters/preview"
HOSTILE = "<script>alert(1)</script>\"' \u202egnp.exe"


def where(value: dict[str, Any]) -> Where:
    found = parse_where(value)
    assert found is not None
    return found


def test_passing_chunks_are_counted_and_five_are_shown() -> None:
    stored("other", *({"n": 1} for _ in range(3)))
    stored("docs", *({"n": number} for number in range(20)))
    found = preview_filter(collection_name="docs", where=where({"n": {"$gte": 8}}))
    assert (found.count, found.is_capped, found.is_estimate, len(found.chunks)) == (12, False, False, 5)
    assert all(chunk.metadata["n"] >= 8 for chunk in found.chunks)
    assert found.meaning == '"n" is at least 8'
    nothing = preview_filter(collection_name="docs", where=where({"n": -1}))
    assert (nothing.count, nothing.chunks) == (0, [])


def test_the_count_is_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 7, numbers: filter count capped."""
    monkeypatch.setattr(previewing, "MOST_COUNTED", 10)
    stored("docs", *({"n": number} for number in range(20)))
    found = preview_filter(collection_name="docs", where=where({"n": {"$gte": 0}}))
    assert (found.count, found.is_capped) == (10, True)
    exactly = preview_filter(collection_name="docs", where=where({"n": {"$lt": 10}}))
    assert (exactly.count, exactly.is_capped) == (10, False)


def test_no_filter_is_said_to_be_everything() -> None:
    """Never silently everything."""
    stored("docs", {"n": 1}, {})
    found = preview_filter(collection_name="docs", where=None)
    assert found.is_everything
    assert (found.count, found.meaning) == (2, "No filter: every document passes.")


def test_a_filter_that_takes_too_long_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 7, numbers: under 500 ms whatever the filter; then a marked estimate from a sample."""
    monkeypatch.setattr(previewing, "COUNT_SECONDS", 0.001)
    # One pass over this many texts takes longer than a millisecond; over the sample it need not.
    collection = stored("docs", *({"n": number % 4} for number in range(3_000)))
    collection.chunks.update(text="a" * 2_000)
    pattern = {"#document": {"$regex": "(?i)(a|b|c)+z{3}q"}}
    # The sample has a second here, so that a busy machine does not fail this test.
    monkeypatch.setattr(previewing, "SAMPLE_SECONDS", 30.0)
    monkeypatch.setattr(previewing, "TOTAL_SECONDS", 30.0)
    found = preview_filter(collection_name="docs", where=where({"$or": [pattern, {"n": 1}]}))
    assert found.is_estimate
    assert not found.is_capped
    assert 600 <= found.sampled <= 1_000
    assert found.count is not None
    assert 500 <= found.count <= 1_000
    assert len(found.chunks) == 5
    assert all(chunk.metadata["n"] == 1 for chunk in found.chunks)


def test_what_even_a_sample_takes_too_long_for_is_said_not_to_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previewing, "in_time", lambda *_call, **_bounds: None)
    stored("docs", {"n": 1})
    found = preview_filter(collection_name="docs", where=where({"n": 1}))
    assert (found.count, found.is_estimate, found.chunks) == (None, True, [])
    assert found.meaning == '"n" is 1'


def test_the_bounds_together_stay_below_half_a_second() -> None:
    """Issue 7, numbers: under 500 ms at 1M rows."""
    assert previewing.COUNT_SECONDS + previewing.SAMPLE_SECONDS + previewing.TOTAL_SECONDS < 0.5


def test_where_the_collection_cannot_be_counted_in_time_the_planner_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    stored("docs", *({"n": 1} for _ in range(100)))
    answers: list[Any] = [None, snapshot.in_time, None]

    def in_time(call: Any, *, seconds: float) -> Any:
        answer = answers.pop(0)
        return None if answer is None else answer(call, seconds=30)

    monkeypatch.setattr(previewing, "in_time", in_time)
    monkeypatch.setattr(previewing, "_planned_total", lambda _collection: 5_000)
    found = preview_filter(collection_name="docs", where=where({"n": 1}))
    assert found.is_estimate
    assert found.count == 5_000
    assert answers == []


def test_what_the_planner_believes_is_a_number() -> None:
    assert previewing._planned_total(stored("docs", {"n": 1})) >= 0


def test_over_http(client: Client) -> None:
    stored("docs", {"n": 1, HOSTILE: HOSTILE}, {"n": 2})
    answer = client.post(PREVIEW, {"where": {"n": {"$ne": 2}}}, JSON)
    assert answer.status_code == 200
    body = answer.json()
    assert body.pop("documents") == [{"id": "c0", "text": "Text 0.", "metadata": {"n": 1, HOSTILE: HOSTILE}}]
    assert body.pop("missing") == [
        {
            "condition": '"n" is not 2',
            "field": "n",
            "passes": True,
            "sentence": '"n" is not 2: documents without "n" pass.',
        }
    ]
    assert body == {
        "count": 1,
        "capped": False,
        "estimated": False,
        "sampled": 0,
        "everything": False,
        "meaning": '"n" is not 2',
    }
    everything = client.post(PREVIEW, {"where": {}}, JSON).json()
    assert (everything["everything"], everything["count"]) == (True, 2)
    for body, code in [
        ({}, "invalid"),
        ({"where": {"n": {"$no": 1}}}, "invalid_where"),
        ({"where": []}, "invalid_where"),
    ]:
        refused = client.post(PREVIEW, body, JSON)
        assert (refused.status_code, refused.json()["code"]) == (400, code)
    assert client.post(PREVIEW, {"where": {HOSTILE: {"$in": [HOSTILE]}}}, JSON).json()["count"] == 1


def test_a_pattern_that_the_database_refuses_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    stored("docs", {"n": 1})
    with pytest.raises(NotFound):
        preview_filter(collection_name="nowhere", where=None)
    with pytest.raises(InvalidInput):
        parse_where({"n": {"$regex": "("}})
