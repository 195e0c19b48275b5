"""Renaming and aliases: a name means one collection, whoever asks first."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client

from access_app.services import create_key
from collections_app.models import Alias, Collection, Generation
from collections_app.selectors import get_collection
from collections_app.services import create_collection
from core_app.sql import statement

pytestmark = pytest.mark.django_db


def patch(client: Client, collection: str, **body: Any) -> Any:
    return client.generic("PATCH", f"/collections/{collection}", json.dumps(body), content_type="application/json")


@pytest.fixture(autouse=True)
def _one() -> None:
    create_collection(name="one")


def test_the_old_name_goes_on_to_work_when_asked(client: Client) -> None:
    renamed = patch(client, "one", name="two", keep_alias=True)
    assert (renamed.json()["name"], renamed.json()["aliases"]) == ("two", ["one"])
    for name in ("one", "two"):
        assert client.get(f"/collections/{name}").json()["name"] == "two"
        assert client.get(f"/collections/{name}/documents").status_code == 200


def test_what_is_found_by_name_is_the_row() -> None:
    """The statement is written by hand: every field is as Django reads it, and what is changed can be saved."""
    filled = create_collection(name="filled", metadata={"team": {"of": ["a", 1]}}, chunking={"size": 100})
    filled.active_generation = Generation.objects.create(collection=filled, dimension=3, distance="cosine")
    filled.save()
    for name in ("filled", "one"):
        stored = Collection.objects.select_related("active_generation").get(name=name)
        found = get_collection(name=name)
        assert _values(found) == _values(stored)
        assert _values(found.active_generation) == _values(stored.active_generation)
    found.metadata = {"other": None}
    found.save(update_fields=["metadata"])
    assert get_collection(name="one").metadata == {"other": None}


def _values(row: Model | None) -> dict[str, Any] | None:
    return None if row is None else {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_without_an_alias_it_is_gone_and_free(client: Client) -> None:
    patch(client, "one", name="two")
    assert client.get("/collections/one").status_code == 404
    create_collection(name="one")


def test_a_name_is_given_once(client: Client) -> None:
    create_collection(name="other")
    patch(client, "one", aliases=["first", "erste"])
    for taken in ("first", "one"):
        assert patch(client, "other", name=taken).status_code == 409
        assert patch(client, "other", aliases=[taken]).status_code == 409
        answer = client.post("/collections", {"name": taken}, content_type="application/json")
        assert (answer.status_code, answer.json()["code"]) == (409, "collection_exists")
    refused = patch(client, "other", name="first").json()["detail"]
    assert "'one'" not in refused, "the caller's key may not reach the collection whose alias it is"
    assert client.get("/collections/other").json()["aliases"] == []


def test_back_to_an_alias_of_its_own(client: Client) -> None:
    patch(client, "one", name="two", keep_alias=True)
    assert patch(client, "two", name="one", keep_alias=True).json()["aliases"] == ["two"]


def test_it_is_not_deleted_by_an_alias(client: Client) -> None:
    patch(client, "one", aliases=["other"])
    answer = client.delete("/collections/other")
    assert (answer.status_code, answer.json()["code"]) == (409, "is_alias")
    assert client.delete("/collections/one").status_code == 200
    assert not Alias.objects.exists()


@pytest.mark.parametrize("name", ["", ".", "a/b", "x" * 513, "a\nb", " ", " a", "a\u2003"])
def test_what_is_no_name(client: Client, name: str) -> None:
    assert patch(client, "one", name=name).status_code == 400
    assert patch(client, "one", aliases=[name]).status_code == 400


def test_aliases_are_bounded(client: Client) -> None:
    assert patch(client, "one", aliases=[f"a{n}" for n in range(21)]).json()["code"] == "too_many_aliases"
    assert patch(client, "one", aliases=[f"a{n}" for n in range(20)]).status_code == 200
    assert patch(client, "one", name="two", keep_alias=True).json()["code"] == "too_many_aliases"
    assert patch(client, "one", name="two").json()["name"] == "two"


def test_vectors_of_callers_are_adopted_by_the_server_s_model(client: Client, settings: Any) -> None:
    """README 7: until a model of the same dimension is set, text is searched by words alone."""
    model = settings.RAGSITE.embedding.model
    assert patch(client, "one", embedding_model="another").json()["code"] == "unknown_model"
    document = {"text": "t", "embedding": [1.0, 2.0]}
    path = "/collections/one/documents"
    client.post(path, {"documents": [document]}, content_type="application/json")
    assert patch(client, "one", embedding_model=model).json()["code"] == "embedding_mismatch"


def test_listed_with_aliases(client: Client) -> None:
    patch(client, "one", aliases=["b", "a"])
    assert client.get("/collections").json()["collections"][0]["aliases"] == ["a", "b"]


def test_a_key_for_an_alias_cannot_make_the_collection_its_own(client: Client, settings: Any) -> None:
    create_collection(name="prod")
    patch(client, "prod", aliases=["team-a", "public"])
    security = settings.RAGSITE.security.model_copy(update={"require_keys": "always"})
    settings.LOADED = replace(settings.LOADED, values=settings.RAGSITE.model_copy(update={"security": security}))
    _key, secret = create_key(name="team", verbs=["read", "write", "delete"], collections=["team-*"])
    team = Client(headers={"host": "127.0.0.1", "x-api-key": secret})
    assert team.get("/collections/team-a").status_code == 200
    assert team.get("/collections/prod").status_code == 403
    bodies: list[dict[str, Any]] = [{"name": "team-a"}, {"name": "team-b"}, {"aliases": ["team-a"]}, {"aliases": []}]
    for body in bodies:
        answer = patch(team, "team-a", **body)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), body
    assert team.delete("/collections/team-a").status_code == 409


@pytest.mark.parametrize("name", ["a\u0085b", "a\x7f", "a\nb", "", ".."])
def test_control_characters_are_no_part_of_a_name(client: Client, name: str) -> None:
    assert patch(client, "one", name=name).status_code == 400


def test_a_change_of_nothing_is_called_that(client: Client) -> None:
    assert patch(client, "one").json()["code"] == "nothing_sent"
    assert patch(client, "one", keep_alias=True).json()["code"] == "nothing_sent"
    assert patch(client, "absent").status_code == 404


def test_a_name_that_others_hold_is_not_waited_for_without_end(client: Client, settings: Any) -> None:
    section = settings.RAGSITE.vector_database.model_copy(update={"lock_timeout_seconds": 0.1})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"vector_database": section})
    default = section.default_collection
    with connection.copy().cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(statement("collections_app", "claim_name"), {"name": "held"})
        cursor.execute(statement("collections_app", "claim_name"), {"name": default})
        made = client.post("/collections", {"name": "held"}, "application/json")
        searched = client.post(f"/api/rag/collections/{default}/search", {"query": "tea"}, "application/json")
        sent = {"documents": [{"source": "note", "text": "tea"}]}
        ingested = client.post(f"/api/rag/collections/{default}/documents", sent, "application/json")
        cursor.execute("ROLLBACK")
        cursor.connection.close()
    for answer in (made, searched, ingested):
        assert (answer.status_code, answer.json()["code"]) == (503, "collection_busy")
