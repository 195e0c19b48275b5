"""Clients of other services, as they are, against a running server: only their base address is changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import cohere
import httpx
import pytest
from cohere.core.api_error import ApiError
from pytest_django.live_server_helper import LiveServer

from access_app.services import create_key
from rerank_app.remote import RemoteReranker

TEXTS = ["tea rye", "red fox", "owl", "jam pie hat fox sea"]

pytestmark = pytest.mark.django_db(transaction=True)
#: Cohere's client would try again, with growing pauses.
ONCE = cohere.core.RequestOptions(max_retries=0)


@pytest.fixture
def server(live_server: LiveServer, cross_encoder: None) -> str:
    return str(live_server.url)


@pytest.fixture
def key() -> str:
    return create_key(name="reranking", verbs=["search"], collections=["*"])[1]


@pytest.fixture
def http(server: str, key: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server, headers={"Authorization": f"Bearer {key}"}) as client:
        yield client


def test_cohere_s_first_client(server: str, key: str) -> None:
    with cohere.Client(key, base_url=server) as client:
        found = client.rerank(query="fox", documents=TEXTS, top_n=2, model="rerank-english-v3.0")
        assert [one.index for one in found.results] in ([1, 3], [3, 1])
        assert all(0 <= one.relevance_score <= 1 for one in found.results)
        assert found.id
        assert found.meta is not None
        assert found.meta.api_version is not None
        assert found.meta.api_version.version == "1"
        documents = [{"title": "fox", "text": "tea"}, {"title": "owl", "text": "fox"}]
        found = client.rerank(query="fox", documents=documents, rank_fields=["title"], return_documents=True)
        assert found.results[0].document is not None
        assert found.results[0].document.text == "tea"


def test_cohere_s_second_client(server: str, key: str) -> None:
    with cohere.ClientV2(key, base_url=server) as client:
        found = client.rerank(model="rerank-v3.5", query="fox", documents=TEXTS, max_tokens_per_doc=512)
        assert {one.index for one in found.results[:2]} == {1, 3}
        scores = [one.relevance_score for one in found.results]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) == 4
        assert found.meta is not None
        assert found.meta.billed_units is not None
        assert found.meta.billed_units.search_units == 1
        assert found.meta.warnings is not None
        assert found.meta.warnings[0].startswith("max_tokens_per_doc: ")


def test_cohere_s_async_clients(server: str, key: str) -> None:
    async def ask() -> list[int]:
        async with cohere.AsyncClient(key, base_url=server) as first, cohere.AsyncClientV2(key, base_url=server) as v2:
            one = await first.rerank(query="fox", documents=TEXTS, top_n=1)
            two = await v2.rerank(model="rerank-v3.5", query="owl", documents=TEXTS, top_n=1)
            return [one.results[0].index, two.results[0].index]

    fox, owl = asyncio.run(ask())
    assert fox in {1, 3}
    assert owl == 2


def test_cohere_s_clients_know_our_refusals(server: str, key: str) -> None:
    for kind in (cohere.Client, cohere.ClientV2):
        with kind(key, base_url=server) as client, pytest.raises(cohere.BadRequestError) as bad:
            client.rerank(model="m", query="", documents=TEXTS, request_options=ONCE)
        assert bad.value.body["message"] == "query: This field may not be blank."
        with kind("rs_wrong", base_url=server) as client, pytest.raises(cohere.UnauthorizedError) as unknown:
            client.rerank(model="m", query="fox", documents=TEXTS, request_options=ONCE)
        assert unknown.value.body["message"] == unknown.value.body["detail"]
    other = create_key(name="reads", verbs=["read"], collections=["*"])[1]
    with cohere.ClientV2(other, base_url=server) as client, pytest.raises(cohere.ForbiddenError):
        client.rerank(model="m", query="fox", documents=TEXTS, request_options=ONCE)


def test_cohere_s_client_without_a_model(live_server: LiveServer, key: str) -> None:
    with cohere.ClientV2(key, base_url=live_server.url) as client, pytest.raises(ApiError) as missing:
        client.rerank(model="m", query="fox", documents=TEXTS, request_options=ONCE)
    assert missing.value.status_code == 503
    assert missing.value.body["message"] == "Cross-encoder not loaded. Start server with --cross-encoder flag."


def test_a_request_as_tei_s_clients_send_it(http: httpx.Client) -> None:
    body = {"query": "fox", "texts": TEXTS, "raw_scores": False, "return_text": True, "truncate": True}
    answer = http.post("/rerank", json=body)
    assert answer.status_code == 200
    assert {one["text"] for one in answer.json()[:2]} == {TEXTS[1], TEXTS[3]}
    assert set(answer.json()[0]) == {"index", "score", "text"}


def test_a_request_as_jina_s_clients_send_it(http: httpx.Client) -> None:
    documents = [*TEXTS[:3], {"text": TEXTS[3]}]
    body = {"model": "jina-reranker-v2-base-multilingual", "query": "fox", "documents": documents, "top_n": 2}
    answer = http.post("/v1/rerank", json=body).json()
    assert {one["document"]["text"] for one in answer["results"]} == {TEXTS[1], TEXTS[3]}
    assert answer["usage"]["total_tokens"] > 0
    assert answer["model"]


def test_a14_1_our_own_client(server: str, key: str) -> None:
    """A14: this server as the service elsewhere."""
    documents = [{"id": f"d{n}", "text": text, "page": n} for n, text in enumerate(TEXTS)]
    with RemoteReranker(base_url=server, headers={"Authorization": f"Bearer {key}"}, name="other") as remote:
        found = remote.rerank(query="fox", documents=documents, top_k=2)
    assert {(one["id"], one["page"]) for one in found} == {("d1", 1), ("d3", 3)}


def test_a14_3_our_own_client_with_a_key_that_is_not_valid(server: str) -> None:
    documents = [{"id": "a", "text": "tea"}, {"id": "b", "text": "fox"}]
    with RemoteReranker(base_url=server, headers={"Authorization": "Bearer rs_wrong"}, name="other") as remote:
        assert remote.rerank(query="fox", documents=documents) is documents


def test_a14_3_our_own_client_and_no_model(live_server: LiveServer, key: str) -> None:
    documents = [{"id": "a", "text": "tea"}, {"id": "b", "text": "fox"}]
    with RemoteReranker(base_url=live_server.url, headers={"X-Api-Key": key}, name="other") as remote:
        assert remote.rerank(query="fox", documents=documents) is documents
