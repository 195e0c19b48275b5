"""Every service that changes something has its entry, whoever calls it: people, programs, commands, workers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.test import Client

from access_app.acting import Door, acting
from access_app.audit_words import ACTIONS
from access_app.models import ApiKey, AuditEntry, Reach, User
from access_app.services import create_key
from collections_app.adding import NewChunk, add_chunks
from collections_app.models import Chunk, Collection, Document
from collections_app.services import create_collection, delete_collection
from ingest_app.comparing import remove_vanished
from ingest_app.models import Connector, Job
from ingest_app.services import start_emptying
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from tests.integration.audit.entries import entries, entry

pytestmark = pytest.mark.django_db

JSON = "application/json"


@pytest.fixture
def jo(db: None) -> Client:
    """A superuser in the console."""
    client = Client(headers={"host": "127.0.0.1", "x-request-id": "of-jo"})
    client.force_login(User.objects.create(username="jo", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def tea(db: None) -> Collection:
    return create_collection(name="tea")


def work_off(job: Job) -> None:
    run_job(job_id=job.pk, stopping=lambda: False)


def ingest(name: str = "guide.md", text: str = "# Tea\n\nOolong.") -> Document:
    job = submit(collection_name="tea", sources=[Source(name=name, content=text.encode(), is_text=True)])
    work_off(job)
    return Document.objects.get(source=name)


def put(*ids: str) -> None:
    chunks = [NewChunk(external_id=name, text=f"text {name}", metadata={"n": 1}) for name in ids]
    vectors = np.eye(len(ids), 4, dtype=np.float32)
    add_chunks(collection_name="tea", chunks=chunks, embeddings=lambda: vectors)


class TestConsole:
    """The door for people."""

    def assert_jo_did(self, action: str, **expected: Any) -> AuditEntry:
        found = entry(action)
        assert (found.actor, found.door, found.request_id) == ("jo", "console", "of-jo")
        for name, value in expected.items():
            assert getattr(found, name) == value, name
        return found

    def test_collections(self, jo: Client) -> None:
        fields = {"name": "tea", "distance": "cosine", "language": "english", "metadata": ""}
        jo.post("/admin/collections/collection/add/", fields)
        tea = Collection.objects.get()
        self.assert_jo_did("collection.created", object_id=str(tea.pk), collection="tea")
        page = f"/admin/collections/collection/{tea.pk}/"
        jo.post(f"{page}change/", {"metadata": '{"a": 1}'})
        self.assert_jo_did("collection.metadata_changed", after={"metadata": {"a": 1}})
        jo.post(f"{page}language/", {"language": "german"})
        self.assert_jo_did("collection.language_changed", before={"language": "english"}, after={"language": "german"})
        jo.post(f"{page}chunking/", {"strategy": "fixed", "size": "100", "overlap": "0", "save": ""})
        found = self.assert_jo_did("collection.chunking_changed", before={})
        assert (found.after or {})["strategy"] == "fixed"
        jo.post(f"{page}empty/", {"name": "tea"})
        self.assert_jo_did("collection.emptied", before={"chunks": 0, "documents": 0})
        jo.post(f"{page}delete/", {"name": "tea"})
        self.assert_jo_did("collection.deleted", object_name="tea")

    def test_documents(self, jo: Client, tea: Collection) -> None:
        document = ingest()
        jo.post(f"/admin/collections/document/{document.pk}/delete/")
        before = {"source": "guide.md", "title": "Tea", "chunks": document.chunk_count}
        self.assert_jo_did("document.deleted", object_id=str(document.pk), collection="tea", before=before)

    def test_connectors_and_their_jobs(self, jo: Client, tea: Collection) -> None:
        urls = {"urls": "https://example.org/a", "every_seconds": "", "metadata": ""}
        jo.post("/admin/ingest/connector/add/", {"collection": "tea", "kind": "urls", **urls})
        connector = Connector.objects.get()
        found = self.assert_jo_did("connector.created", collection="tea")
        assert (found.after or {})["urls"] == ["https://example.org/a"]
        page = f"/admin/ingest/connector/{connector.pk}/"
        jo.post(f"{page}change/", {**urls, "every_seconds": "3600"})
        changed = {"before": {"every_seconds": None}, "after": {"every_seconds": 3600}}
        self.assert_jo_did("connector.changed", **changed)
        jo.post(f"{page}run/")
        job = Job.objects.get()
        found = self.assert_jo_did("job.submitted", object_id=str(job.pk), collection="tea")
        assert found.after == {"kind": "sync", "connector": "1 address", "dry_run": False}
        jo.post(f"/admin/ingest/job/{job.pk}/cancel/")
        self.assert_jo_did("job.cancelled", object_id=str(job.pk))
        jo.post(f"{page}delete/")
        self.assert_jo_did("connector.deleted", object_id=str(connector.pk))

    def test_a_job_is_tried_again(self, jo: Client, tea: Collection) -> None:
        job = submit(collection_name="tea", sources=[Source(name="a.md", content=b"a", is_text=True)])
        jo.post(f"/admin/ingest/job/{job.pk}/cancel/")
        jo.post(f"/admin/ingest/job/{job.pk}/cancel/")
        assert len(entries("job.cancelled")) == 1
        jo.post(f"/admin/ingest/job/{job.pk}/retry/")
        self.assert_jo_did("job.retried", object_id=str(job.pk), collection="tea")

    def test_keys(self, jo: Client) -> None:
        jo.post("/admin/access/apikey/add/", {"name": "app", "verbs": ["read"], "collections": "a\nb*"})
        key = ApiKey.objects.get()
        found = self.assert_jo_did("key.made", object_id=str(key.pk), collection="")
        assert found.after == {"verbs": ["read"], "collections": ["a", "b*"], "expires_at": None}
        jo.post(f"/admin/access/apikey/{key.pk}/revoke/")
        jo.post(f"/admin/access/apikey/{key.pk}/revoke/")
        self.assert_jo_did("key.revoked")
        assert len(entries("key.revoked")) == 1

    def test_users_and_groups(self, jo: Client) -> None:
        fields = {"name": "tea people", "collections": "team-*\ntea"}
        jo.post("/admin/auth/group/add/", fields)
        group = Group.objects.get(name="tea people")
        assert group.reach.collections == ["team-*", "tea"]
        self.assert_jo_did("group.changed", object_name="tea people", after={"collections": ["team-*", "tea"]})
        see = Permission.objects.get(codename="view_chunk")
        jo.post(f"/admin/auth/group/{group.pk}/change/", {**fields, "collections": "tea", "permissions": [see.pk]})
        changes = [
            (found.before, found.after) for found in entries("group.changed") if found.object_id == str(group.pk)
        ]
        assert ({"collections": ["team-*", "tea"]}, {"collections": ["tea"]}) in changes
        assert (None, {"permissions_added": ["collections.view_chunk"]}) in changes
        kim = User.objects.create_user("kim", password="a long password 7")
        user = {"username": "kim", "is_active": "on", "is_staff": "on", "groups": [group.pk], "collections": "cake"}
        dates = {"date_joined_0": "2026-01-01", "date_joined_1": "10:00:00", "last_login_0": "", "last_login_1": ""}
        assert jo.post(f"/admin/access/user/{kim.pk}/change/", {**user, **dates}).status_code == 302
        changes = [(found.before, found.after) for found in entries("user.changed")]
        assert ({"is_staff": False, "collections": []}, {"is_staff": True, "collections": ["cake"]}) in changes
        assert (None, {"groups_added": ["tea people"]}) in changes
        jo.post(f"/admin/access/user/{kim.pk}/delete/", {"post": "yes"})
        self.assert_jo_did("user.deleted", object_name="kim")
        group.delete()
        assert entry("group.deleted").before == {"name": "tea people"}
        assert not Reach.objects.filter(collections=["tea"]).exists()

    def test_to_log_in_is_no_change(self, jo: Client) -> None:
        before = AuditEntry.objects.count()
        Client(headers={"host": "127.0.0.1"}).force_login(User.objects.get())
        assert AuditEntry.objects.count() == before


class TestApi:
    """The door for programs."""

    @pytest.fixture
    def app(self, db: None, settings: Any) -> Client:
        key, secret = create_key(name="app", verbs=["read", "search", "write", "delete"], collections=["*"])
        self.name = str(key)
        return Client(headers={"host": "127.0.0.1", "authorization": f"Bearer {secret}", "x-request-id": "of-app"})

    def did(self, action: str) -> AuditEntry:
        found = entry(action)
        assert (found.actor, found.door, found.request_id) == (self.name, "api", "of-app")
        return found

    def send(self, app: Client, method: str, path: str, body: Any = None) -> Any:
        answer = app.generic(method, path, json.dumps(body).encode() if body is not None else b"", content_type=JSON)
        assert answer.status_code < 300, answer.content
        return answer

    def test_collections(self, app: Client) -> None:
        self.send(app, "POST", "/collections", {"name": "tea"})
        assert self.did("collection.created").object_name == "tea"
        self.send(app, "PUT", "/collections/tea/metadata", {"metadata": {"a": 1}})
        assert self.did("collection.metadata_changed").after == {"metadata": {"a": 1}}
        self.send(app, "PUT", "/api/rag/collections/tea/search-settings", {"mode": "fast"})
        assert self.did("collection.search_changed").after == {"mode": "fast"}
        self.send(app, "PATCH", "/collections/tea", {"name": "cake", "keep_alias": True})
        found = self.did("collection.changed")
        assert (found.before, found.after) == ({"name": "tea", "aliases": []}, {"name": "cake", "aliases": ["tea"]})
        self.send(app, "DELETE", "/collections/cake")
        assert self.did("collection.deleted").object_name == "cake"

    def test_documents(self, app: Client, tea: Collection) -> None:
        put("a", "b", "c")
        assert entry("chunks.added").after == {"chunks": 3}
        assert len(entries("chunks.added")) == 1
        self.send(app, "PATCH", "/collections/tea/documents/a", {"metadata": {"n": 2}})
        found = self.did("chunk.changed")
        assert (found.object_name, found.collection) == ("a", "tea")
        assert (found.before, found.after) == ({"metadata": {"n": 1}}, {"metadata": {"n": 2}})
        vector = [1.0, 0.0, 0.0, 0.0]
        self.send(app, "PATCH", "/collections/tea/documents/a", {"text": "new", "embedding": vector})
        assert self.did("chunk.changed").after == {"text": "new", "embedding": "replaced"}
        self.send(app, "DELETE", "/collections/tea/documents", {"ids": ["a", "b", "unknown"]})
        assert self.did("chunks.deleted").before == {"chunks": 2, "ids": ["a", "b", "unknown"]}
        self.send(app, "DELETE", "/collections/tea/documents", {"ids": ["unknown"]})
        assert len(entries("chunks.deleted")) == 1
        assert Chunk.objects.count() == 1

    def test_jobs(self, app: Client, tea: Collection) -> None:
        body = {"documents": [{"source": "a.md", "text": "alpha"}, {"source": "b.md", "text": "beta"}]}
        self.send(app, "POST", "/api/rag/collections/tea/documents", body)
        found = self.did("job.submitted")
        assert found.after == {"kind": "ingest", "files": 2, "names": ["a.md", "b.md"]}
        self.send(app, "DELETE", "/collections/tea/documents/all")
        assert self.did("collection.emptied").collection == "tea"

    def test_reading_and_searching_record_nothing(self, app: Client, tea: Collection) -> None:
        ingest()
        before = AuditEntry.objects.count()
        self.send(app, "POST", "/api/rag/collections/tea/search", {"query": "oolong"})
        self.send(app, "GET", "/collections/tea")
        assert AuditEntry.objects.count() == before

    def test_a_call_without_a_key_is_local(self, client: Client) -> None:
        self.send(client, "POST", "/collections", {"name": "tea"})
        assert (entry("collection.created").actor, entry("collection.created").door) == ("local", "api")


class TestWorkersAndCommands:
    """The doors that nobody sees."""

    def test_a_worker_acts_for_whoever_submitted_the_job(self, jo: Client, tea: Collection) -> None:
        ingest()
        jo.post(f"/admin/collections/collection/{tea.pk}/change/", {"metadata": "{}"})
        with acting(door=Door.CONSOLE, name="jo"):
            job = start_emptying(name="tea")
        work_off(job)
        assert Job.objects.get(pk=job.pk).state == Job.State.SUCCEEDED
        found = entry("collection.emptied")
        assert (found.actor, found.door) == ("jo", "task")
        assert (found.before or {})["documents"] == 1

    def test_what_nobody_asked_for_is_the_server_s(self, tea: Collection) -> None:
        job = Job.objects.create(kind=Job.Kind.EMPTY, collection=tea)
        work_off(job)
        assert (entry("collection.emptied").actor, entry("collection.emptied").door) == ("server", "task")

    def test_vanished_documents_are_one_entry(self, tea: Collection) -> None:
        for name in ("a.md", "b.md"):
            ingest(name)
        Document.objects.update(origin="folder:/x")
        assert remove_vanished(collection=tea, sources=["a.md", "b.md", "c.md"], origin="folder:/x") == 2
        assert [found.before for found in entries("connector.cleared")] == [
            {"documents": 2, "sources": ["a.md", "b.md"]}
        ]

    def test_a_command_acts_under_the_name_at_the_operating_system(self, settings: Any) -> None:
        call_command("create_api_key", "bot", "--verb", "read", "--collection", "*", verbosity=0)
        assert entry("key.made").door == "cli"
        assert entry("key.made").actor.startswith("cli:")


def test_every_action_is_recorded_by_some_service() -> None:
    """A name that nothing records any more is taken off the list."""
    rooms = Path(__file__).resolve().parents[3].glob("*_app/**/*.py")
    found = r"\b(?:record|_note)\(\s*\"([a-z_.]+)\""
    recorded = {name for path in rooms for name in re.findall(found, path.read_text())}
    by_kind = {f"{kind}.{verb}" for kind in ("user", "group") for verb in ("created", "changed", "deleted")}
    assert set(ACTIONS) == (recorded | by_kind) - {"subject.verb"}


def test_a_dropped_collection_keeps_its_entries(tea: Collection) -> None:
    delete_collection(name="tea")
    create_collection(name="tea")
    assert len(entries("collection.created")) == 2
