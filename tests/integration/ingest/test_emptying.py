"""A9 over HTTP: everything in a collection goes, the collection stays."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from access_app.models import Verb
from access_app.services import create_key
from collections_app.models import Collection, Document, Generation
from collections_app.services import create_collection, lock_collection
from core_app.ports import Bm25
from core_app.wiring import store
from ingest_app import emptying
from ingest_app.models import Item, Job, Payload
from ingest_app.work import run_job
from search_app.services import search
from stores_app.models import PostingBlock, Segment, Vector
from tests.integration.api.contract import Contract, ContractClient
from tests.integration.ingest.filling import JSON, empty, fill, held, ingest, never

METADATA = {"display_name": "Test", "description": "Docs", "query_profile": {"topic": {"terms": ["a", "b"]}}}


def contents(client: Client, name: str) -> tuple[int, int]:
    """The number of chunks as the collection has it, and as its list of documents has it."""
    listed = client.get(f"/collections/{name}/documents").json()
    return client.get(f"/collections/{name}").json()["count"], listed["total"]


@pytest.mark.django_db
class TestScenarios:
    def test_a9_1_a_collection_with_documents(self, client: Client) -> None:
        client.post("/collections", {"name": "test-collection", "metadata": METADATA}, JSON)
        documents = [{"id": f"d{n}", "text": f"Text {n}.", "embedding": [1.0, n, 0.0]} for n in range(100)]
        added = client.post("/collections/test-collection/documents", {"documents": documents}, JSON)
        assert added.status_code == 201, added.content
        answer = empty(client, "test-collection")
        assert answer.status_code == 200
        assert answer.json() == {"status": "emptied", "collection": "test-collection", "count_deleted": 100}
        after = client.get("/collections/test-collection").json()
        assert (after["count"], after["dimension"], after["metadata"]) == (0, None, METADATA)
        assert contents(client, "test-collection") == (0, 0)

    def test_a9_2_an_already_empty_collection(self, client: Client) -> None:
        create_collection(name="test-collection")
        answer = empty(client, "test-collection")
        assert (answer.status_code, answer.json()) == (
            200,
            {"status": "emptied", "collection": "test-collection", "count_deleted": 0},
        )
        assert client.get("/collections/test-collection").status_code == 200

    def test_a9_3_a_collection_that_does_not_exist(self, client: Client) -> None:
        answer = empty(client, "missing-collection")
        assert answer.status_code == 404
        assert answer.json()["detail"] == "Collection 'missing-collection' not found"
        assert empty(client, "missing-collection", "?dry_run=true").status_code == 404
        assert empty(client, "missing-collection", prefer="respond-async").status_code == 404
        assert not Job.objects.exists()

    def test_a9_4_the_number_of_statements_does_not_grow_with_the_collection(self, client: Client) -> None:
        """50,000 documents in time: tests/acceptance/server/test_emptying.py."""
        taken = []
        for count in (10, 900):
            create_collection(name=f"c{count}")
            fill(f"c{count}", count)
            with CaptureQueriesContext(connection) as captured:
                answer = empty(client, f"c{count}")
            assert answer.json()["count_deleted"] == count
            taken.append(len(captured))
        assert taken[0] == taken[1] <= 30

    @pytest.mark.parametrize("step", ["delete_all_chunks", "delete_all_documents", "delete_generations"])
    def test_a9_5_an_error_on_the_way_leaves_everything(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        create_collection(name="c")
        ingest("c", "Oolong is a tea.", "Rye is a grain.")
        before = [(hit.id, hit.score) for hit in search(collection_name="c", query="oolong tea", top_k=10).hits]
        original = emptying._run

        def failing(name: str, *arguments: Any, **more: Any) -> int:
            deleted = original(name, *arguments, **more)
            if name == step:
                raise ZeroDivisionError("secret detail")
            return deleted

        with monkeypatch.context() as broken:
            broken.setattr(emptying, "_run", failing)
            answer = Client(headers={"host": "127.0.0.1"}, raise_request_exception=False).delete(
                "/collections/c/documents/all"
            )
        assert (answer.status_code, answer.json()["code"]) == (500, "server_error")
        assert b"secret" not in answer.content
        assert contents(client, "c") == (2, 2)
        assert Document.objects.count() == 2
        after = search(collection_name="c", query="oolong tea", top_k=10).hits
        assert [(hit.id, hit.score) for hit in after] == before
        assert empty(client, "c").json()["count_deleted"] == 2

    def test_a9_6_metadata_and_settings_stay_and_serve_later_uploads(self, client: Client) -> None:
        settings = {"language": "german", "chunking": {"size": 64}, "distance": "l2"}
        create_collection(name="c", metadata=METADATA, **settings)  # type: ignore[arg-type]  # each of its own type
        ingest("c", "Die Hunde bellen.")
        generation = Generation.objects.get()
        version = Collection.objects.get().version
        empty(client, "c")
        after = Collection.objects.get()
        assert after.metadata == client.get("/collections/c").json()["metadata"] == METADATA
        assert {name: getattr(after, name) for name in settings} == settings
        assert after.version > version
        assert after.active_generation is not None
        assert after.active_generation.pk != generation.pk
        assert (after.active_generation.embedding_model, after.active_generation.dimension) == (
            generation.embedding_model,
            generation.dimension,
        )
        assert list(Generation.objects.all()) == [after.active_generation]
        ingest("c", "Die Hunde bellen.")
        assert search(collection_name="c", query="hund", top_k=5).hits[0].content == "Die Hunde bellen."


@pytest.mark.django_db
class TestWhatGoesAndWhatStays:
    def test_vectors_of_callers_leave_the_dimension_free(self, client: Client) -> None:
        create_collection(name="c")
        fill("c", 5, dimension=3)
        empty(client, "c")
        assert not Generation.objects.exists()
        fill("c", 5, dimension=7)
        assert client.get("/collections/c").json()["dimension"] == 7

    def test_vectors_and_words_go_too(self, client: Client) -> None:
        create_collection(name="c")
        fill("c", 5)
        ingest_into = create_collection(name="other")
        ingest("other", "Oolong is a tea.")
        empty(client, "c")
        assert Vector.objects.count() == 1
        assert set(Segment.objects.values_list("collection", flat=True)) == {ingest_into.pk}
        assert set(PostingBlock.objects.values_list("segment__collection", flat=True)) == {ingest_into.pk}

    def test_documents_go_those_that_failed_too_and_their_jobs_stay(self, client: Client) -> None:
        create_collection(name="c")
        job = ingest("c", "Oolong is a tea.", " ")
        assert Document.objects.count() == 2
        assert empty(client, "c").json()["count_deleted"] == 1
        assert not Document.objects.exists()
        assert client.get("/api/rag/collections/c/sources").json()["total"] == 0
        assert list(Item.objects.filter(job=job).values_list("state", flat=True)) == ["succeeded", "failed"]
        assert Payload.objects.count() == 1, "what failed can still be tried again"

    def test_what_was_indexed_before_is_indexed_again_afterwards(self, client: Client) -> None:
        create_collection(name="c")
        ingest("c", "Oolong is a tea.")
        empty(client, "c")
        job = ingest("c", "Oolong is a tea.")
        assert Item.objects.get(job=job).state == Item.State.SUCCEEDED
        assert held("c") == 1

    def test_other_collections_are_not_touched(self, client: Client) -> None:
        for name in ("c", "other"):
            create_collection(name=name)
            ingest(name, "Oolong is a tea.", "Tea and rye.", "Rye is a grain.")
        before = Collection.objects.get(name="other")
        found = search(collection_name="other", query="tea", top_k=10)
        empty(client, "c")
        after = search(collection_name="other", query="tea", top_k=10)
        assert [(hit.id, hit.score, hit.metadata) for hit in after.hits] == [
            (hit.id, hit.score, hit.metadata) for hit in found.hits
        ]
        assert Collection.objects.get(name="other").version == before.version
        assert held("other") == 3

    def test_words_are_weighed_as_in_a_new_collection(self, client: Client) -> None:
        """N, the document frequencies and the lengths of BM25 start anew."""
        for name in ("c", "fresh"):
            create_collection(name=name)
        ingest("c", "Rye rye rye and more rye.", "Tea without rye.", "Something else altogether.")
        empty(client, "c")
        scores = []
        for name in ("c", "fresh"):
            ingest(name, "Oolong is a tea.", "Rye is a grain.", "A grain of salt.")
            bm25 = Bm25(language="english", k1=1.2, b=0.75)
            pk = Collection.objects.get(name=name).pk
            found = store("pgvector").lexical(collection_ids=[pk], bm25=bm25, query="rye grain", limit=10)
            scores.append([hit.score for hit in found.hits])
        assert scores[0] == scores[1]
        assert len(scores[0]) == 2

    def test_a_name_that_has_to_be_encoded(self, client: Client) -> None:
        create_collection(name="a b.ü")
        fill("a b.ü", 2)
        assert empty(client, "a%20b.%C3%BC").json() == {"status": "emptied", "collection": "a b.ü", "count_deleted": 2}


@pytest.mark.django_db
class TestAsking:
    def test_a_dry_run_says_what_would_go(self, client: Client) -> None:
        create_collection(name="c")
        ingest("c", "Oolong is a tea.", " ")
        answer = empty(client, "c", "?dry_run=true")
        assert (answer.status_code, answer.json()) == (
            200,
            {"status": "dry_run", "collection": "c", "count": 1, "documents": 2},
        )
        assert contents(client, "c") == (1, 1)
        assert empty(client, "c", "?dry_run=false").json()["count_deleted"] == 1

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ("?dry_run=yes", "invalid"),
            ("?dry_run=", "invalid"),
            ("?dryrun=true", "unknown_parameter"),
            ("?where={}", "unknown_parameter"),
            ("?dry_run=true&x=1", "unknown_parameter"),
            ("?dry_run=true&dry_run=false", "repeated_parameter"),
        ],
    )
    def test_what_was_meant_to_hold_something_back_never_deletes(self, client: Client, query: str, code: str) -> None:
        create_collection(name="c")
        fill("c", 3)
        answer = empty(client, "c", query)
        assert (answer.status_code, answer.json()["code"]) == (400, code)
        assert held("c") == 3

    def test_a_body_is_refused(self, client: Client) -> None:
        create_collection(name="c")
        fill("c", 3)
        answer = client.delete("/collections/c/documents/all", {"where": {"n": 1}}, JSON)
        assert (answer.status_code, answer.json()["code"]) == (400, "body_not_expected")
        assert held("c") == 3

    def test_the_answer_may_be_a_job_at_once(self, client: Client) -> None:
        create_collection(name="c")
        fill("c", 3)
        answer = empty(client, "c", prefer="wait=5, Respond-Async; x")
        assert answer.status_code == 202
        assert answer.headers["Preference-Applied"] == "respond-async"
        job = answer.json()
        assert answer.headers["Location"] == f"/api/rag/jobs/{job['id']}"
        assert (job["kind"], job["collection"], job["state"], job["items"]) == ("empty", "c", "queued", [])
        assert held("c") == 3
        run_job(job_id=job["id"], stopping=never)
        ended = client.get(answer.headers["Location"]).json()
        assert (ended["state"], ended["result"]) == ("succeeded", {"count_deleted": 3, "documents_deleted": 0})
        assert (ended["total"], ended["done"], ended["step"], ended["error"]) == (3, 3, None, None)
        assert held("c") == 0

    def test_trying_an_emptying_again_takes_the_right_to_delete(self, client: Client, settings: Any) -> None:
        create_collection(name="c")
        job = empty(client, "c", prefer="respond-async").json()["id"]
        client.post(f"/api/rag/jobs/{job}/cancel")
        statuses = []
        for verbs in ([Verb.WRITE], [Verb.WRITE, Verb.DELETE]):
            _key, secret = create_key(name="k", verbs=verbs, collections=["*"])
            statuses.append(client.post(f"/api/rag/jobs/{job}/retry", headers={"x-api-key": secret}).status_code)
        assert statuses == [403, 202]

    def test_every_answer_is_as_documented(self) -> None:
        client = ContractClient(Contract(), headers={"host": "127.0.0.1"})
        create_collection(name="c")
        fill("c", 3)
        statuses = [
            empty(client, name, query, **headers).status_code
            for name, query, headers in (
                ("c", "?dry_run=true", {}),
                ("c", "", {"prefer": "respond-async"}),
                ("c", "", {}),
                ("c", "?x=1", {}),
                ("nowhere", "", {}),
            )
        ]
        assert statuses == [200, 202, 200, 400, 404]

    def test_large_emptyings_have_their_space_reclaimed(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
    ) -> None:
        sent: list[tuple[str, str]] = []

        def send_task(name: str, *, args: list[str], queue: str, **_: Any) -> None:
            sent.append((args[0], queue))

        monkeypatch.setattr("celery.current_app.send_task", send_task)
        monkeypatch.setattr(emptying, "RECLAIM_FROM", 3)
        for name, count in (("small", 2), ("large", 3)):
            create_collection(name=name)
            fill(name, count)
            with django_capture_on_commit_callbacks(execute=True):
                empty(client, name)
        job = Job.objects.select_related("collection").get()
        assert (job.kind, job.collection_name, job.state) == ("reclaim", "large", "queued")
        assert sent == [(str(job.pk), "maintenance")]


@pytest.mark.django_db(transaction=True)
def test_while_another_write_goes_on_it_is_503(client: Client, settings: Any) -> None:
    section = settings.RAGSITE.vector_database.model_copy(update={"lock_timeout_seconds": 0.05})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"vector_database": section})
    collection = create_collection(name="c")
    fill("c", 3)
    locked, done = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with transaction.atomic():
                lock_collection(collection_id=collection.pk)
                locked.set()
                done.wait(10)
        finally:
            connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    assert locked.wait(10)
    answer = empty(client, "c")
    done.set()
    writer.join()
    assert (answer.status_code, answer.json()["code"]) == (503, "collection_busy")
    assert "Retry-After" in answer.headers
    assert held("c") == 3
