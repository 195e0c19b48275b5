"""Nobody sees or changes rows of collections that they do not reach. Pages that are added are covered by themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group, Permission
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import Http404
from django.test import Client, RequestFactory
from django.urls import reverse

from access_app.models import ApiKey, AuditEntry, Reach, User
from collections_app.models import Chunk, Collection, Document
from console_app.pages import ServiceAdmin
from console_app.permissions import note_found, require
from ingest_app.models import Connector, Item, Job
from search_app.models import QueryLog
from tests.integration.console.conftest import Login, Rows, is_of_the_server, make_rows, pages

pytestmark = pytest.mark.django_db

SECRET = "zzsecret"
HIDDEN = "zzhidden words"
#: The answer to htmx that there is nothing to ask for any more, also where there was nothing.
GONE = 286


@pytest.fixture
def hidden(db: None) -> Rows:
    """What the others must not see."""
    return make_rows(name=SECRET, text=HIDDEN)


@pytest.fixture
def seen(db: None, hidden: Rows) -> Rows:
    return make_rows(name="team-tea", text="Oolong is half fermented.")


@pytest.fixture
def outsider(login: Login) -> Client:
    """Has every permission there is, on the collections of one team."""
    return login(*every_permission(), collections=["team-*"])


def every_permission() -> list[str]:
    found = Permission.objects.values_list("content_type__app_label", "codename")
    return [f"{app}.{codename}" for app, codename in found]


def row_of(rows: Rows, model: type[Any]) -> Any:
    found = [row for row in vars(rows).values() if type(row) is model]
    assert found, f"{model.__name__} has pages: give `Rows` in conftest.py one of it, so that its reach is tested"
    return found[0]


def addresses(rows: Rows) -> Iterator[str]:
    """Every address of the console that takes a row's key, for these rows."""
    for model, model_admin in admin.site._registry.items():
        if not isinstance(model_admin, ServiceAdmin) or model is AuditEntry:
            continue
        for pattern in model_admin.get_urls():
            if pattern.name and len(pattern.pattern.converters) == 1:
                key = row_of(rows, model).pk
                yield reverse(f"admin:{pattern.name}", args=[quote(key)])


def test_the_pages_of_rows_that_are_not_reached_are_not_there(outsider: Client, hidden: Rows, seen: Rows) -> None:
    about_rows = set(pages(hidden)) - set(pages(seen))
    assert len(about_rows) > 10
    for path in about_rows:
        answer = outsider.get(f"/admin/{path}")
        assert answer.status_code in ({403, 404} if is_of_the_server(path) else {404, GONE}), path
        assert SECRET not in answer.content.decode(), path
        assert HIDDEN not in answer.content.decode(), path
    for path in set(pages(seen)) - set(pages(hidden)):
        wanted = {403, 404} if is_of_the_server(path) else {200}
        assert outsider.get(f"/admin/{path}").status_code in wanted, path


def test_lists_forms_and_home_do_not_show_them(outsider: Client, root: Client, hidden: Rows, seen: Rows) -> None:
    told = 0
    for path in ["", *(set(pages(hidden)) & set(pages(seen)))]:
        for asked in (
            "",
            f"?collection__id__exact={hidden.collection.pk}",
            f"?document__id__exact={hidden.document.pk}",
        ):
            answer = outsider.get(f"/admin/{path}{asked}", follow=True)
            assert SECRET not in answer.content.decode(), path
            assert HIDDEN not in answer.content.decode(), path
        told += SECRET in root.get(f"/admin/{path}").content.decode()
        if path in {"", "collections/document/", "ingest/job/"}:
            assert "team-tea" in outsider.get(f"/admin/{path}").content.decode(), path
    assert told > 8  # they are told to those who reach them


def test_nothing_can_be_done_to_them(outsider: Client, hidden: Rows, seen: Rows) -> None:
    before = {name: dataclasses.replace(hidden).__dict__[name].pk for name in vars(hidden)}
    addresses_tried = list(addresses(hidden))
    assert len(addresses_tried) > 25
    for address in addresses_tried:
        for data in ({}, {"name": SECRET}, {"metadata": "{}", "save": "", "language": "german", "post": "yes"}):
            answer = outsider.post(address, data)
            # The old address of a row sends one on, without having looked for it.
            assert answer.status_code in {404, 403, 405, GONE} or answer["Location"] == f"{address}change/", address
    for name, row in vars(hidden).items():
        assert type(row).objects.get(pk=before[name]).pk == row.pk, name
    assert Collection.objects.get(name=SECRET).metadata == hidden.collection.metadata
    assert not Job.objects.get(pk=hidden.job.pk).cancel_requested
    assert ApiKey.objects.get(pk=hidden.key.pk).revoked_at is None
    assert Job.objects.filter(collection=hidden.collection).count() == 1


def test_what_is_sent_to_them_is_refused(outsider: Client, hidden: Rows, seen: Rows) -> None:
    answer = outsider.post("/admin/ingest/job/add/", {"collection": SECRET, "metadata": ""})
    assert "Select a valid choice" in answer.content.decode()
    connector = {"collection": SECRET, "kind": "urls", "urls": "https://example.org/a", "every_seconds": ""}
    assert "Select a valid choice" in outsider.post("/admin/ingest/connector/add/", connector).content.decode()
    asked = outsider.get("/admin/collections/collection/query/", {"collection": SECRET, "query": "zzhidden"})
    assert "Select a valid choice" in asked.content.decode()
    assert 'class="rs-card rs-passage"' not in asked.content.decode()
    assert Connector.objects.filter(collection=hidden.collection).count() == 1
    assert QueryLog.objects.count() == 2


def test_one_may_be_seen_and_not_changed(login: Login, hidden: Rows, seen: Rows) -> None:
    """Seeing everything and editing for one team are two groups, and each holds where it is given."""
    client = login("collections.view_collection", "collections.view_document")
    user = User.objects.get(username="user0")
    group = Group.objects.create(name="tea")
    Reach.objects.create(group=group, collections=["team-*"])
    group.permissions.set(Permission.objects.filter(codename__in=("delete_document", "change_collection")))
    user.groups.add(group)
    for rows, status, offered in ((hidden, 403, False), (seen, 200, True)):
        page = client.get(f"/admin/collections/document/{rows.document.pk}/change/")
        assert page.status_code == 200
        assert ("/delete/" in page.content.decode()) == offered
        assert client.get(f"/admin/collections/document/{rows.document.pk}/delete/").status_code == status
        # Here the row is found before the ability is required.
        address = f"/admin/collections/collection/{rows.collection.pk}/change/"
        assert client.post(address, {"metadata": "not json"}).status_code == status
    assert client.post(f"/admin/collections/document/{hidden.document.pk}/delete/").status_code == 403
    assert Document.objects.count() == 2


def test_collections_are_made_under_names_that_one_reaches(outsider: Client) -> None:
    fields = {"name": "others", "distance": "cosine", "language": "english", "metadata": ""}
    answer = outsider.post("/admin/collections/collection/add/", fields)
    assert "Your account may make collections of these names alone: team-*." in answer.content.decode()
    assert outsider.post("/admin/collections/collection/add/", {**fields, "name": "team-a"}).status_code == 302
    assert [found.name for found in Collection.objects.all()] == ["team-a"]


def test_nobody_gives_a_key_more_than_they_have(outsider: Client, login: Login) -> None:
    fields = {"name": "app", "verbs": ["read", "delete"], "collections": "*", "expires_on": ""}
    answer = outsider.post("/admin/access/apikey/add/", fields)
    assert "Your account cannot give this" in answer.content.decode()
    assert not ApiKey.objects.exists()
    assert "rs_" in outsider.post("/admin/access/apikey/add/", {**fields, "collections": "team-a*"}).content.decode()
    reader = login("access.add_apikey", "collections.view_collection", "collections.view_chunk", "search.add_testrun")
    more = {**fields, "verbs": ["search", "write"]}
    assert "collections.add_collection" in reader.post("/admin/access/apikey/add/", more).content.decode()
    assert "rs_" in reader.post("/admin/access/apikey/add/", {**fields, "verbs": ["search"]}).content.decode()


def test_a_query_of_several_collections_is_for_those_who_reach_all(outsider: Client, hidden: Rows, seen: Rows) -> None:
    seen.query.collections = ["team-tea", SECRET]
    seen.query.save()
    assert outsider.get(f"/admin/search/querylog/{seen.query.pk}/change/").status_code == 404
    assert "Oolong" not in outsider.get("/admin/search/querylog/").content.decode()


def test_what_is_about_the_whole_server_is_for_those_who_reach_everything(outsider: Client, login: Login) -> None:
    job = Job.objects.create(kind=Job.Kind.RECLAIM)
    assert outsider.get(f"/admin/ingest/job/{job.pk}/change/").status_code == 404
    assert login("ingest.view_job").get(f"/admin/ingest/job/{job.pk}/change/").status_code == 200


def test_without_collections_there_is_nothing_to_see(login: Login, seen: Rows) -> None:
    client = login(*every_permission(), collections=[])
    assert "Nothing to see with this account" in client.get("/admin/").content.decode()
    assert client.get("/admin/collections/collection/").status_code == 403
    assert client.get(f"/admin/collections/chunk/{seen.chunk.pk}/change/").status_code == 403
    assert Chunk.objects.count() == 2


def test_rows_that_lead_to_their_collection_over_another_are_limited_too(
    login: Login, hidden: Rows, seen: Rows
) -> None:
    """Items stand for whatever is added later that has no collection of its own."""

    class ItemAdmin(ServiceAdmin):
        belongs_to = "job__collection"

    items = ItemAdmin(Item, admin.site)
    login(*every_permission(), collections=["team-*"])
    user = User.objects.get()
    request = RequestFactory().get("/")
    request.user = user
    assert list(items.get_queryset(request)) == [seen.item]
    assert items.found(request, str(seen.item.pk)) == seen.item
    assert items.has_view_permission(request, seen.item)
    assert not items.has_view_permission(request, hidden.item)
    with pytest.raises(Http404):
        items.found(request, str(hidden.item.pk))
    # Whoever sees it may still not do with it what a group for other collections may.
    require(request, "steer_jobs")
    with pytest.raises(PermissionDenied):
        note_found(request, items.subject(hidden.item))


def test_an_admin_class_that_does_not_say_how_its_rows_belong_does_not_start() -> None:
    with pytest.raises(ImproperlyConfigured, match="belongs_to"):
        ServiceAdmin(Item, admin.site)
