"""The API's documentation where keys are asked for: with a key, or logged in to the console (README 13)."""

from __future__ import annotations

import pytest
from django.test import Client

from access_app.models import User
from tests.integration.access.conftest import ClientWith

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("keys_required")]

PATHS = ("/swagger", "/api/schema")


def test_nobody_reads_it_without_a_key(client: Client) -> None:
    answer = client.get("/api/schema")
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")


def test_a_browser_is_sent_to_log_in(client: Client) -> None:
    assert client.get("/swagger").headers["Location"] == "/admin/login/?next=/swagger"


@pytest.mark.parametrize("path", PATHS)
def test_a_key_opens_it(client_with: ClientWith, path: str) -> None:
    assert client_with("read").get(path).status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("staff", "status"), [(True, 200), (False, 401)])
def test_a_person_of_the_console_opens_it(client: Client, path: str, *, staff: bool, status: int) -> None:
    client.force_login(User.objects.create_user("somebody", is_staff=staff))
    expected = 302 if path == "/swagger" and not staff else status
    assert client.get(path).status_code == expected
