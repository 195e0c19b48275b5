"""What stands in the metadata, for people who build a filter (issue 7, point 4: fields and values with type-ahead)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from collections_app import fields
from collections_app.fields import observed_fields, suggest_values
from collections_app.models import Chunk, Collection
from collections_app.services import create_collection
from core_app import snapshot
from core_app.errors import InvalidInput

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'\\ {} %s \u202egnp.exe"


def stored(name: str, *metadata: dict[str, Any]) -> Collection:
    collection = create_collection(name=name)
    Chunk.objects.bulk_create(
        Chunk(collection=collection, external_id=f"c{number}", text=f"Text {number}.", metadata=one)
        for number, one in enumerate(metadata)
    )
    return collection


def test_types_missing_keys_and_values_are_counted() -> None:
    """Issue 7, point 4: fields with the types seen, how many lack the key, the most common values."""
    stored("other", {"lang": "fr", "only": 1})
    stored(
        "docs",
        {"lang": "en", "year": 2020, "day": "2024-05-31", "tags": ["a", "b"]},
        {"lang": "en", "year": "2020", "day": "2024-06-01T10:00:00Z", "tags": ["a", 1]},
        {"lang": "de", "year": 1.5, "day": "soon", "deep": {"a": 1}, "off": None},
        {"draft": True},
    )
    found = observed_fields(collection_name="docs")
    assert (found.rows, found.is_sample, found.is_cut) == (4, False, False)
    by_name = {one.name: one for one in found.fields}
    assert [one.name for one in found.fields] == ["day", "lang", "year", "tags", "deep", "draft", "off"]
    lang = by_name["lang"]
    assert (lang.types, lang.missing) == ({"string": 3}, 1)
    assert [(one.value, one.count) for one in lang.values] == [("en", 2), ("de", 1)]
    assert by_name["year"].types == {"number": 2, "string": 1}
    assert by_name["day"].types == {"date": 2, "string": 1}
    tags = by_name["tags"]
    assert (tags.types, tags.element_types) == ({"array": 2}, {"string": 3, "number": 1})
    assert [(one.value, one.count) for one in tags.values] == [("a", 2), (1, 1), ("b", 1)]
    assert by_name["deep"].types == {"object": 1}
    assert by_name["deep"].values == ()
    assert by_name["off"].types == {"null": 1}
    assert [(one.value, one.count) for one in by_name["draft"].values] == [(True, 1)]


def test_operators_fit_the_types() -> None:
    """Issue 7, point 4: operators from the collection, out of the one table."""
    stored(
        "docs", {"n": 1, "s": "x", "d": "2024-05-31", "l": ["x"], "$odd": 1, "#document": 1, "both": 1}, {"both": "x"}
    )
    found = {one.name: one.operators for one in observed_fields(collection_name="docs").fields}
    ordered = ["$gt", "$gte", "$lt", "$lte"]
    assert found["n"] == ["$eq", "$ne", *ordered, "$in", "$nin", "$exists"]
    assert found["s"] == ["$eq", "$ne", "$in", "$nin", "$exists", "$regex", "$not_regex"]
    assert found["d"] == ["$eq", "$ne", *ordered, "$in", "$nin", "$exists", "$regex", "$not_regex"]
    assert found["l"] == ["$exists", "$contains", "$not_contains"]
    assert found["both"] == ["$eq", "$ne", *ordered, "$in", "$nin", "$exists", "$regex", "$not_regex"]
    assert found["$odd"] == found["#document"] == []


def test_a_large_collection_is_judged_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 7, point 4: from a bounded sample at large ones, and it says so."""
    monkeypatch.setattr(fields, "MOST_READ", 50)
    monkeypatch.setattr(fields, "SAMPLED", 40)
    collection = stored("docs", *({"n": number % 7, "even": number % 2 == 0} for number in range(400)))
    stored("beside", *({"other": number} for number in range(100)))
    found = observed_fields(collection_name="docs")
    assert found.is_sample
    assert 20 <= found.rows <= 40
    even = next(one for one in found.fields if one.name == "even")
    assert even.types == {"boolean": found.rows}
    assert {one.name for one in found.fields} == {"n", "even"}
    Chunk.objects.filter(collection=collection, external_id__gte="c1").delete()
    assert not observed_fields(collection_name="docs").is_sample


def test_what_takes_too_long_is_judged_by_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 7, point 4: below half a second whatever is stored."""
    stored("docs", {"a": 1}, {"a": 2})
    sizes = []

    def too_slow_for_all(call: Any, *, seconds: float) -> Any:
        sizes.append(seconds)
        return None if len(sizes) == 1 else call()

    monkeypatch.setattr(fields, "in_time", too_slow_for_all)
    found = observed_fields(collection_name="docs")
    assert (found.is_sample, len(sizes), sum(sizes) < 0.5) == (True, 2, True)
    assert [one.name for one in found.fields] == ["a"]
    monkeypatch.setattr(fields, "in_time", lambda *_call, **_bounds: None)
    with pytest.raises(InvalidInput, match="too long"):
        observed_fields(collection_name="docs")


def test_a_statement_that_takes_too_long_is_stopped_and_the_rest_goes_on() -> None:
    from django.db import connection, transaction

    def sleep() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(30)")
        return "slept"

    with transaction.atomic():
        assert snapshot.in_time(sleep, seconds=0.01) is None
        assert Collection.objects.count() == 0


def test_an_empty_collection_has_no_fields() -> None:
    create_collection(name="docs")
    found = observed_fields(collection_name="docs")
    assert (found.fields, found.rows) == ([], 0)
    assert suggest_values(collection_name="docs", key="x").values == []


def test_more_fields_than_anybody_reads_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MOST_FIELDS", 3)
    stored("docs", {"common": 1}, {"common": 1, **{f"k{number}": 1 for number in range(20)}})
    found = observed_fields(collection_name="docs")
    assert found.is_cut
    assert [one.name for one in found.fields] == ["common", "k0", "k1"]


def test_values_are_suggested_by_what_was_typed() -> None:
    """Issue 7, point 4: values of a field that begin with or contain what was typed."""
    metadata: list[dict[str, Any]] = [
        {"v": "Apple pie"},
        {"v": "apple"},
        {"v": "apple"},
        {"v": "crab Apple"},
        {"v": ["applet", 12]},
        {"v": 120},
    ]
    stored("docs", *metadata, {"v": True}, {"v": None}, {"v": {"apple": 1}}, {"w": "apple w"})
    found = suggest_values(collection_name="docs", key="v", typed="APP")
    assert [one.value for one in found.values] == ["apple", "Apple pie", "applet", "crab Apple"]
    assert not found.is_sample
    assert [one.value for one in suggest_values(collection_name="docs", key="v", typed="12").values] == [12, 120]
    assert suggest_values(collection_name="docs", key="v", typed="").values[0].value == "apple"
    assert len(suggest_values(collection_name="docs", key="v", typed="", limit=2).values) == 2
    assert suggest_values(collection_name="docs", key="v", typed="%").values == []


def test_hostile_names_and_values_come_back_as_they_are(client: Client) -> None:
    """Issue 7, tests: metadata with HTML, script and bidi tricks is text everywhere."""
    stored("docs", {HOSTILE: HOSTILE, "long": "x" * 5_000, "'; DROP TABLE x; --": ["a"]})
    answer = client.get("/api/rag/collections/docs/fields").json()
    by_name = {one["name"]: one for one in answer["fields"]}
    assert by_name[HOSTILE]["values"] == [{"value": HOSTILE, "count": 1}]
    assert by_name["long"]["types"] == {"string": 1}
    assert by_name["long"]["values"] == []
    values = client.get("/api/rag/collections/docs/fields/values", {"field": HOSTILE, "typed": "<SCRIPT"}).json()
    assert values == {"field": HOSTILE, "values": [{"value": HOSTILE, "count": 1}], "sampled": False}
    assert client.get("/api/rag/collections/docs/fields/values").json()["code"] == "field_required"
