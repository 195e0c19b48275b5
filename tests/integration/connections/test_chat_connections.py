"""Connections that lead to a chat model, over real HTTP: tested, and used for reranking (Llm:Connection)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from core_app.errors import InvalidInput, ModelFailed, Unavailable
from core_app.health import State, check_chat_model
from core_app.wiring import chat_model
from rerank_app import llm
from tests.integration.inference import scripted_chat as scripted
from tests.integration.inference.scripted_chat import MODEL, Server, judges, says

pytestmark = pytest.mark.django_db(transaction=True)

JSON = "application/json"
SECRET = "sk-s3cret"
PROVIDERS = ("openai-chat", "anthropic-chat")


@pytest.fixture
def server() -> Iterator[Server]:
    with scripted.running_server() as running:
        yield running


@pytest.fixture
def configured(settings: Any) -> None:
    section = settings.RAGSITE.llm.model_copy(update={"connection": "talk"})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"llm": section})


def connect(client: Client, server: Server, provider: str = "openai-chat", **more: Any) -> None:
    url = server.address if provider == "anthropic-chat" else f"{server.address}/v1"
    body = {"url": url, "api_key": SECRET, "model": "asked-1", **more}
    made = client.post("/api/connections", {"name": "talk", "provider": provider, "settings": body}, JSON)
    assert (made.status_code, made.json()["kind"], made.json()["settings"]["api_key"]) == (201, "chat", "********")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_it_is_tested_by_one_short_question(client: Client, server: Server, provider: str) -> None:
    connect(client, server, provider)
    server.plays(says("Yes."))
    tested = client.post("/api/connections/talk/test").json()
    assert (tested["status"], tested["details"]["answered_by"]) == ("healthy", MODEL)
    assert len(server.asked) == 1
    assert SECRET in str(server.asked[0].headers)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_lists_ask_no_question(client: Client, server: Server, provider: str) -> None:
    server.key = SECRET
    connect(client, server, provider)
    assert client.get("/api/connections").json()["connections"][0]["health"]["status"] == "healthy"
    assert (server.asked, server.listings) == ([], 1)


def test_a_refusal_names_the_connection_and_nothing_secret(client: Client, server: Server) -> None:
    connect(client, server)
    server.otherwise = scripted.status(401, f"{SECRET} is wrong")
    tested = client.post("/api/connections/talk/test")
    assert tested.json()["status"] == "unhealthy"
    assert SECRET not in tested.content.decode()


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.usefixtures("configured")
def test_c_req_004_passages_are_reranked_by_it(client: Client, server: Server, provider: str) -> None:
    connect(client, server, provider, input_price=2, output_price=10)
    server.otherwise = judges(lambda text: 9.0 if "fox" in text else 1.0)
    found = llm.score(query="fox", texts=["tea", "a fox"], seconds=30)
    assert (found.scores, found.model, found.calls) == ([1.0, 9.0], MODEL, 1)
    assert found.cost is not None
    model = chat_model()
    assert model is not None
    assert (model.connection, model.model, model.concurrency) == ("talk", "asked-1", 8)


@pytest.mark.usefixtures("configured")
def test_it_may_be_gone(client: Client, server: Server) -> None:
    with pytest.raises(Unavailable, match="no connection 'talk'") as raised:
        chat_model()
    assert raised.value.code == "llm_not_configured"
    assert check_chat_model().state is State.BAD


@pytest.mark.usefixtures("configured")
def test_it_may_be_another_kind(client: Client) -> None:
    body = {"name": "talk", "provider": "remote", "settings": {"url": "http://127.0.0.1:9"}}
    client.post("/api/connections", body, JSON)
    with pytest.raises(InvalidInput, match="no chat model"):
        chat_model()


@pytest.mark.usefixtures("configured")
def test_what_is_refused_says_what_to_mend(client: Client, server: Server) -> None:
    connect(client, server)
    server.otherwise = scripted.status(401)
    with pytest.raises(ModelFailed, match="Check the connection's API key"):
        llm.score(query="fox", texts=["a fox"], seconds=30)


def test_anthropic_needs_a_key(client: Client) -> None:
    body = {"name": "talk", "provider": "anthropic-chat", "settings": {"model": "m"}}
    refused = client.post("/api/connections", body, JSON)
    assert (refused.status_code, list(refused.json()["errors"])) == (400, ["api_key"])
