"""Connections that embed, over real HTTP: texts taken in and searched, and what a service can do wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from django.test import Client

from access_app.models import AuditEntry
from collections_app.models import Chunk, Collection, Generation
from connections_app.models import Connection
from core_app.errors import Conflict, FarSideFailed, FarSideSlow, RagsiteError, Unavailable
from inference_app.connected.openai_embeddings import OpenAiEmbeddings, OpenAiEmbeddingsSettings
from inference_app.services import query_cache
from ingest_app.models import Item, Job
from ingest_app.work import run_job
from tests.integration.inference import scripted_chat as scripted
from tests.integration.inference.scripted_chat import Server, Step, embeds

JSON = "application/json"
TEXTS = {"a.md": "aaaa aaaa", "b.md": "bbbb bbbb", "c.md": "cccc cccc"}


@pytest.fixture
def server() -> Iterator[Server]:
    with scripted.running_server() as running:
        running.otherwise = embeds()
        yield running


@pytest.fixture(autouse=True)
def nothing_is_cached() -> Iterator[None]:
    query_cache.cache_clear()
    yield
    query_cache.cache_clear()


@pytest.fixture
def connected(server: Server, client: Client) -> str:
    body = {"name": "far", "provider": "openai-embeddings", "settings": settings(server)}
    made = client.post("/api/connections", body, JSON)
    assert made.status_code == 201, made.json()
    assert (made.json()["kind"], made.json()["settings"]["api_key"]) == ("embeddings", "********")
    return "far"


@pytest.fixture
def collection(connected: str, client: Client) -> str:
    """Embedded by the connection, with a document for each letter."""
    client.post("/collections", {"name": "letters"}, JSON)
    chosen = choose(client, connected)
    assert chosen.json() == {
        "connection": "far", "model": "small", "dimension": None, "is_usable": True, "reason": None,
    }  # fmt: skip
    assert ingested(client).state == Job.State.SUCCEEDED
    return "letters"


def settings(server: Server, **more: Any) -> dict[str, Any]:
    return {"url": f"{server.address}/v1", "api_key": "sk-s3cret", "model": "small", **more}


Build = Callable[..., OpenAiEmbeddings]


@pytest.fixture
def embedding_by() -> Iterator[Build]:
    """The provider of a server, with more settings."""
    made = []

    def build(server: Server, **more: Any) -> OpenAiEmbeddings:
        made.append(OpenAiEmbeddings(OpenAiEmbeddingsSettings.model_validate(settings(server, **more))))
        return made[-1]

    yield build
    for one in made:
        one.close()


def choose(client: Client, connection: str) -> Any:
    return client.put("/api/rag/collections/letters/embedding", {"connection": connection}, JSON)


def ingested(client: Client, texts: dict[str, str] | None = None) -> Job:
    documents = [{"source": source, "text": text} for source, text in (texts or TEXTS).items()]
    made = client.post("/api/rag/collections/letters/documents", {"documents": documents}, JSON).json()
    job = Job.objects.get(pk=made["id"])
    run_job(job_id=job.pk, stopping=lambda: False)
    job.refresh_from_db()
    return job


def search(client: Client, query: str = "b", **more: Any) -> Any:
    return client.post("/api/rag/collections/letters/search", {"query": query, **more}, JSON)


@pytest.mark.django_db(transaction=True)
class TestACollection:
    def test_is_embedded_and_searched_by_a_connection(self, server: Server, client: Client, collection: str) -> None:
        generation = Generation.objects.get()
        assert (generation.embedding_connection, generation.embedding_model) == ("far", "small")
        assert generation.dimension == 3
        asked = server.asked[0]
        assert (asked.path, asked.headers["authorization"]) == ("/v1/embeddings", "Bearer sk-s3cret")
        found = search(client, legs="dense").json()
        assert found["warnings"] == []
        assert found["results"][0]["metadata"]["source"] == "b.md"
        before = len(server.asked)
        assert search(client, legs="dense").json()["results"][0]["metadata"]["source"] == "b.md"
        assert len(server.asked) == before, "the query is remembered"

    def test_what_it_is_embedded_by_is_in_the_log(self, collection: str) -> None:
        entry = AuditEntry.objects.get(action="collection.changed")
        assert (entry.before, entry.after) == ({"embedding_connection": "built-in"}, {"embedding_connection": "far"})

    def test_takes_no_other_embedder_while_it_holds_vectors(self, client: Client, collection: str) -> None:
        refused = choose(client, "built-in")
        assert (refused.status_code, refused.json()["code"]) == (409, "embedding_mismatch")
        assert "Empty it first" in refused.json()["detail"]
        client.delete("/collections/letters/documents/all")
        assert choose(client, "built-in").json()["is_usable"]
        assert ingested(client).state == Job.State.SUCCEEDED
        assert Generation.objects.get().embedding_connection == "local"

    def test_of_its_callers_vectors_takes_one_of_their_length(
        self, server: Server, client: Client, connected: str
    ) -> None:
        client.post("/collections", {"name": "letters"}, JSON)
        documents = [{"id": "b", "text": "bbbb", "embedding": scripted.vector_of("bbbb")}]
        client.post("/collections/letters/documents", {"documents": documents}, JSON)
        assert choose(client, connected).json()["is_usable"] is False
        named = client.patch("/collections/letters", {"embedding_model": "small"}, JSON)
        assert named.status_code == 200, named.json()
        assert search(client, legs="dense").json()["results"][0]["id"] == "b"

    def test_of_its_callers_vectors_takes_none_of_another_length(
        self, server: Server, client: Client, connected: str
    ) -> None:
        server.otherwise = embeds(dimension=4)
        client.post("/collections", {"name": "letters"}, JSON)
        documents = [{"id": "b", "text": "bbbb", "embedding": [1, 0, 0]}]
        client.post("/collections/letters/documents", {"documents": documents}, JSON)
        refused = choose(client, connected)
        assert (refused.status_code, refused.json()["code"]) == (409, "dimension_mismatch")

    @pytest.mark.parametrize(
        ("name", "status", "code"), [("nowhere", 404, "connection_not_found"), ("store", 400, "wrong_kind")]
    )
    def test_takes_only_what_embeds(self, client: Client, name: str, status: int, code: str) -> None:
        client.post("/collections", {"name": "letters"}, JSON)
        other = {"name": "store", "provider": "remote", "settings": {"url": "http://127.0.0.1:9"}}
        client.post("/api/connections", other, JSON)
        refused = choose(client, name)
        assert (refused.status_code, refused.json()["code"]) == (status, code)
        assert Collection.objects.get().embedding_connection == ""

    def test_is_searched_by_words_when_the_connection_is_gone(self, client: Client, collection: str) -> None:
        assert client.delete("/api/connections/far").status_code == 200
        found = search(client, "bbbb", legs="hybrid").json()
        assert [one["code"] for one in found["warnings"]] == ["no_embedder"]
        assert found["results"][0]["metadata"]["source"] == "b.md"
        shown = client.get("/api/rag/collections/letters/embedding").json()
        assert (shown["is_usable"], shown["model"]) == (False, None)
        assert "Make it again" in shown["reason"]
        assert search(client, "bbbb", legs="dense").json()["warnings"][0]["code"] == "no_embedder"

    def test_is_searched_by_words_when_the_service_fails(self, server: Server, client: Client, collection: str) -> None:
        server.otherwise = scripted.status(401, "sk-s3cret is wrong")
        answer = search(client, "bbbb", legs="hybrid")
        assert [one["code"] for one in answer.json()["warnings"]] == ["embedding_failed"]
        assert "refused the connection's API key" in answer.json()["warnings"][0]["detail"]
        assert answer.json()["results"][0]["metadata"]["source"] == "b.md"
        assert "s3cret" not in answer.content.decode()
        refused = search(client, "cccc", legs="dense")
        assert (refused.status_code, refused.json()["code"]) == (503, "embedder_unavailable")

    def test_is_not_searched_by_vectors_of_another_length(
        self, server: Server, client: Client, collection: str
    ) -> None:
        server.otherwise = embeds(dimension=4)
        Connection.objects.update(settings={**settings(server), "api_key": None}, secrets=None)
        client.patch("/api/connections/far", {"settings": settings(server)}, JSON)
        found = search(client, "bbbb", legs="hybrid").json()
        assert [one["code"] for one in found["warnings"]] == ["dimension_mismatch"]
        refused = search(client, "cccc", legs="dense")
        assert (refused.status_code, refused.json()["code"]) == (409, "dimension_mismatch")
        assert "Set the dimension" in refused.json()["detail"]

    def test_and_another_are_searched_together(self, server: Server, client: Client, collection: str) -> None:
        client.post("/collections", {"name": "own"}, JSON)
        own = {"documents": [{"source": "own.md", "text": "bbbb of our own"}]}
        made = client.post("/api/rag/collections/own/documents", own, JSON).json()
        run_job(job_id=Job.objects.get(pk=made["id"]).pk, stopping=lambda: False)
        body = {"collections": ["letters", "own"], "query": "bbbb", "legs": "dense"}
        found = client.post("/api/rag/search", body, JSON).json()
        assert {one["collection"] for one in found["results"]} == {"letters", "own"}
        assert found["warnings"] == []
        server.otherwise = scripted.status(401)
        rest = client.post("/api/rag/search", {**body, "query": "bbbb own"}, JSON).json()
        assert {one["collection"] for one in rest["results"]} == {"own"}
        assert [one["code"] for one in rest["warnings"]] == ["embedding_failed"]


@pytest.mark.django_db(transaction=True)
class TestTakingIn:
    @pytest.fixture(autouse=True)
    def chosen(self, client: Client, connected: str) -> None:
        client.post("/collections", {"name": "letters"}, JSON)
        choose(client, connected)

    def test_what_is_busy_is_asked_again_later(self, server: Server, client: Client) -> None:
        server.otherwise = scripted.status(429, Retry_After="3600")
        assert ingested(client, {"a.md": "aaaa"}).state in {Job.State.QUEUED, Job.State.RUNNING}
        item = Item.objects.get()
        assert (item.state, item.code) == (Item.State.QUEUED, "far_side_busy")
        assert item.next_try_at is not None

    def test_what_refuses_fails_the_file_and_says_why(self, server: Server, client: Client) -> None:
        server.otherwise = scripted.status(404, "no such model at http://10.0.0.1 sk-s3cret")
        assert ingested(client, {"a.md": "aaaa"}).state == Job.State.FAILED
        item = Item.objects.get()
        assert item.code == "far_side_refused"
        assert "model" in item.error
        assert "s3cret" not in item.error
        assert not Chunk.objects.exists()


@pytest.mark.django_db(transaction=True)
class TestTheConnection:
    def test_is_tested_by_one_short_text(self, server: Server, client: Client, connected: str) -> None:
        tested = client.post("/api/connections/far/test").json()
        assert tested["status"] == "healthy"
        assert (tested["details"]["dimension"], tested["details"]["model"]) == (3, "small")
        assert tested["details"]["milliseconds"] >= 0
        assert [len(asked.body["input"]) for asked in server.asked] == [1]

    def test_lists_cost_nothing_and_show_a_wrong_key(self, server: Server, client: Client, connected: str) -> None:
        server.key = "another"
        listed = client.get("/api/connections").json()["connections"][0]
        assert (listed["kind"], listed["health"]["status"]) == ("embeddings", "unhealthy")
        assert "API key" in listed["health"]["error"]
        assert (server.asked, server.listings) == ([], 1)

    def test_keeps_its_name(self, client: Client, connected: str) -> None:
        refused = client.patch("/api/connections/far", {"name": "near"}, JSON)
        assert (refused.status_code, refused.json()["code"]) == (409, "name_is_fixed")

    def test_has_not_the_name_of_the_servers_own(self, client: Client, server: Server) -> None:
        body = {"name": "local", "provider": "openai-embeddings", "settings": settings(server)}
        assert client.post("/api/connections", body, JSON).json()["code"] == "invalid_name"

    def test_is_no_store(self, client: Client, connected: str) -> None:
        refused = client.get("/api/collections?service=far")
        assert (refused.status_code, refused.json()["code"]) == (400, "wrong_kind")


class TestTheService:
    def test_is_sent_batches_and_answers_in_any_order(self, server: Server, embedding_by: Build) -> None:
        server.otherwise = embeds(backwards=True)
        texts = ["a" * n for n in range(1, 6)]
        found = embedding_by(server, batch_size=2).embed_documents(texts)
        assert [len(asked.body["input"]) for asked in server.asked] == [2, 2, 1]
        np.testing.assert_array_equal(found, np.array([scripted.vector_of(text) for text in texts], np.float32))

    def test_is_sent_no_more_tokens_at_a_time_than_it_takes(self, server: Server, embedding_by: Build) -> None:
        embedding_by(server).embed_documents(["word, " * 40_000] * 2)
        assert [len(asked.body["input"]) for asked in server.asked] == [1, 1]

    def test_is_asked_for_fewer_numbers(self, server: Server, embedding_by: Build) -> None:
        assert embedding_by(server, dimension=2).embed_query("a").shape == (2,)
        assert server.asked[0].body["dimensions"] == 2

    def test_is_asked_again_when_it_says_when(self, server: Server, embedding_by: Build) -> None:
        server.plays(scripted.status(429, Retry_After="1"), scripted.status(503))
        assert embedding_by(server).embed_query("a").shape == (3,)
        assert len(server.asked) == 3

    def test_is_left_alone_when_its_limits_are_used_up(self, server: Server, embedding_by: Build) -> None:
        server.plays(embeds(headers={"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1h"}))
        far = embedding_by(server)
        far.embed_query("a")
        with pytest.raises(Unavailable) as raised:
            far.embed_query("b")
        assert (raised.value.code, len(server.asked)) == ("far_side_busy", 1)

    @pytest.mark.parametrize("step", [scripted.status(429), scripted.status(502)])
    def test_is_asked_three_times_at_most(self, server: Server, embedding_by: Build, step: Step) -> None:
        server.otherwise = step
        with pytest.raises(RagsiteError):
            embedding_by(server).embed_query("a")
        assert len(server.asked) == 3

    def test_is_not_asked_again_for_an_hour(self, server: Server, embedding_by: Build) -> None:
        server.otherwise = scripted.status(429, Retry_After="3600")
        with pytest.raises(Unavailable):
            embedding_by(server).embed_query("a")
        assert len(server.asked) == 1

    @pytest.mark.parametrize("step", [scripted.hangs, scripted.trickles])
    def test_that_is_slow_is_given_up(self, server: Server, embedding_by: Build, step: Step) -> None:
        server.otherwise = step
        with pytest.raises(FarSideSlow):
            embedding_by(server, timeout_seconds=0.2).embed_query("a")

    def test_that_hangs_up(self, server: Server, embedding_by: Build) -> None:
        server.otherwise = scripted.dies
        with pytest.raises(RagsiteError) as raised:
            embedding_by(server).embed_query("a")
        assert raised.value.code in {"far_side_failed", "far_side_unreachable"}

    @pytest.mark.parametrize(
        "step",
        [
            scripted.sends("<html>"),
            scripted.sends("[]"),
            scripted.sends("{}"),
            scripted.sends('{"data": []}'),
            scripted.sends('{"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]}'),
            scripted.sends('{"data": [{"embedding": []}]}'),
            scripted.sends('{"data": [{"embedding": [NaN, 1]}]}'),
            scripted.sends('{"data": [{"embedding": [1e300, 1]}]}'),
            scripted.sends('{"data": [{"embedding": [1' + "0" * 400 + ", 1]}]}"),
            scripted.sends('{"data": [{"embedding": ["1", true]}]}'),
            scripted.sends('{"data": [{"embedding": "AAAA"}]}'),
            scripted.sends('{"data": [{"embedding": [1], "index": 7}]}'),
            scripted.sends(json.dumps({"data": [{"embedding": [0.5] * 20_000}]})),
            scripted.compressed(b"x"),
        ],
    )
    def test_that_answers_nonsense(self, server: Server, embedding_by: Build, step: Step) -> None:
        server.otherwise = step
        with pytest.raises(FarSideFailed):
            embedding_by(server).embed_query("a")
        assert len(server.asked) == 1

    def test_that_answers_without_an_end(
        self, server: Server, embedding_by: Build, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("inference_app.connected.openai_embeddings._LARGEST_ANSWER", 10_000)
        server.otherwise = scripted.chunked(b" " * 1000, times=50)
        with pytest.raises(FarSideFailed):
            embedding_by(server).embed_query("a")

    def test_that_changes_its_dimension(self, server: Server, embedding_by: Build) -> None:
        server.plays(embeds(dimension=3), embeds(dimension=4))
        far = embedding_by(server)
        far.embed_query("a")
        with pytest.raises(Conflict, match="3 were expected") as raised:
            far.embed_query("b")
        assert raised.value.code == "dimension_mismatch"

    def test_that_nobody_answers_for(self, server: Server, embedding_by: Build) -> None:
        far = embedding_by(server, url="http://127.0.0.1:9/v1")
        with pytest.raises(Unavailable, match="cannot be reached") as raised:
            far.embed_query("a")
        assert (raised.value.code, "127.0.0.1" in raised.value.detail) == ("far_side_unreachable", False)
