"""Copies of collections: the same is found, nothing is embedded again, and it is all or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from access_app.services import create_key
from collections_app import cloning
from collections_app.cloning import clone_collection
from collections_app.models import Alias, Chunk, Collection, Document, DocumentText
from collections_app.services import create_collection
from core_app.errors import Conflict, InvalidInput, NotFound, TooLarge
from core_app.sql import statement
from ingest_app.models import Connector, Job
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from search_app.services import search

pytestmark = pytest.mark.django_db

JSON = "application/json"


def never() -> bool:
    return False


@pytest.fixture
def source(db: None) -> Collection:
    """Two documents of some chunks, one that failed, a chunk of its own, settings and another name."""
    made = create_collection(
        name="tea", metadata={"a": {"b": 1}}, language="german", chunking={"strategy": "structure", "size": 64}
    )
    Collection.objects.filter(pk=made.pk).update(search={"mode": "fast"}, k1=1.5)
    Alias.objects.create(collection=made, name="chai")
    Connector.objects.create(collection=made, kind="urls", urls=["https://example.org/"], origin="urls:1")
    texts = {name: "\n\n".join(f"# Part {n}\n\nOolong {name} {n}." for n in range(4)) for name in ("b.md", "a.md")}
    sources = [Source(name=name, content=text.encode(), metadata={"of": name}) for name, text in texts.items()]
    job = submit(collection_name="tea", sources=[*sources, Source(name="broken.md", content=b"")])
    run_job(job_id=job.pk, stopping=never)
    Document.objects.filter(source="a.md").update(origin="urls:1")
    return Collection.objects.get(pk=made.pk)


def hits(name: str) -> list[tuple[str, str, float]]:
    found = search(collection_name=name, query="Oolong 2", top_k=5, asked_by="test")
    return [(hit.id, hit.content, round(hit.score, 6)) for hit in found.hits]


def test_the_same_is_found_in_the_copy(source: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hits("tea")
    with monkeypatch.context() as patched:
        patched.setattr("inference_app.hashing.HashingEmbedder.embed_documents", pytest.fail)
        made = clone_collection(name="tea", new_name="copy")
    assert made.count == Chunk.objects.filter(collection=source).count() > 1
    assert hits("copy") == before
    # Neither holds the other's rows.
    Collection.objects.get(name="tea").delete()
    assert hits("copy") == before


def test_rows_are_the_same_but_for_their_keys(source: Collection) -> None:
    copy = clone_collection(name="chai", new_name="copy").collection

    def rows(collection: Collection) -> list[dict[str, Any]]:
        other = {"id", "collection_id", "document_id", "position"}
        found = Chunk.objects.filter(collection=collection).order_by("position").select_related("document")
        return [
            {
                **{field.attname: getattr(row, field.attname) for field in Chunk._meta.concrete_fields},
                **dict.fromkeys(other),
                "source": row.document and row.document.source,
            }
            for row in found
        ]

    def documents(collection: Collection) -> list[dict[str, Any]]:
        other = {"id", "collection_id", "created_at", "updated_at", "origin"}
        names = [field.attname for field in Document._meta.concrete_fields if field.attname not in other]
        return list(Document.objects.filter(collection=collection).order_by("source").values(*names))

    assert rows(copy) == rows(source)
    assert documents(copy) == documents(source)
    assert set(Document.objects.filter(collection=copy).values_list("origin", flat=True)) == {""}
    texts = DocumentText.objects.filter(document__collection=copy)
    assert texts.count() == DocumentText.objects.filter(document__collection=source).count() == 2
    for field in ("metadata", "language", "chunking", "search", "k1", "b", "distance", "store"):
        assert getattr(copy, field) == getattr(source, field), field
    assert copy.uid != source.uid
    assert (copy.alias_rows.count(), copy.connectors.count(), Job.objects.filter(collection=copy).count()) == (0, 0, 0)


@pytest.mark.parametrize(
    ("name", "model"), [("clone_documents", Document), ("clone_chunks", Chunk), ("clone_texts", DocumentText)]
)
def test_no_column_is_forgotten(name: str, model: Any) -> None:
    """A column that is new belongs into the statement, or its value is lost in copies."""
    head = statement("collections_app", name).partition("INSERT INTO")[2].partition("(")[2].partition(")")[0]
    written = {column.strip() for column in head.split(",")}
    assert written | {"id"} == {field.column for field in model._meta.concrete_fields} | {"id"}


def test_a_copy_can_be_cut_anew_and_skips_what_has_not_changed(source: Collection) -> None:
    clone_collection(name="tea", new_name="copy")
    text = "\n\n".join(f"# Part {n}\n\nOolong a.md {n}." for n in range(4))
    job = submit(collection_name="copy", sources=[Source(name="a.md", content=text.encode(), metadata={"of": "a.md"})])
    run_job(job_id=job.pk, stopping=never)
    assert job.items.get().state == "skipped"


@pytest.mark.parametrize(
    ("new_name", "error"), [("tea", Conflict), ("chai", Conflict), ("a/b", InvalidInput), (" ", InvalidInput)]
)
def test_names_that_cannot_be(source: Collection, new_name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        clone_collection(name="tea", new_name=new_name)
    with pytest.raises(NotFound):
        clone_collection(name="coffee", new_name="copy")
    assert Collection.objects.count() == 1


@pytest.mark.parametrize("limit", ["MOST_CHUNKS", "MOST_DOCUMENTS"])
def test_what_is_too_large_is_refused(source: Collection, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloning, limit, 1)
    with pytest.raises(TooLarge):
        clone_collection(name="tea", new_name="copy")


def test_chunks_without_vectors_are_no_half_copies(source: Collection) -> None:
    Chunk.objects.create(collection=source, external_id="x", text="t")
    with pytest.raises(Conflict, match="have no vectors"):
        clone_collection(name="tea", new_name="copy")
    assert (Collection.objects.count(), Document.objects.exclude(collection=source).count()) == (1, 0)
    empty = create_collection(name="empty")
    Chunk.objects.create(collection=empty, external_id="x", text="t")
    with pytest.raises(Conflict, match="have no vectors"):
        clone_collection(name="empty", new_name="copy")


def test_an_empty_collection_has_an_empty_copy(db: None) -> None:
    create_collection(name="empty", metadata={"a": 1})
    made = clone_collection(name="empty", new_name="copy")
    assert (made.count, made.collection.metadata, made.collection.active_generation) == (0, {"a": 1}, None)


def test_vectors_of_callers_stay_theirs(client: Client, db: None) -> None:
    client.post("/collections", {"name": "own"}, JSON)
    documents = [{"id": name, "text": name, "embedding": [1.0, number]} for number, name in enumerate("abc")]
    client.post("/collections/own/documents", {"documents": documents}, JSON)
    assert client.post("/collections/own/clone", {"name": "copy"}, JSON).json()["count"] == 3
    asked = {"query_embedding": [1.0, 2.0], "top_k": 2}
    found = client.post("/collections/copy/query", asked, JSON).json()
    assert found == client.post("/collections/own/query", asked, JSON).json()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT chunk_id), count(*) FROM stores_vector")
        assert cursor.fetchone() == (6, 6)


def test_over_http_it_takes_read_there_and_write_here(source: Collection) -> None:
    def status(verbs: list[str], collections: list[str], name: str) -> int:
        _key, secret = create_key(name="k", verbs=verbs, collections=collections)
        client = Client(headers={"host": "127.0.0.1", "x-api-key": secret})
        return client.post("/collections/tea/clone", {"name": name}, JSON).status_code

    assert status(["write"], ["*"], "copy") == 403
    assert status(["read"], ["*"], "copy") == 403
    assert status(["read", "write"], ["tea"], "copy") == 403
    assert not Collection.objects.filter(name="copy").exists()
    assert status(["read", "write"], ["tea", "copy"], "copy") == 201
    assert status(["read", "write"], ["tea", "copy"], "copy") == 409


def test_on_the_command_line(source: Collection, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("clone_collection", "tea", "copy")
    assert "Collection 'copy' has the same" in capsys.readouterr().out
    with pytest.raises(CommandError, match="already exists"):
        call_command("clone_collection", "tea", "copy")
