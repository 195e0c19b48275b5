"""Filters that a collection keeps (issue 7, point 4: named filters, usable in the API as `filter: NAME`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from access_app.services import create_key
from collections_app.filters import delete_filter, get_filter, list_filters, rename_filter, save_filter
from collections_app.models import NamedFilter
from collections_app.services import create_collection, delete_collection
from core_app.errors import Conflict, InvalidInput, NotFound
from ingest_app.services import empty_collection
from tests.integration.collections.test_fields import stored

pytestmark = pytest.mark.django_db

JSON = "application/json"
FILTERS = "/api/rag/collections/docs/filters"
HOSTILE = "\"'><img src=x> \u202egnp"


def keep(name: str, where: Any, collection: str = "docs") -> NamedFilter:
    return save_filter(collection_name=collection, name=name, where=where)[0]


def test_a_filter_is_kept_shown_renamed_and_forgotten() -> None:
    create_collection(name="docs")
    row, is_new = save_filter(collection_name="docs", name="English", where={"lang": "en"}, description="For tests")
    assert (is_new, row.where, row.description) == (True, {"lang": "en"}, "For tests")
    row, is_new = save_filter(collection_name="docs", name="English", where={"lang": {"$eq": "en"}})
    assert (is_new, row.where, row.description) == (False, {"lang": {"$eq": "en"}}, "For tests")
    keep("english", {"lang": "EN"})
    assert [one.name for one in list_filters(collection_name="docs")] == ["English", "english"]
    rename_filter(collection_name="docs", name="english", new_name="shouted")
    assert get_filter(collection_name="docs", name="shouted").where == {"lang": "EN"}
    with pytest.raises(Conflict, match="Choose another name"):
        rename_filter(collection_name="docs", name="shouted", new_name="English")
    delete_filter(collection_name="docs", name="shouted")
    with pytest.raises(NotFound, match=r"Filter 'shouted' not found in collection 'docs'. Known there: 'English'."):
        get_filter(collection_name="docs", name="shouted")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\nb", "a\x00", "\ud800", "x" * 513, "preview"])
def test_names_follow_the_rule_of_collections(name: str) -> None:
    """Point 4: case and characters of names like collection names."""
    create_collection(name="docs")
    with pytest.raises(InvalidInput) as caught:
        keep(name, {"lang": "en"})
    assert caught.value.code == "invalid_name"
    keep("fine", {"lang": "en"})
    with pytest.raises(InvalidInput):
        rename_filter(collection_name="docs", name="fine", new_name=name)
    with pytest.raises(NotFound):
        get_filter(collection_name="docs", name=name)


@pytest.mark.parametrize("name", ["a b", "Ä ö", "100%", HOSTILE, "x" * 512, "a?b#c"])
def test_unusual_names_work_at_every_address(client: Client, name: str) -> None:
    from urllib.parse import quote

    stored("docs", {"lang": "en"}, {"lang": "de"})
    place = f"{FILTERS}/{quote(name, safe='')}"
    assert client.put(place, {"where": {"lang": "en"}}, JSON).status_code == 201
    assert client.get(place).json()["name"] == name
    assert client.get("/collections/docs/documents", {"filter": name}).json()["total"] == 1
    assert client.delete(place).json() == {"status": "deleted", "filter": name}


@pytest.mark.parametrize("where", [{}, None, [], "x", {"lang": {"$no": 1}}, {"lang": None}])
def test_what_is_no_filter_is_not_kept(where: Any) -> None:
    """Empty = refused; never silently everything."""
    create_collection(name="docs")
    with pytest.raises(InvalidInput):
        keep("x", where)
    assert not NamedFilter.objects.exists()


def test_a_collection_keeps_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collections_app.filters.MOST_FILTERS", 2)
    create_collection(name="docs")
    keep("a", {"n": 1})
    keep("b", {"n": 1})
    keep("b", {"n": 2})
    with pytest.raises(InvalidInput, match="Delete one first"):
        keep("c", {"n": 1})


def test_emptying_keeps_filters_and_deleting_takes_them_along() -> None:
    """Point 4: kept when the collection is emptied, gone with the collection."""
    stored("docs", {"lang": "en"})
    stored("other", {"lang": "en"})
    keep("en", {"lang": "en"})
    keep("en", {"lang": "en"}, "other")
    empty_collection(name="docs", seconds=20)
    assert [one.name for one in list_filters(collection_name="docs")] == ["en"]
    delete_collection(name="docs")
    assert [row.collection.name for row in NamedFilter.objects.all()] == ["other"]


def test_over_http(client: Client) -> None:
    stored("docs", {"lang": "en"}, {"lang": "de"}, {})
    made = client.put(f"{FILTERS}/not-en", {"where": {"lang": {"$ne": "en"}}, "description": "All others"}, JSON)
    assert made.status_code == 201
    body = made.json()
    assert (body["name"], body["where"], body["description"]) == ("not-en", {"lang": {"$ne": "en"}}, "All others")
    assert body["meaning"] == '"lang" is not "en"'
    assert [one["passes"] for one in body["missing"]] == [True]
    assert client.put(f"{FILTERS}/not-en", {"where": {"lang": "en"}}, JSON).status_code == 200
    listed = client.get(FILTERS).json()
    assert (listed["count"], listed["filters"][0]["where"]) == (1, {"lang": "en"})
    for body, code in [
        ({"where": {}}, "empty_filter"),
        ({}, "invalid"),
        ({"where": {"a": {"$no": 1}}}, "invalid_where"),
        ({"where": {"a": 1}, "more": 1}, "invalid"),
    ]:
        refused = client.put(f"{FILTERS}/x", body, JSON)
        assert (refused.status_code, refused.json()["code"]) == (400, code), body
    missing = client.get(f"{FILTERS}/x")
    assert (missing.status_code, missing.json()["code"]) == (404, "filter_not_found")
    assert client.delete(f"{FILTERS}/x").status_code == 404


def test_documents_are_listed_by_the_name_of_a_filter(client: Client) -> None:
    stored("docs", *({"lang": lang, "n": n} for n, lang in enumerate(["en", "en", "de"])))
    keep("en", {"lang": "en"})
    documents = "/collections/docs/documents"
    assert client.get(documents, {"filter": "en"}).json()["total"] == 2
    both = client.get(documents, {"filter": "en", "where": '{"n": {"$gt": 0}}'}).json()
    assert [one["id"] for one in both["documents"]] == ["c1"]
    unknown = client.get(documents, {"filter": "fr"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "filter_not_found")
    assert "Known there: 'en'." in unknown.json()["detail"]


def test_documents_are_deleted_by_the_name_of_a_filter(client: Client) -> None:
    stored("docs", *({"lang": lang, "n": n} for n, lang in enumerate(["en", "en", "de"])))
    keep("en", {"lang": "en"})

    def delete(body: dict[str, Any]) -> Any:
        return client.generic("DELETE", "/collections/docs/documents", json.dumps(body), JSON)

    assert delete({"filter": "fr"}).status_code == 404
    assert delete({"filter": "en", "ids": ["c0"]}).json()["code"] == "nothing_named"
    assert delete({"filter": "en", "where": {}}).json()["code"] == "nothing_named"
    assert delete({"filter": ""}).status_code == 400
    assert client.get("/collections/docs/documents").json()["total"] == 3
    assert delete({"filter": "en", "where": {"n": 0}}).json()["count_deleted"] == 1
    assert delete({"filter": "en"}).json()["count_deleted"] == 1
    assert client.get("/collections/docs/documents").json()["total"] == 1


CALLS: list[Callable[[Client, dict[str, Any]], Any]] = [
    lambda client, more: client.post("/api/rag/collections/docs/search", {"query": "text", **more}, JSON),
    lambda client, more: client.post("/api/rag/search", {"query": "text", "collections": ["docs"], **more}, JSON),
    lambda client, more: client.get("/knowledge/docs/search", {"q": "text", **more}),
    lambda client, more: client.post("/collections/docs/query", {"query_embedding": [1.0, 2.0, 3.0], **more}, JSON),
]


@pytest.mark.parametrize("call", CALLS)
def test_every_search_refuses_a_name_that_is_not_known(
    client: Client, call: Callable[[Client, dict[str, Any]], Any]
) -> None:
    stored("docs", {"lang": "en"})
    keep("one", {"lang": "en"})
    for name in ("two", "a/b", "x" * 512):
        refused = call(client, {"filter": name})
        assert (refused.status_code, refused.json()["code"]) == (404, "filter_not_found")
        assert "'one'" in refused.json()["detail"]
    assert call(client, {"filter": "one"}).status_code == 200
    assert call(client, {"filter": ""}).status_code in {400, 404}


def test_rest_renames_a_filter(client: Client) -> None:
    create_collection(name="docs")
    keep("a", {"n": 1})
    keep("b", {"n": 2})
    answer = client.patch(f"{FILTERS}/a", {"name": "c"}, JSON)
    assert (answer.status_code, answer.json()["name"], answer.json()["where"]) == (200, "c", {"n": 1})
    assert client.get(f"{FILTERS}/a").status_code == 404
    for body, status, code in [
        ({"name": "b"}, 409, "filter_exists"),
        ({"name": "x/y"}, 400, "invalid_name"),
        ({}, 400, "invalid"),
        ({"name": "d", "where": {}}, 400, "invalid"),
    ]:
        refused = client.patch(f"{FILTERS}/c", body, JSON)
        assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert client.patch(f"{FILTERS}/gone", {"name": "d"}, JSON).status_code == 404


def test_names_of_filters_are_told_to_those_who_may_list_them() -> None:
    stored("docs", {"lang": "en"})
    keep("zzsecret", {"lang": "en"})
    asked = {"query": "x", "filter": "no", "legs": "lexical"}

    def told(*verbs: str) -> str:
        _, secret = create_key(name="k", verbs=verbs, collections=["docs"])
        answer = Client().post("/api/rag/collections/docs/search", asked, JSON, headers={"X-Api-Key": secret})
        assert (answer.status_code, answer.json()["code"]) == (404, "filter_not_found")
        return str(answer.json()["detail"])

    assert "zzsecret" not in told("search")
    assert "Known there: 'zzsecret'." in told("search", "read")


def test_a_filter_that_cannot_be_read_any_more_is_listed_with_what_to_do(client: Client) -> None:
    stored("docs", {"lang": "en"})
    keep("fine", {"lang": "en"})
    NamedFilter.objects.filter(pk=keep("old", {"lang": "en"}).pk).update(where={"lang": {"$near": 1}})
    listed = client.get(FILTERS).json()["filters"]
    assert [(one["name"], one["problem"] is None) for one in listed] == [("fine", True), ("old", False)]
    assert "$.lang.$near: is not an operator" in listed[1]["problem"]
    assert client.get(f"{FILTERS}/old").json()["where"] == {"lang": {"$near": 1}}
    answer = client.get("/collections/docs/documents", {"filter": "old"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_where")
    assert client.put(f"{FILTERS}/old", {"where": {"lang": "de"}}, JSON).json()["problem"] is None
