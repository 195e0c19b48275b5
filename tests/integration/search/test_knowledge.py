"""Spec C's short form: GET /knowledge/{kb}/search."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from collections_app.models import Collection
from search_app import api
from search_app.tuning import set_search_settings
from tests.integration.access.conftest import ClientWith, client_with, keys_required
from tests.integration.search.asked import filled, look

__all__ = ["client_with", "keys_required"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection(db: None) -> Collection:
    texts = {f"guide{n}.md": f"# Guide {n}\n\nIntro.\n\n## Foxes\n\nThe fox number {n} hunts.\n" for n in range(7)}
    return filled("c", texts)


def ask(client: Client, *, name: str = "c", status: int = 200, **parameters: Any) -> Any:
    answer = client.get(f"/knowledge/{name}/search", parameters)
    assert answer.status_code == status, answer.content
    return answer.json()


def test_c_req_001_results_have_content_source_section_and_relevance(collection: Collection, client: Client) -> None:
    found = ask(client, q="fox")["results"]
    hits = look("fox").hits
    assert len(found) == len(hits) == 5
    for short, hit in zip(found, hits, strict=True):
        assert short == {
            "content": hit.content,
            "source": hit.metadata["source"],
            "section": hit.metadata["section"],
            "relevance": f"{round(100 * hit.score)}%",
        }
        assert re.fullmatch(r"\d{1,3}%", short["relevance"])


@pytest.mark.parametrize("limit", [1, 3, 20])
def test_the_limit_is_1_to_20(collection: Collection, client: Client, limit: int) -> None:
    assert len(ask(client, q="the fox hunts guide intro", limit=limit)["results"]) >= min(limit, 7)
    assert len(ask(client, q="the fox hunts guide intro", limit=limit)["results"]) <= limit


def test_c_req_001_thoroughness_is_the_mode(
    collection: Collection, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[str] = []

    def seen(**arguments: Any) -> Any:
        found = search(**arguments)
        modes.append(found.mode)
        return found

    search = api.search  # type: ignore[attr-defined]  # what the view calls
    monkeypatch.setattr(api, "search", seen)
    for mode in ("fast", "balanced", "thorough"):
        ask(client, q="fox", thoroughness=mode)
    ask(client, q="fox")
    set_search_settings(name="c", own={"mode": "fast"})
    ask(client, q="fox")
    ask(client, q="fox", thoroughness="balanced")
    assert modes == ["fast", "balanced", "thorough", "balanced", "fast", "balanced"]


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({}, "q"),
        ({"q": ""}, "q"),
        ({"q": "   "}, "q"),
        ({"q": "x" * 4001}, "q"),
        ({"q": "fox", "limit": 0}, "limit"),
        ({"q": "fox", "limit": 21}, "limit"),
        ({"q": "fox", "limit": -1}, "limit"),
        ({"q": "fox", "limit": "many"}, "limit"),
        ({"q": "fox", "limit": "1.5"}, "limit"),
        ({"q": "fox", "thoroughness": "deep"}, "thoroughness"),
        ({"q": "fox", "top_k": 3}, "top_k"),
        ({"q": "a\x00b"}, "q"),
    ],
)
def test_mistakes_are_400_and_named(
    collection: Collection, client: Client, parameters: dict[str, Any], name: str
) -> None:
    answer = ask(client, status=400, **parameters)
    assert {"detail", "code"} <= {*answer}
    assert name in str(answer)


def test_an_empty_parameter_is_as_good_as_none(collection: Collection, client: Client) -> None:
    assert ask(client, q="fox", thoroughness="", limit="") == ask(client, q="fox")


def test_readme_4_an_unknown_collection_is_404(client: Client) -> None:
    assert ask(client, name="none", q="fox", status=404)["detail"] == "Collection 'none' not found"


def test_a_source_may_be_unknown(client: Client) -> None:
    """A chunk that was stored directly is from no document."""
    filled("c", {"a": "A dog."})
    chunk = Collection.objects.get(name="c").chunks.get()
    chunk.metadata = {}
    chunk.save()
    assert ask(client, q="dog")["results"][0] == {
        "content": "A dog.",
        "source": None,
        "section": "",
        "relevance": ask(client, q="dog")["results"][0]["relevance"],
    }


@pytest.mark.usefixtures("keys_required")
def test_it_needs_a_key_that_may_search_there(collection: Collection, client: Client, client_with: ClientWith) -> None:
    assert ask(client_with("search", collections=("c",)), q="fox")["results"]
    ask(client, q="fox", status=401)
    ask(client_with("search", collections=("other",)), q="fox", status=403)
    ask(client_with("read"), q="fox", status=403)
