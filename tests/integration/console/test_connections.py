"""Connections in the console: made of a provider's settings model, for whoever runs the whole server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from access_app.models import User
from collections_app.services import create_collection
from connections_app.models import Connection
from connections_app.opening import close_all
from connections_app.registry import listed
from connections_app.sealing import unseal
from connections_app.secret_settings import MASK
from connections_app.services import change_connection
from tests.integration.console.conftest import Login

pytestmark = pytest.mark.django_db
LIST = "/admin/connections/connection/"
#: Nothing listens there.
FIELDS = {"name": "far", "setting_url": "http://127.0.0.1:9", "setting_api_key": "rs_s3cret", "provider": "remote"}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_all()


@pytest.fixture
def made(admin_client: Client) -> Connection:
    answer = admin_client.post(f"{LIST}add/", {**FIELDS, "setting_headers": "X-One: hidden"})
    assert answer.status_code == 302, answer.content
    return Connection.objects.get()


def text(answer: Any) -> str:
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_the_provider_is_chosen_first(admin_client: Client) -> None:
    assert "Remote server" in text(admin_client.get(f"{LIST}add/"))
    asked = text(admin_client.get(f"{LIST}add/?provider=remote"))
    assert 'name="setting_url"' in asked
    assert 'type="password"' in asked
    assert 'name="setting_file"' in text(admin_client.get(f"{LIST}add/?provider=sqlite"))
    assert 'name="setting_' not in text(admin_client.get(f"{LIST}add/?provider=nowhere"))


def test_the_built_in_store_is_not_offered(admin_client: Client) -> None:
    offered = text(admin_client.get(f"{LIST}add/"))
    assert 'value="remote"' in offered
    assert "pgvector" not in offered
    assert 'name="setting_' not in text(admin_client.get(f"{LIST}add/?provider=pgvector"))


def test_every_provider_has_a_form_with_a_field_for_each_setting(admin_client: Client) -> None:
    for name, one in listed().items():
        assert one.provider is not None, name
        page = text(admin_client.get(f"{LIST}add/?provider={name}"))
        assert [key for key in one.provider.settings_model.model_fields if f'name="setting_{key}"' not in page] == []


def test_a_model_is_told_apart_and_embeds_a_collection(admin_client: Client) -> None:
    fields = {"name": "far", "provider": "openai-embeddings", "setting_url": "http://127.0.0.1:9/v1"}
    fields |= {"setting_model": "small", "setting_timeout_seconds": "1", "setting_batch_size": "8"}
    answer = admin_client.post(f"{LIST}add/", fields, follow=True)
    assert "cannot be reached" in text(answer)
    assert "Embeddings" in text(admin_client.get(LIST))
    collection = create_collection(name="docs")
    page = f"/admin/collections/collection/{collection.pk}/embedding/"
    assert "far" in text(admin_client.get(page))
    assert "embedded so from now on" in text(admin_client.post(page, {"connection": "far"}, follow=True))
    collection.refresh_from_db()
    assert collection.embedding_connection == "far"
    assert "Select a valid choice" in text(admin_client.post(page, {"connection": "nowhere"}))
    Connection.objects.all().delete()
    assert "Make it again" in text(admin_client.get(page))


def test_it_is_made_tested_and_shown_without_its_secrets(admin_client: Client, made: Connection) -> None:
    assert unseal(made.secrets or b"") == {"api_key": "rs_s3cret", "headers": {"X-One": "hidden"}}
    page = text(admin_client.get(f"{LIST}{made.pk}/change/"))
    assert "cannot be reached" in page, "a new connection is tested at once"
    assert "s3cret" not in page
    assert "hidden:" not in page
    assert f"X-One: {MASK}" in page
    assert "far" in text(admin_client.get(LIST))
    tested = admin_client.post(f"{LIST}{made.pk}/test/", follow=True)
    assert "cannot be reached" in text(tested)


def test_saving_the_form_as_it_was_keeps_the_secrets(admin_client: Client, made: Connection) -> None:
    fields = {**FIELDS, "setting_api_key": MASK, "setting_headers": f"X-One: {MASK}", "setting_timeout_seconds": "5"}
    assert admin_client.post(f"{LIST}{made.pk}/change/", {**fields, "name": "near"}).status_code == 302
    made.refresh_from_db()
    assert (made.name, made.settings["timeout_seconds"]) == ("near", 5)
    assert unseal(made.secrets or b"")["api_key"] == "rs_s3cret"
    moved = text(admin_client.post(f"{LIST}{made.pk}/change/", {**fields, "setting_url": "https://evil.example.org"}))
    assert "must be entered again" in moved
    made.refresh_from_db()
    assert made.settings["url"] == FIELDS["setting_url"]


@pytest.mark.parametrize("more", [{"setting_url": "file:///etc"}, {"name": ""}, {"name": "made"}])
def test_what_was_typed_as_a_secret_does_not_come_back(
    admin_client: Client, made: Connection, more: dict[str, str]
) -> None:
    """On the page of a new connection and of one that has secrets, whatever else is wrong with the form."""
    make_connection = {**FIELDS, "name": "new", "setting_api_key": "t0p", "setting_headers": "A: b1g\r\nX: c"}
    Connection.objects.create(name="made", provider="remote")
    for address in (f"{LIST}add/", f"{LIST}{made.pk}/change/"):
        page = text(admin_client.post(address, {**make_connection, **more}))
        assert page.count("Type this again") == 2
        assert "t0p" not in page
        assert "b1g" not in page
        assert "A: \nX: </textarea>" in page
        assert (MASK in page) == (address != f"{LIST}add/"), "what is kept stays in its place"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"setting_url": "file:///etc/passwd"}, "String should match pattern"),
        ({"setting_headers": "no colon"}, "a line."),
        ({"setting_headers": "X-Empty:"}, "a line."),
        ({"setting_timeout_seconds": "-1"}, "greater than 0"),
        ({"name": "a b"}, "A connection&#x27;s name has"),
        ({"name": ""}, "This field is required."),
    ],
)
def test_what_cannot_be_is_told_at_its_field(admin_client: Client, more: dict[str, str], said: str) -> None:
    assert said in text(admin_client.post(f"{LIST}add/", {**FIELDS, **more}))
    assert not Connection.objects.exists()


def test_whoever_saves_second_is_told(admin_client: Client, made: Connection) -> None:
    page = f"{LIST}{made.pk}/change/"
    seen = admin_client.get(page).context["seen"]
    change_connection(name="far", new_name="farther")
    fields = {**FIELDS, "setting_url": "http://127.0.0.1:10"}
    assert "changed meanwhile" in text(admin_client.post(page, {**fields, "seen": seen}))
    made.refresh_from_db()
    assert (made.name, made.settings["url"]) == ("farther", FIELDS["setting_url"])
    seen = admin_client.get(page).context["seen"]
    assert admin_client.post(page, {**fields, "seen": seen}).status_code == 302


def test_testing_one_takes_the_right_to_change_it(login: Login, made: Connection) -> None:
    client = login("connections.view_connection")
    assert "/test/" not in text(client.get(f"{LIST}{made.pk}/change/"))
    assert client.post(f"{LIST}{made.pk}/test/").status_code == 403
    client = login("connections.view_connection", "connections.change_connection")
    assert client.post(f"{LIST}{made.pk}/test/").status_code == 302


def test_it_is_removed_once_that_was_confirmed(admin_client: Client, made: Connection) -> None:
    assert "Remove this connection" in text(admin_client.get(f"{LIST}{made.pk}/delete/"))
    assert admin_client.post(f"{LIST}{made.pk}/delete/").status_code == 302
    assert not Connection.objects.exists()


@pytest.mark.parametrize(
    ("group", "patterns", "status"), [("operator", ["*"], 200), ("operator", ["docs"], 403), ("editor", ["*"], 403)]
)
def test_only_who_runs_the_whole_server_sees_them(
    client: Client, made: Connection, group: str, patterns: list[str], status: int
) -> None:
    user = User.objects.create_user("kim", password="p", is_staff=True)
    role = Group.objects.get(built_in__role=group)
    user.groups.add(role)
    role.reach.collections = patterns
    role.reach.save()
    client.force_login(user)
    assert client.get(f"{LIST}add/").status_code == status
    assert client.post(f"{LIST}{made.pk}/test/").status_code in ({302} if status == 200 else {403, 404})
    listed = client.get(LIST)
    assert ("far" in listed.content.decode()) == (status == 200)


def test_home_tells_how_its_service_is(admin_client: Client, made: Connection) -> None:
    page = text(admin_client.get("/admin/collections/collection/home/health/"))
    assert "Connection far" in page
    assert "cannot be reached" in page
    assert f"{LIST}{made.pk}/change/" in page


def test_the_list_takes_few_statements(
    admin_client: Client, made: Connection, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    call: Callable[[str], Any] = admin_client.get
    with django_assert_max_num_queries(8):
        text(call(LIST))
