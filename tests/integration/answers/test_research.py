"""C-REQ-006, C-REQ-007: a topic in sub-queries, searched at the same time, tried again while too little was found."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from django.test import Client

from answers_app import research as module
from collections_app.services import create_collection
from search_app.services import search_collections
from tests.integration.inference.scripted_chat import Asked, Handler, Server, Step, says, status
from tests.integration.ingest.filling import ingest

# The searches run in threads with connections of their own.
pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
TOPIC = "How do hooks work with commands?"


@pytest.fixture(autouse=True)
def docs(db: None) -> None:
    create_collection(name="docs")
    ingest("docs", "Hooks run when a player connects.", "Commands are typed by players.", "Rye bread needs a day.")


def ask(client: Client, **body: Any) -> Any:
    return client.post("/api/rag/research", {"topic": TOPIC, "collections": ["docs"], **body}, JSON)


def plans(*queries: str, sufficient: bool | list[bool] = True, further: tuple[str, ...] = ()) -> Step:
    """A model that breaks any topic into these, and judges."""
    judgements = [sufficient] if isinstance(sufficient, bool) else sufficient

    def step(handler: Handler, asked: Asked) -> None:
        if '"asked"' not in asked.user:
            say: Any = {"queries": list(queries)} if "passages" not in asked.user else {"scores": []}
        else:
            enough = judgements.pop(0) if len(judgements) > 1 else judgements[0]
            say = {"sufficient": enough, "queries": list(further)}
        says(json.dumps(say))(handler, asked)

    return step


def test_c_req_006_without_a_model_it_is_done_by_rule_and_said(client: Client) -> None:
    answer = ask(client)
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert found["topic"] == TOPIC
    assert found["queries"][:3] == [TOPIC, "How do hooks work", "commands"]
    assert found["searchesPerformed"] == len(found["queries"])
    assert {one["content"] for one in found["findings"]} >= {"Hooks run when a player connects."}
    assert set(found["findings"][0]) == {"content", "source", "section", "collection", "chunk_id"}
    assert "no_llm" in [one["code"] for one in found["warnings"]]


def test_c_req_006_a_model_breaks_the_topic_and_judges(client: Client, model: Server) -> None:
    model.otherwise = plans("hooks", "commands", sufficient=[False, True], further=("rye bread", "hooks"))
    found = ask(client).json()
    assert found["queries"] == ["hooks", "commands", "rye bread"], "what was asked is not asked again"
    assert found["iterations"] == 2
    contents = [one["content"] for one in found["findings"]]
    assert len(contents) == len(set(contents)) == 3, "each passage once"


@pytest.mark.parametrize("most", [1, 2, 5])
def test_it_ends_after_so_many_iterations(client: Client, model: Server, most: int) -> None:
    count = iter(range(100))

    def step(handler: Handler, asked: Asked) -> None:
        queries = [f"query {next(count)}", f"query {next(count)}"]
        says(json.dumps({"sufficient": False, "queries": queries}))(handler, asked)

    model.otherwise = step
    found = ask(client, maxIterations=most).json()
    assert (found["iterations"], found["searchesPerformed"]) == (most, 2 * most)


def test_c_req_007_sub_queries_are_searched_at_the_same_time(
    client: Client, model: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(3, timeout=10)

    def search(**asked: Any) -> Any:
        together.wait()
        return search_collections(**asked)

    monkeypatch.setattr(module, "search_collections", search)
    model.otherwise = plans("hooks", "commands", "bread")
    assert ask(client).json()["searchesPerformed"] == 3


@pytest.mark.parametrize(
    "fault", [says("no json"), status(500), says('{"queries": ["only one"]}'), says('{"queries": 7}')]
)
def test_a_model_that_does_not_plan_is_told(client: Client, model: Server, fault: Step) -> None:
    model.otherwise = fault
    found = ask(client).json()
    assert found["queries"][0] == TOPIC
    assert "llm_unused" in [one["code"] for one in found["warnings"]]
    assert found["findings"]


def test_its_time_is_bounded(client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, *[1_000.0] * 50])
    monkeypatch.setattr("answers_app.research.time.monotonic", lambda: next(clock))
    found = ask(client, maxIterations=5).json()
    assert found["iterations"] == 1
    assert "time_over" in [one["code"] for one in found["warnings"]]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"topic": ""}, 400),
        ({"topic": "x" * 4001}, 400),
        ({"maxIterations": 0}, 400),
        ({"maxIterations": 6}, 400),
        ({"collections": []}, 400),
        ({"collections": ["nowhere"]}, 404),
    ],
)
def test_what_cannot_be_researched(client: Client, body: Any, expected: int) -> None:
    assert ask(client, **body).status_code == expected
