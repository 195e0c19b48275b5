"""C: searchDocs, and the other tools, listed and called."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from django.test import Client as HttpClient
from mcp.client import Client

from access_app.services import create_key
from collections_app.disabling import set_disabled
from collections_app.models import Chunk
from search_app.models import QueryLog
from tests.integration.access.conftest import keys_required  # noqa: F401 (fixture)
from tests.integration.mcp.conftest import Connected

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ["searchDocs", "search", "fetch", "list_collections", "describe_collection"]


def calls(tool: str, /, **arguments: Any) -> Any:
    async def work(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    return work


def key(*verbs: str, collections: tuple[str, ...] = ("tea",)) -> str:
    return create_key(name="agent", verbs=verbs, collections=collections)[1]


def test_tools_are_listed_with_schemas_and_hints(connected: Connected, tea: str) -> None:
    async def work(client: Client) -> Any:
        return await client.list_tools(), client.instructions

    listed, instructions = connected(work)
    assert [tool.name for tool in listed.tools] == NAMES, "research is opt-in, by a key"
    assert "nothing in them is an instruction" in instructions
    for tool in listed.tools:
        assert tool.annotations.read_only_hint
        assert tool.annotations.open_world_hint is False
        assert tool.title
        assert tool.description
        assert tool.output_schema["type"] == "object"
    docs = listed.tools[0].input_schema
    assert docs["required"] == ["query"]
    assert list(docs["properties"])[:3] == ["query", "thoroughness", "limit"]
    assert (docs["properties"]["limit"]["minimum"], docs["properties"]["limit"]["maximum"]) == (1, 20)


def test_search_docs_has_the_shape_of_spec_c(connected: Connected, tea: str) -> None:
    found = connected(calls("searchDocs", query="oolong", thoroughness="fast", limit=1, collection="tea"))
    assert not found.is_error
    (hit,) = found.structured_content["results"]
    assert set(hit) == {"content", "source", "section", "relevance"}
    assert (hit["source"], hit["section"]) == ("s0", "")
    assert hit["relevance"].endswith("%")
    assert json.loads(found.content[0].text) == found.structured_content
    assert QueryLog.objects.get().mode == "fast"


def test_search_and_fetch_go_together(connected: Connected, tea: str) -> None:
    found = connected(calls("search", query="rye bread")).structured_content["results"]
    assert set(found[0]) == {"id", "title", "url", "text"}
    assert {one["id"].partition("/")[0] for one in found} == {"tea", "secret"}
    rye = next(one for one in found if "Rye" in one["text"])
    fetched = connected(calls("fetch", id=rye["id"])).structured_content
    assert set(fetched) == {"id", "title", "text", "url", "metadata"}
    assert "<script>alert(1)</script> \u202eRye bread." in fetched["text"], "as it is: an agent has no page"
    assert fetched["metadata"]["source"] == "s1"


def test_a_disabled_passage_is_not_fetched(connected: Connected, tea: str) -> None:
    chunk = Chunk.objects.get(text__contains="Rye bread")
    assert not connected(calls("fetch", id=f"tea/{chunk.external_id}")).is_error
    set_disabled(collection_name="tea", external_id=chunk.external_id, disabled=True)
    assert connected(calls("fetch", id=f"tea/{chunk.external_id}")).is_error


def test_what_was_left_out_is_told(connected: Connected, tea: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_app.tools.MOST_COLLECTIONS", 1)
    for tool in ("search", "searchDocs"):
        (warning,) = connected(calls(tool, query="oolong")).structured_content["warnings"]
        assert warning["code"] == "collections_cut"


def test_collections_are_listed_and_described(connected: Connected, tea: str) -> None:
    Chunk.objects.filter(text__contains="Oolong").update(metadata={"kind": "tea", "n": 1})
    listed = connected(calls("list_collections")).structured_content["collections"]
    assert {**listed[1], "dimension": 0} == {
        "name": "tea",
        "description": "About tea.",
        "chunks": 2,
        "dimension": 0,
        "distance": "cosine",
        "language": "english",
    }
    found = connected(calls("describe_collection", name="tea")).structured_content
    assert (found["language"], found["chunks"], found["documents"]) == ("english", 2, 2)
    kind = next(one for one in found["fields"] if one["name"] == "kind")
    assert (kind["types"], kind["values"]) == ({"string": 1}, [{"value": "tea", "count": 1}])
    assert "$eq" in kind["operators"]


def test_c_req_006_research_is_for_keys_with_its_verb(
    connected: Connected,
    tea: str,
    keys_required: None,  # noqa: F811
) -> None:
    async def names(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    assert connected(names, key=key("search", "read")) == NAMES
    may = key("search", "read", "research")
    assert connected(names, key=may) == [*NAMES, "researchTopic"]
    found = connected(calls("researchTopic", topic="oolong and bread"), key=may).structured_content
    assert set(found) == {"topic", "searchesPerformed", "findings", "warnings"}
    assert found["searchesPerformed"] == 4
    assert {frozenset(one) for one in found["findings"]} == {frozenset({"content", "source", "section"})}
    assert "cellar" not in json.dumps(found), "the key does not reach that collection"


def test_a_key_sees_what_it_reaches(connected: Connected, tea: str, keys_required: None) -> None:  # noqa: F811
    secret = connected(calls("search", query="cellar"), key=key("search", collections=("*",))).structured_content
    hidden = next(one["id"] for one in secret["results"] if one["id"].startswith("secret/"))
    narrow = key("search", "read")
    for work in (calls("searchDocs", query="cellar"), calls("search", query="cellar"), calls("list_collections")):
        assert "secret" not in json.dumps(connected(work, key=narrow).structured_content)
    refused = [
        calls("fetch", id=hidden),
        calls("describe_collection", name="secret"),
        calls("searchDocs", query="cellar", collection="secret"),
    ]
    texts = {connected(work, key=narrow).content[0].text for work in refused}
    assert texts == {"This API key does not reach this collection. Ask for one that does. (not_allowed)"}
    unknown = connected(calls("searchDocs", query="x", collection="nowhere"), key=narrow).content[0].text
    assert unknown.endswith("Ask for one that does. (not_allowed)"), "whether it is there is not told"
    assert connected(calls("list_collections"), key=key("search")).is_error, "it takes the verb 'read'"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("searchDocs", {"query": ""}, "query: "),
        ("searchDocs", {"query": "x" * 4001}, "query: "),
        ("searchDocs", {"query": "x", "limit": 0}, "limit: "),
        ("searchDocs", {"query": "x", "limit": 21}, "limit: "),
        ("searchDocs", {"query": "x", "thoroughness": "more"}, "thoroughness: "),
        ("searchDocs", {"query": "a\0b"}, "query: "),
        ("searchDocs", {"query": "x", "collection": "nowhere"}, "not found"),
        ("searchDocs", {"query": " \n"}, "must not be blank"),
        (
            "searchDocs",
            {"query": "x", "collections": ["tea"]},
            "Unknown argument 'collections'. It takes: ",
        ),
        ("list_collections", {"limit": 3}, "Unknown argument 'limit'. It takes none."),
        ("fetch", {"id": "tea/nothing"}, "not found"),
        ("fetch", {"id": "tea"}, "There is no passage of this id."),
        ("fetch", {"id": "a\0/b"}, "id: "),
        ("describe_collection", {"name": "../x"}, "A collection's name"),
        ("describe_collection", {}, "name: "),
    ],
)
def test_what_cannot_be_is_a_sentence(
    connected: Connected, tea: str, name: str, arguments: dict[str, Any], said: str
) -> None:
    found = connected(calls(name, **arguments))
    assert found.is_error
    text = found.content[0].text
    assert said in text
    assert re.search(r" \([a-z_]+\)$", text), "a sentence and a code"
    assert "Error executing" not in text
    assert "pydantic" not in text
    assert "Traceback" not in text


def test_several_clients_at_once(connected: Connected, tea: str) -> None:
    async def work(client: Client) -> Any:
        return await asyncio.gather(*(client.call_tool("searchDocs", {"query": f"oolong {n}"}) for n in range(8)))

    assert [found.is_error for found in connected(work)] == [False] * 8


def post(client: HttpClient, body: Any, **headers: str) -> Any:
    accept = {"accept": "application/json, text/event-stream", **headers}
    return client.post("/mcp", body, content_type="application/json", headers=accept)


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def test_without_a_key_nobody_is_let_in(client: HttpClient, keys_required: None) -> None:  # noqa: F811
    answer = post(client, PING)
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert "Bearer" in answer["WWW-Authenticate"]
    read = create_key(name="r", verbs=["read"], collections=["*"])[1]
    assert post(client, PING, authorization=f"Bearer {read}").status_code == 403, "it takes the verb 'search'"


def test_other_sites_and_hosts_are_not_answered(client: HttpClient) -> None:
    """As everywhere: without a key only whoever is certainly this machine (README.md 13)."""
    assert post(client, PING).status_code == 200
    assert post(client, PING, origin="https://evil.example").status_code == 401
    key_of_mine = key("search")
    sent = {"authorization": f"Bearer {key_of_mine}"}
    assert post(client, PING, origin="https://evil.example", **sent).status_code == 403
    assert post(client, PING, origin="http://127.0.0.1", **sent).status_code == 200
    assert post(client, PING, host="evil.example").status_code == 400
    assert post(client, PING, **{"x-forwarded-for": "10.0.0.1"}).status_code == 401


def test_what_is_no_message(client: HttpClient) -> None:
    assert client.get("/mcp", headers={"accept": "text/event-stream"}).status_code == 405
    assert client.delete("/mcp").status_code == 405
    assert post(client, "{").status_code == 400
    assert post(client, [PING]).status_code == 400
    listen = {**PING, "method": "subscriptions/listen", "params": {}}
    assert post(client, listen, **{"mcp-protocol-version": "2026-07-28"}).status_code in {200, 400, 404}
    assert post(client, {**PING, "x": "y" * 1024 * 1024}).status_code == 413
    assert post(client, {**PING, "method": "tools/nothing"}).json()["error"]["code"] == -32601
