"""Collections over HTTP (A5, A8), with a real database."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def create(client: Client, body: Any) -> Any:
    return client.post("/collections", body, content_type="application/json")


def test_a5_1_metadata_and_embedding_fields_are_stored_as_sent(client: Client) -> None:
    answer = create(
        client,
        {"name": "docs", "metadata": {"a": {"b": [1, None]}}, "embedding_provider": "x", "embedding_model": "y"},
    )
    assert answer.status_code == 201
    body = answer.json()
    assert body["metadata"] == {"a": {"b": [1, None]}, "embedding_provider": "x", "embedding_model": "y"}
    assert (body["count"], body["dimension"], body["distance"]) == (0, None, "cosine")
    assert client.get("/collections/docs").json() == body


def test_a_second_collection_of_the_same_name_is_refused(client: Client) -> None:
    create(client, {"name": "docs"})
    answer = create(client, {"name": "docs"})
    assert answer.status_code == 409
    assert answer.json()["code"] == "collection_exists"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a\\b", "a\nb", "x" * 513, "nul\x00", 7, None, ["a"], "\ud800", " lead ", " "]
)
def test_names_that_are_none_are_refused(client: Client, name: object) -> None:
    answer = create(client, {"name": name})
    assert answer.status_code == 400, answer.content
    assert set(answer.json()) >= {"detail", "code"}


@pytest.mark.parametrize("name", ["with space", "dots.and-dashes", "名前 ☃", "a%b", "?x=1#y", "x" * 512])
def test_any_other_name_works_when_it_is_encoded(client: Client, name: str) -> None:
    from urllib.parse import quote

    assert create(client, {"name": name}).status_code == 201
    path = f"/collections/{quote(name, safe='')}"
    assert client.get(path).json()["name"] == name
    assert client.delete(path).json() == {"status": "deleted", "collection": name}
    assert client.get(path).status_code == 404


def test_a5_4_all_collections_are_listed_with_their_metadata(client: Client) -> None:
    for name in ("b", "a", "c"):
        create(client, {"name": name, "metadata": {"is": name}})
    body = client.get("/collections", {"limit": "2", "offset": "1"}).json()
    assert [c["name"] for c in body["collections"]] == ["b", "c"]
    assert (body["count"], body["total"]) == (2, 3)
    assert body["collections"][0]["metadata"] == {"is": "b"}


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "x"}, {"offset": "-1"}, {"limit": "1.5"}])
def test_bad_page_bounds_are_refused(client: Client, query: dict[str, str]) -> None:
    assert client.get("/collections", query).status_code == 400


def test_a8_metadata_is_merged_or_replaced(client: Client) -> None:
    create(client, {"name": "docs", "metadata": {"description": "Test", "custom": 1}})

    def put(query: str, metadata: Any) -> Any:
        return client.put(f"/collections/docs/metadata{query}", {"metadata": metadata}, "application/json").json()

    merged = put("?merge=true", {"new_field": "new"})
    assert merged == {
        "status": "updated",
        "collection": "docs",
        "metadata": {"description": "Test", "custom": 1, "new_field": "new"},
    }
    assert put("", {"new_field": "new"})["metadata"] == {"new_field": "new"}
    assert put("?merge=false", {})["metadata"] == {}


def test_a_missing_collection_is_404_with_the_specified_sentence(client: Client) -> None:
    answer = client.get("/collections/nonexistent")
    assert answer.status_code == 404
    assert answer.json() == {"detail": "Collection 'nonexistent' not found", "code": "collection_not_found"}


def test_unknown_fields_are_not_ignored(client: Client) -> None:
    answer = create(client, {"name": "docs", "distnace": "l2"})
    assert answer.status_code == 400
    assert "distnace" in answer.json()["errors"]
