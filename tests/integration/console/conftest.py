"""Staff with chosen permissions, and rows to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from access_app.models import ApiKey, User
from access_app.services import create_key
from collections_app.models import Chunk, Collection, Document, NamedFilter
from collections_app.services import create_collection
from connections_app.models import Connection
from ingest_app.models import Connector, Item, Job, Payload
from search_app.models import Judgement, QueryLog, TestCase, TestRun

Login = Callable[..., Client]


@pytest.fixture
def login(db: None) -> Login:
    """`login("collections.view_collection", ...)`: a client of a staff user with exactly these permissions.

    They hold on all collections, or on those of `collections=`.
    """

    def make(
        *permissions: str, staff: bool = True, superuser: bool = False, collections: Sequence[str] = ("*",)
    ) -> Client:
        name = f"user{User.objects.count()}"
        user = User.objects.create(username=name, is_staff=staff, is_superuser=superuser, collections=list(collections))
        for permission in permissions:
            app, codename = permission.split(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
        client = Client(headers={"host": "127.0.0.1"})
        client.force_login(user)
        return client

    return make


@pytest.fixture
def root(login: Login) -> Client:
    """A superuser's client."""
    return login(superuser=True)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """One row of everything."""

    collection: Collection
    document: Document
    chunk: Chunk
    job: Job
    item: Item
    key: ApiKey
    connector: Connector
    query: QueryLog
    case: TestCase
    kept: NamedFilter
    #: Of the whole server: nobody who reaches some collections alone sees it.
    connection: Connection


def make_rows(*, name: str = "handbook", text: str = "Ducks eat small fish.") -> Rows:
    """A collection with one document of one chunk, a running job, and a key."""
    collection = create_collection(name=name, metadata={text: text})
    document = Document.objects.create(
        collection=collection, source=text, title=text, metadata={text: [text]}, chunk_count=1, error=text
    )
    chunk = Chunk.objects.create(
        collection=collection,
        document=document,
        external_id=f"{text}:0",
        text=text,
        metadata={text: text},
        section_path=[text],
        ordinal=0,
        page=3,
        start_offset=0,
        end_offset=len(text),
    )
    job = Job.objects.create(collection=collection)
    item = Item.objects.create(job=job, ordinal=0, source=text, error=text, size_bytes=10)
    Payload.objects.create(item=item, content=b"# A file")
    key, _ = create_key(name=text, verbs=["read"], collections=[name])
    connector = Connector.objects.create(
        collection=collection, kind="urls", urls=["https://example.org/"], metadata={text: text}, origin="urls:1"
    )
    query = QueryLog.objects.create(
        asked_by=text,
        request_id="r1",
        collections=[name],
        text=text,
        text_form="plain",
        mode="balanced",
        fusion="rrf",
        query_strategy="first message (raw query)",
        top_k=5,
        filtered=False,
        result_count=1,
        results=[[name, f"{text}:0"]],
        warnings=["no_embedder"],
        took_ms=12.3,
        stages_ms={"words": 3.2},
    )
    case = TestCase.objects.create(
        collection=collection, name=text, query=text, topic=text, where={text: text}, saved_by=text, expected=1.0
    )
    Judgement.objects.create(case=case, external_id=f"{text}:0", source=text, excerpt=text, grade=1)
    TestRun.objects.create(case=case, ran_by=text, ndcg_at_10=1.0, hit=True, first_rank=1, results=[f"{text}:0", text])
    return Rows(
        collection=collection,
        document=document,
        chunk=chunk,
        job=job,
        item=item,
        key=key,
        connector=connector,
        query=query,
        case=case,
        kept=NamedFilter.objects.create(collection=collection, name=text, where={text: text}),
        # Nothing listens there.
        connection=Connection.objects.create(
            name=name if name.isascii() else "far", provider="remote", settings={"url": "http://127.0.0.1:9"}
        ),
    )


@pytest.fixture
def rows(db: None) -> Rows:
    """The usual ones."""
    return make_rows()


def is_of_the_server(path: str) -> bool:
    """Whether a page is about the whole server, so for those alone who reach every collection."""
    return path.startswith("connections/")


def pages(rows: Rows) -> dict[str, tuple[str, ...]]:
    """Every page of the console's own that can be asked for with GET, and the permissions it needs."""
    collection, document, chunk, job = rows.collection.pk, rows.document.pk, rows.chunk.pk, rows.job.pk
    connector = rows.connector.pk
    return {
        "collections/collection/": ("collections.view_collection",),
        "collections/collection/add/": ("collections.add_collection",),
        f"collections/collection/{collection}/change/": ("collections.view_collection",),
        f"collections/collection/{collection}/delete/": (
            "collections.view_collection",
            "collections.delete_collection",
        ),
        f"collections/collection/{collection}/empty/": (
            "collections.view_collection",
            "collections.delete_document",
            "collections.delete_chunk",
        ),
        f"collections/collection/{collection}/chunking/": ("collections.view_collection",),
        f"collections/collection/{collection}/language/": ("collections.view_collection",),
        f"collections/collection/{collection}/placement/": ("collections.view_collection",),
        f"collections/collection/{collection}/embedding/": ("collections.view_collection",),
        f"collections/collection/{collection}/settings/": ("collections.view_collection",),
        f"collections/collection/{collection}/clone/": (
            "collections.view_collection",
            "collections.add_collection",
            "collections.view_document",
            "collections.view_chunk",
        ),
        "collections/collection/import/": (
            "collections.view_collection",
            "collections.change_collection",
            "collections.view_document",
            "collections.change_document",
            "collections.view_chunk",
            "collections.change_chunk",
            "collections.delete_chunk",
        ),
        f"collections/collection/{collection}/coverage/": ("collections.view_collection",),
        "collections/collection/home/coverage/": ("collections.view_collection",),
        "collections/collection/home/searches/": ("search.view_querylog",),
        "collections/collection/home/failures/": ("ingest.view_job",),
        "collections/collection/home/health/": ("ingest.view_job",),
        f"collections/collection/{collection}/fields/": ("collections.view_collection", "collections.view_chunk"),
        f"collections/collection/{collection}/filters/": ("collections.view_collection", "collections.view_chunk"),
        f"collections/collection/{collection}/filters/{rows.kept.pk}/history/": (
            "access.view_auditentry",
            "collections.view_collection",
            "collections.view_chunk",
        ),
        "collections/collection/query/": ("collections.view_collection", "collections.view_chunk"),
        "collections/collection/rerank/": ("collections.view_collection", "collections.view_chunk"),
        "collections/document/": ("collections.view_document",),
        f"collections/document/{document}/change/": ("collections.view_document",),
        f"collections/document/{document}/delete/": ("collections.view_document", "collections.delete_document"),
        "collections/chunk/": ("collections.view_chunk",),
        f"collections/chunk/{chunk}/change/": ("collections.view_chunk",),
        f"collections/chunk/{chunk}/edit/": ("collections.view_chunk", "collections.change_chunk"),
        f"collections/document/{document}/read/": ("collections.view_document", "collections.view_chunk"),
        "ingest/connector/": ("ingest.view_connector",),
        "ingest/connector/add/": ("collections.view_collection", "ingest.add_connector"),
        f"ingest/connector/{connector}/change/": ("collections.view_collection", "ingest.view_connector"),
        f"ingest/connector/{connector}/delete/": (
            "collections.view_collection",
            "ingest.view_connector",
            "ingest.delete_connector",
        ),
        "ingest/job/": ("ingest.view_job",),
        "ingest/job/add/": ("collections.view_collection", "ingest.add_job"),
        "ingest/job/recent/": ("ingest.view_job",),
        f"ingest/job/{job}/change/": ("ingest.view_job",),
        f"ingest/job/{job}/progress/": ("ingest.view_job",),
        f"ingest/job/{job}/log/": ("ingest.view_job",),
        "connections/connection/": ("connections.view_connection",),
        "connections/connection/add/": ("connections.add_connection",),
        f"connections/connection/{rows.connection.pk}/change/": ("connections.view_connection",),
        f"connections/connection/{rows.connection.pk}/attach/": (
            "collections.view_collection",
            "collections.add_collection",
            "connections.view_connection",
            "connections.change_connection",
        ),
        f"connections/connection/{rows.connection.pk}/import/": (
            "collections.view_collection",
            "collections.change_collection",
            "collections.view_document",
            "collections.change_document",
            "collections.view_chunk",
            "collections.change_chunk",
            "collections.delete_chunk",
            "connections.view_connection",
            "connections.change_connection",
        ),
        f"connections/connection/{rows.connection.pk}/delete/": (
            "connections.view_connection",
            "connections.delete_connection",
        ),
        f"connections/connection/{rows.connection.pk}/history/": (
            "connections.view_connection",
            "access.view_auditentry",
        ),
        "search/testcase/": ("collections.view_collection", "collections.view_chunk", "search.view_testcase"),
        f"search/testcase/{rows.case.pk}/change/": (
            "collections.view_collection",
            "collections.view_chunk",
            "search.view_testcase",
        ),
        f"search/testcase/{rows.case.pk}/delete/": (
            "collections.view_collection",
            "collections.view_chunk",
            "search.view_testcase",
            "search.delete_testcase",
        ),
        f"search/testcase/run/?collection={collection}": (
            "collections.view_collection",
            "collections.view_chunk",
            "search.view_testcase",
            "search.add_testrun",
        ),
        "search/querylog/": ("search.view_querylog",),
        f"search/querylog/{rows.query.pk}/change/": ("search.view_querylog",),
        "access/auditentry/": ("access.view_auditentry",),
        f"collections/collection/{collection}/history/": ("collections.view_collection", "access.view_auditentry"),
        f"collections/document/{document}/history/": ("collections.view_document", "access.view_auditentry"),
        f"collections/chunk/{chunk}/history/": ("collections.view_chunk", "access.view_auditentry"),
        f"ingest/connector/{connector}/history/": ("ingest.view_connector", "access.view_auditentry"),
        f"ingest/job/{job}/history/": ("ingest.view_job", "access.view_auditentry"),
        f"access/apikey/{rows.key.pk}/history/": ("access.view_apikey", "access.view_auditentry"),
        "access/apikey/": ("access.view_apikey",),
        "access/apikey/add/": ("access.add_apikey",),
        f"access/apikey/{rows.key.pk}/change/": ("access.view_apikey",),
    }
