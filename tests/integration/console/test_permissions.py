"""Who may see and do what in the console."""

from __future__ import annotations

import pytest
from django.test import Client

from access_app.models import ApiKey, User
from collections_app.models import Collection, Document
from ingest_app.models import Connector, Job
from tests.integration.console.conftest import Login, Rows, pages

pytestmark = pytest.mark.django_db

ALL = (
    "ingest.view_connector",
    "ingest.add_connector",
    "ingest.change_connector",
    "ingest.delete_connector",
    "collections.view_collection",
    "collections.add_collection",
    "collections.change_collection",
    "collections.delete_collection",
    "collections.view_document",
    "collections.delete_document",
    "collections.view_chunk",
    "collections.change_chunk",
    "collections.delete_chunk",
    "ingest.view_job",
    "ingest.add_job",
    "ingest.change_job",
    "search.view_querylog",
    "search.view_testcase",
    "search.add_testcase",
    "search.delete_testcase",
    "search.add_testrun",
    "access.view_apikey",
    "access.add_apikey",
    "access.change_apikey",
    "access.view_auditentry",
)


def test_every_page_opens_with_its_permissions_alone(login: Login, rows: Rows) -> None:
    for path, needed in pages(rows).items():
        answer = login(*needed).get(f"/admin/{path}")
        assert answer.status_code == 200, (path, answer.status_code)


def test_every_page_is_refused_when_one_of_its_permissions_is_missing(login: Login, rows: Rows) -> None:
    for path, needed in pages(rows).items():
        for missing in needed:
            client = login(*(permission for permission in ALL if permission != missing))
            assert client.get(f"/admin/{path}").status_code == 403, (path, missing)


def test_every_page_sends_strangers_to_the_login(client: Client, login: Login, rows: Rows) -> None:
    customer = login(*ALL, staff=False)
    for path in ["", *pages(rows)]:
        for who in (client, customer):
            answer = who.get(f"/admin/{path}")
            assert answer.status_code == 302, path
            assert answer["Location"].startswith("/admin/login/"), path


def test_writing_needs_its_own_permission(login: Login, rows: Rows) -> None:
    changes = {
        f"collections/collection/{rows.collection.pk}/change/": ("collections.change_collection", {"metadata": "{}"}),
        f"collections/collection/{rows.collection.pk}/delete/": ("collections.delete_collection", {"name": "handbook"}),
        f"collections/collection/{rows.collection.pk}/empty/": ("collections.delete_chunk", {"name": "handbook"}),
        f"collections/collection/{rows.collection.pk}/chunking/": ("collections.change_collection", {"save": ""}),
        f"collections/collection/{rows.collection.pk}/chunking/?": ("collections.view_chunk", {"source": "guide.md"}),
        f"collections/document/{rows.document.pk}/delete/": ("collections.delete_document", {}),
        f"collections/document/{rows.document.pk}/again/": ("ingest.add_job", {}),
        f"collections/chunk/{rows.chunk.pk}/edit/": ("collections.change_chunk", {"save": ""}),
        f"collections/chunk/{rows.chunk.pk}/disable/": ("collections.change_chunk", {}),
        f"ingest/connector/{rows.connector.pk}/change/": ("ingest.change_connector", {}),
        f"ingest/connector/{rows.connector.pk}/delete/": ("ingest.delete_connector", {}),
        f"ingest/connector/{rows.connector.pk}/run/": ("ingest.add_job", {}),
        f"ingest/job/{rows.job.pk}/cancel/": ("ingest.change_job", {}),
        f"ingest/job/{rows.job.pk}/retry/": ("ingest.change_job", {}),
        "search/testcase/add/": ("search.add_testcase", {"name": "x"}),
        f"search/testcase/{rows.case.pk}/run/": ("search.add_testrun", {}),
        f"search/testcase/{rows.case.pk}/expect/": ("search.add_testcase", {}),
        f"search/testcase/{rows.case.pk}/delete/": ("search.delete_testcase", {}),
        f"search/testcase/run/?collection={rows.collection.pk}": ("search.add_testrun", {}),
        f"access/apikey/{rows.key.pk}/revoke/": ("access.change_apikey", {}),
    }
    for path, (missing, data) in changes.items():
        client = login(*(permission for permission in ALL if permission != missing))
        assert client.post(f"/admin/{path}", data).status_code == 403, path
    collection, job, key = Collection.objects.get(), Job.objects.get(), ApiKey.objects.get()
    assert collection.metadata == rows.collection.metadata
    assert Document.objects.count() == 1
    assert Connector.objects.get().remove_vanished is False
    assert not job.cancel_requested
    assert key.revoked_at is None


def test_home_shows_only_what_may_be_seen(login: Login, rows: Rows) -> None:
    everything = login(*ALL).get("/admin/").content.decode()
    assert "New collection" in everything
    assert "handbook" in everything
    nothing = login().get("/admin/").content.decode()
    assert "handbook" not in nothing
    assert "New collection" not in nothing
    assert "Nothing to see with this account" in nothing
    jobs_only = login("ingest.view_job").get("/admin/").content.decode()
    assert 'id="recent-jobs"' in jobs_only
    assert "All collections" not in jobs_only


def test_a_document_shows_its_chunks_only_to_those_who_may_see_chunks(login: Login, rows: Rows) -> None:
    path = f"/admin/collections/document/{rows.document.pk}/change/"
    assert b"rs-chunk" not in login("collections.view_document").get(path).content
    assert b"rs-chunk" in login("collections.view_document", "collections.view_chunk").get(path).content


def test_buttons_of_forbidden_actions_are_not_offered(login: Login, rows: Rows) -> None:
    page = login("collections.view_collection").get(f"/admin/collections/collection/{rows.collection.pk}/change/")
    text = page.content.decode()
    for offer in ("Upload files", "Try a query", "Save metadata", "/delete/"):
        assert offer not in text


def test_who_edits_users_cannot_become_a_superuser(login: Login, root: Client) -> None:
    client = login("access.view_user", "access.change_user")
    admin, editor = User.objects.get(is_superuser=True), User.objects.get(is_superuser=False)
    assert client.post(f"/admin/access/user/{admin.pk}/password/", {}).status_code == 403
    data = {"username": "user1", "is_staff": "on", "is_active": "on", "is_superuser": "on"}
    client.post(f"/admin/access/user/{editor.pk}/change/", data)
    editor.refresh_from_db()
    assert not editor.is_superuser


def test_the_default_collection_is_offered_to_those_who_may_create_it(login: Login, rows: Rows) -> None:
    needed = ("collections.view_collection", "ingest.add_job")
    assert b"content_chunks" not in login(*needed).get("/admin/ingest/job/add/").content
    may_create = login(*needed, "collections.add_collection")
    assert b"content_chunks" in may_create.get("/admin/ingest/job/add/").content
