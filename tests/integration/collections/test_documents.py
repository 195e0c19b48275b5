"""Documents with embeddings of their own: what the scenarios do not say (A4, A6, A7)."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from collections_app import reading
from collections_app.adding import NewChunk, add_chunks
from collections_app.models import Chunk, Collection, Document
from collections_app.reading import list_chunks
from collections_app.removing import delete_chunks
from collections_app.services import create_collection
from core_app.errors import InvalidInput
from core_app.where import parse_where
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app.services import search
from stores_app.models import PostingBlock, Segment, Vector

JSON = "application/json"
pytestmark = pytest.mark.django_db


@pytest.fixture
def shelf() -> Collection:
    return create_collection(name="shelf")


def put(count: int, *, first: int = 0, name: str = "shelf", words: str = "word") -> None:
    chunks = [
        NewChunk(external_id=f"d{n}", text=f"{words} {n}", metadata={"n": n}) for n in range(first, first + count)
    ]
    embeddings = np.random.default_rng(first).normal(size=(count, 8)).astype(np.float32)
    add_chunks(collection_name=name, chunks=chunks, embeddings=lambda: embeddings)


def ids(name: str = "shelf") -> list[str]:
    return [chunk.id for chunk in list_chunks(collection_name=name, limit=1000).chunks]


def send(client: Client, method: str, path: str, body: Any = None) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.generic(method, path, raw, content_type=JSON)


def ingest(text: str) -> None:
    source = Source(name="guide.md", content=text.encode(), is_text=True, metadata={"mine": 1, "source": "forged"})
    run_job(job_id=submit(collection_name="shelf", sources=[source]).pk, stopping=lambda: False)


class TestAdding:
    def test_of_an_id_given_twice_the_last_one_stays(self, shelf: Collection) -> None:
        chunks = [NewChunk(external_id="a", text=text, metadata={}) for text in ("first", "second")]
        added = add_chunks(collection_name="shelf", chunks=chunks, embeddings=lambda: np.eye(2, dtype=np.float32))
        assert (added.ids, added.count) == (["a", "a"], 1)
        assert [chunk.text for chunk in list_chunks(collection_name="shelf").chunks] == ["second"]
        assert Vector.objects.count() == 1

    def test_words_are_indexed_and_replaced_words_forgotten(self, shelf: Collection) -> None:
        put(5, words="zebra")
        put(2, words="giraffe")
        assert search(collection_name="shelf", query="giraffe", legs="lexical").hits[0].id in {"d0", "d1"}
        found = search(collection_name="shelf", query="zebra", legs="lexical")
        assert sorted(hit.id for hit in found.hits) == ["d2", "d3", "d4"]
        assert [w.code for w in found.warnings] == ["no_embedder"]

    def test_all_or_nothing(self, shelf: Collection) -> None:
        put(3)
        chunks = [NewChunk(external_id=f"x{n}", text="t", metadata={}) for n in range(3)]
        embeddings = np.ones((3, 8), np.float32)
        embeddings[2, 0] = np.nan
        with pytest.raises(InvalidInput):
            add_chunks(collection_name="shelf", chunks=chunks, embeddings=lambda: embeddings)
        assert (ids(), Vector.objects.count()) == (["d0", "d1", "d2"], 3)

    def test_statements_do_not_grow_with_the_documents(self, shelf: Collection) -> None:
        def statements(first: int, count: int) -> int:
            with CaptureQueriesContext(connection) as captured:
                put(count, first=first)
            return len(captured)

        assert statements(100, 50) <= statements(0, 5) + 1

    def test_the_limit_of_documents(self, client: Client, shelf: Collection) -> None:
        documents = [{"text": "", "embedding": [1]}] * 10_001
        answer = send(client, "POST", "/collections/shelf/documents", {"documents": documents})
        assert (answer.status_code, answer.json()["code"]) == (400, "too_many_documents")

    @pytest.mark.parametrize(
        ("body", "place", "code"),
        [
            ({"documents": [{"text": 1, "embedding": [1]}]}, "documents[0].text", "invalid"),
            ({"documents": [{"embedding": [1]}]}, "documents[0].text", "invalid"),
            ({"documents": [{"text": "a", "embedding": [1], "metadata": [1]}]}, "documents[0].metadata", "invalid"),
            ({"documents": [{"text": "a", "embedding": [1], "vector": 1}]}, "documents[0]", "invalid"),
            ({"documents": [{"text": "a", "embedding": [1], "id": 7}]}, "documents[0].id", "invalid"),
            ({"documents": [{"text": "a", "embedding": [1], "id": ""}]}, "documents[0].id", "invalid_id"),
            ({"documents": [{"text": "a", "embedding": [1], "id": "x" * 1025}]}, "documents[0].id", "invalid_id"),
            ({"documents": [{"text": "a\0", "embedding": [1]}]}, "documents[0].text", "invalid_text"),
            ({"documents": [{"text": "", "embedding": [1], "metadata": {"\0": 1}}]}, "documents[0].m", "invalid_text"),
            (b'{"documents": [{"text": "\\ud800", "embedding": [1]}]}', "$.documents[0].text", "invalid_text"),
            ({"documents": [7]}, "documents[0]", "invalid"),
            ({"documents": [], "more": 1}, "", "invalid"),
            ([], "", "invalid"),
            (b"", "Documents array", "documents_required"),
            (b'{"documents": [{"text": "\\udfff", "embedding": [1]}]}', "$.documents[0].text", "invalid_text"),
            (b"{", "", "malformed_json"),
            (b'{"documents": [' + b"[" * 100_000, "", "malformed_json"),
            (b"\xff\xfe", "", "malformed_json"),
        ],
    )  # fmt: skip
    def test_mistakes_are_named_with_their_place(
        self, client: Client, shelf: Collection, body: Any, place: str, code: str
    ) -> None:
        answer = send(client, "POST", "/collections/shelf/documents", body)
        assert (answer.status_code, answer.json()["code"]) == (400, code), answer.content
        assert answer.json()["detail"].startswith(place)

    def test_metadata_comes_back_as_it_was(self, client: Client, shelf: Collection) -> None:
        metadata = {"a": [1, 2.5, None, True, {"b": "ü☃"}], "big": 2**60, "": "empty key", "$odd": "x", "#document": 1}
        document = {"id": "a/b c", "text": "", "metadata": metadata, "embedding": [1, 2]}
        assert send(client, "POST", "/collections/shelf/documents", {"documents": [document]}).status_code == 201
        assert client.get("/collections/shelf/documents").json()["documents"][0]["metadata"] == metadata

    def test_a_collection_of_the_server_s_model_takes_vectors_of_the_same_dimension(self, shelf: Collection) -> None:
        ingest("# Guide\n\nText.")
        generation = Collection.objects.get().active_generation
        assert generation is not None
        chunks = [NewChunk(external_id="own", text="t", metadata={})]
        add_chunks(
            collection_name="shelf", chunks=chunks, embeddings=lambda: np.ones((1, generation.dimension), np.float32)
        )
        assert "own" in ids()


class TestPages:
    def test_a_cursor_neither_skips_nor_repeats(self, client: Client, shelf: Collection) -> None:
        put(10)
        page = client.get("/collections/shelf/documents?limit=4").json()
        delete_chunks(collection_name="shelf", ids=["d1", "d5"])
        put(2, first=10)
        rest = client.get("/collections/shelf/documents", {"cursor": page["next_cursor"]}).json()
        assert [d["id"] for d in rest["documents"]] == ["d4", "d6", "d7", "d8", "d9", "d10", "d11"]

    @pytest.mark.parametrize(
        "cursor", ["x", "", "AAAAAAAAAA", "____________", "AAAAAAAAAA=", "\u00fc" * 11, "__________8"]
    )
    def test_a_cursor_of_one_s_own_is_refused(self, client: Client, shelf: Collection, cursor: str) -> None:
        answer = client.get("/collections/shelf/documents", {"cursor": cursor})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")

    @pytest.mark.parametrize("query", ["limit=x", "offset=-1", "include=text", "limit=1e3", "where=[]", "where=%5B1"])
    def test_bad_parameters(self, client: Client, shelf: Collection, query: str) -> None:
        assert client.get(f"/collections/shelf/documents?{query}").status_code == 400

    def test_a_filter_that_is_too_expensive(self, client: Client, shelf: Collection, settings: Any) -> None:
        put(200, words="a" * 2000)
        database = settings.RAGSITE.vector_database.model_copy(update={"statement_timeout_seconds": 0.001})
        settings.RAGSITE = settings.RAGSITE.model_copy(update={"vector_database": database})
        # Inside the test's transaction the bound is not set by itself.
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = '1ms'")
        where = json.dumps({"#document": {"$regex": "(a|aa)*b(a|aa)*c(a|aa)*d"}})
        answer = client.get("/collections/shelf/documents", {"where": where})
        assert (answer.status_code, answer.json()["code"]) == (400, "too_expensive")


class TestDeleting:
    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"ids": []},
            {"where": {}},
            {"ids": ["a"], "where": {"n": 1}},
            {"ids": [], "where": {}},
            {"ids": ["d0"], "where": {}},
        ],
    )
    def test_nothing_named_is_never_everything(self, client: Client, shelf: Collection, body: Any) -> None:
        put(3)
        answer = send(client, "DELETE", "/collections/shelf/documents", body)
        assert (answer.status_code, answer.json()["code"]) == (400, "nothing_named")
        assert len(ids()) == 3

    def test_by_id_and_by_filter_with_exact_statistics(self, client: Client, shelf: Collection) -> None:
        put(10)
        answer = send(client, "DELETE", "/collections/shelf/documents", {"ids": ["d0", "d0", "unknown"]})
        assert answer.json() == {"status": "deleted", "count_deleted": 1}
        answer = send(client, "DELETE", "/collections/shelf/documents", {"where": {"n": {"$gte": 5}}})
        assert answer.json() == {"status": "deleted", "count_deleted": 5}
        assert ids() == ["d1", "d2", "d3", "d4"]
        assert Vector.objects.count() == 4
        assert sum(Segment.objects.values_list("live", flat=True)) == 4
        assert delete_chunks(collection_name="shelf", where=parse_where({"n": {"$gte": 0}})) == 4
        assert (Segment.objects.count(), PostingBlock.objects.count()) == (0, 0)

    def test_postings_go_with_a_collection(self, client: Client, shelf: Collection) -> None:
        put(3)
        client.delete("/collections/shelf")
        assert (PostingBlock.objects.count(), Segment.objects.count(), Vector.objects.count()) == (0, 0, 0)

    def test_a_document_that_lost_a_chunk_is_ingested_anew(self, shelf: Collection) -> None:
        text = "# Guide\n\n## A\n\nFirst.\n\n## B\n\nSecond."
        ingest(text)
        before = ids()
        assert delete_chunks(collection_name="shelf", ids=before[:1]) == 1
        assert Document.objects.get().chunk_count == len(before) - 1
        ingest(text)
        assert len(ids()) == len(before)


class TestChanging:
    def test_metadata_is_merged_in_place(self, client: Client, shelf: Collection) -> None:
        put(2)
        key = Chunk.objects.get(external_id="d0").pk
        answer = send(client, "PATCH", "/collections/shelf/documents/d0", {"metadata": {"n": None, "new": [1]}})
        assert answer.json() == {"id": "d0", "text": "word 0", "metadata": {"new": [1]}}
        assert Chunk.objects.get(external_id="d0").pk == key

    def test_text_and_embedding_are_replaced_together(self, client: Client, shelf: Collection) -> None:
        put(3)
        body = {"text": "unicorn", "embedding": [9, 0, 0, 0, 0, 0, 0, 0]}
        assert send(client, "PATCH", "/collections/shelf/documents/d1", body).status_code == 200
        assert ids() == ["d0", "d1", "d2"]
        assert [hit.id for hit in search(collection_name="shelf", query="unicorn", legs="lexical").hits] == ["d1"]
        query = {"query_embedding": [1, 0, 0, 0, 0, 0, 0, 0], "top_k": 1}
        assert send(client, "POST", "/collections/shelf/query", query).json()["results"][0]["id"] == "d1"
        shown = client.get("/collections/shelf/documents/d1?include=embedding").json()
        assert (shown["text"], shown["metadata"], shown["embedding"][0]) == ("unicorn", {"n": 1}, 9.0)

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({}, "nothing_sent"),
            ({"text": "alone"}, "embeddings_required"),
            ({"text": "t", "embedding": [1, 2]}, "dimension_mismatch"),
            ({"embedding": "x"}, "invalid"),
            ({"embedding": [True]}, "invalid"),
            ({"metadata": "x"}, "invalid"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, client: Client, shelf: Collection, body: Any, code: str) -> None:
        put(1)
        answer = send(client, "PATCH", "/collections/shelf/documents/d0", body)
        assert (answer.status_code, answer.json()["code"]) == (400, code)

    def test_a_document_may_be_called_all(self, client: Client, shelf: Collection) -> None:
        chunks = [NewChunk(external_id="all", text="t", metadata={})]
        add_chunks(collection_name="shelf", chunks=chunks, embeddings=lambda: np.ones((1, 8), np.float32))
        assert client.get("/collections/shelf/documents/all").json()["id"] == "all"
        answer = send(client, "PATCH", "/collections/shelf/documents/all", {"metadata": {"a": 1}})
        assert answer.json()["metadata"] == {"a": 1}

    def test_an_unknown_document(self, client: Client, shelf: Collection) -> None:
        for method in ("GET", "PATCH"):
            answer = send(client, method, "/collections/shelf/documents/none", {"metadata": {"a": 1}})
            assert (answer.status_code, answer.json()["code"]) == (404, "document_not_found")

    def test_where_an_ingested_chunk_comes_from_stays(self, client: Client, shelf: Collection) -> None:
        ingest("# Guide\n\n## Part\n\nText.")
        chunk = Chunk.objects.get()
        assert chunk.metadata == {
            "mine": 1, "source": "guide.md", "page_number": None, "chunk_index": 0, "section": "Part",
        }  # fmt: skip
        path = f"/collections/shelf/documents/{chunk.external_id}"
        refused = send(client, "PATCH", path, {"metadata": {"source": "other"}})
        assert (refused.status_code, refused.json()["code"]) == (400, "system_field")
        assert send(client, "PATCH", path, {"metadata": {"mine": 2}}).json()["metadata"]["page_number"] is None
        assert [
            d["id"]
            for d in client.get("/collections/shelf/documents", {"where": '{"source": "guide.md"}'}).json()["documents"]
        ] == [chunk.external_id]

    def test_a_changed_chunk_of_a_file_is_still_found_by_its_title(self, client: Client, shelf: Collection) -> None:
        ingest("# Zanzibar\n\n## Part\n\nText.")
        chunk = Chunk.objects.get()
        dimension = Collection.objects.get().active_generation.dimension  # type: ignore[union-attr]
        body = {"text": "Changed.", "embedding": [1.0] * dimension}
        assert send(client, "PATCH", f"/collections/shelf/documents/{chunk.external_id}", body).status_code == 200
        found = search(collection_name="shelf", query="zanzibar", legs="lexical").hits
        assert [hit.content for hit in found] == ["Changed."]


def test_a7_5_of_very_many_values_the_first_are_listed(
    client: Client, shelf: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_VALUES", 6)
    given = ["b", "a", True, 10, 9.5, [False, "Z"], -1, "\u00e4", {"no": 1}]
    chunks = [NewChunk(external_id=None, text="t", metadata={"v": value}) for value in given]
    add_chunks(collection_name="shelf", chunks=chunks, embeddings=lambda: np.ones((len(given), 2), np.float32))
    found = client.get("/collections/shelf/metadata-values?field=v").json()
    assert found == {"field": "v", "values": [False, True, -1, 9.5, 10, "Z"], "count": 6, "truncated": True}


class TestQuery:
    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"query_embedding": [1] * 8, "query_embeddings": [[1] * 8]},
            {"query_embedding": []},
            {"query_embedding": [1, "2"]},
            {"query_embedding": [1] * 7},
            {"query_embeddings": []},
            {"query_embedding": [1] * 8, "top_k": 0},
            {"query_embedding": [1] * 8, "where": "x"},
            {"query_embedding": [1] * 8, "where": None},
            {"query_embedding": [1e39] * 8},
            {"query_embedding": [10**400] * 8},
        ],
    )
    def test_bad_queries(self, client: Client, shelf: Collection, body: Any) -> None:
        put(3)
        answer = send(client, "POST", "/collections/shelf/query", body)
        assert answer.status_code == 400, answer.content
        assert answer.json()["code"]

    def test_several_at_once_are_as_one_by_one(self, client: Client, shelf: Collection) -> None:
        put(20)
        vectors = np.random.default_rng(1).normal(size=(3, 8)).tolist()
        more = {"top_k": 4, "where": {"n": {"$lt": 10}}}
        together = send(client, "POST", "/collections/shelf/query", {"query_embeddings": vectors, **more}).json()
        single = [
            send(client, "POST", "/collections/shelf/query", {"query_embedding": vector, **more}).json()["results"]
            for vector in vectors
        ]
        assert together == {"results": single, "count": 12}

    def test_an_empty_collection_has_no_neighbours(self, client: Client, shelf: Collection) -> None:
        answer = send(client, "POST", "/collections/shelf/query", {"query_embedding": [1, 2]})
        assert answer.json() == {"results": [], "count": 0}


@pytest.mark.django_db(transaction=True)
def test_adds_at_the_same_time_agree_on_one_dimension_and_lose_nothing() -> None:
    create_collection(name="shelf")
    results: list[str] = []

    def add(number: int, dimension: int) -> None:
        chunks = [NewChunk(external_id=f"t{number}-{n}", text="t", metadata={}) for n in range(20)]
        try:
            add_chunks(collection_name="shelf", chunks=chunks, embeddings=lambda: np.ones((20, dimension), np.float32))
            results.append("added")
        except InvalidInput as error:
            results.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=add, args=(number, 8 if number % 2 else 16)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == ["added"] * 4 + ["dimension_mismatch"] * 4
    assert (Chunk.objects.count(), Vector.objects.count()) == (80, 80)
