"""A1, A2: providers and connections over HTTP."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from access_app.models import AuditEntry
from connections_app.models import Connection
from connections_app.opening import built
from connections_app.sealing import unseal
from connections_app.secret_settings import MASK
from core_app.errors import Unavailable
from tests.integration.access.conftest import client_with, keys_required  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db
JSON = "application/json"
SETTINGS: dict[str, Any] = {
    "url": "https://far.example.org",
    "api_key": "rs_s3cret",
    "headers": {"X-Proxy": "hidden"},
}


def make(client: Client, **more: Any) -> Any:
    body = {"name": "far", "provider": "remote", "settings": SETTINGS, **more}
    return client.post("/api/connections", body, JSON)


def test_a_1_2_providers_are_listed(client: Client) -> None:
    found = {one["name"]: one for one in client.get("/api/providers").json()["providers"]}
    assert found["remote"]["is_usable"] is True
    assert found["remote"]["connection_schema"]["required"] == ["url"]
    assert found["remote"]["connection_schema"]["additionalProperties"] is False


def test_a_1_2_and_a_2_2_each_says_what_it_can_do_and_how_it_is_installed(client: Client) -> None:
    found = {one["name"]: one for one in client.get("/api/providers").json()["providers"]}
    for one in found.values():
        assert set(one["capability_sentences"]) == set(one["capabilities"])
        assert all(sentence.endswith(".") for sentence in one["capability_sentences"].values())
    assert (found["remote"]["is_installed"], found["remote"]["install_command"]) == (True, None)
    assert found["sqlite"]["install_command"] == "script/install base sqlite"


def test_the_built_in_store_is_listed_and_no_connection_can_be_made_of_it(client: Client) -> None:
    found = {one["name"]: one for one in client.get("/api/providers").json()["providers"]}
    own = found.pop("pgvector")
    assert (own["is_built_in"], own["is_usable"], own["connection_schema"]) == (True, True, None)
    assert {"collections", "search", "embeddings", "metadata_filtering"} <= set(own["capabilities"])
    assert not any(one["is_built_in"] for one in found.values())
    answer = make(client, provider="pgvector", settings={})
    assert (answer.status_code, answer.json()["code"]) == (400, "no_connection_needed")
    assert not Connection.objects.exists()


def test_secrets_are_masked_in_every_answer_and_encrypted_where_they_are_kept(client: Client) -> None:
    answers = [make(client), client.get("/api/connections/far"), client.get("/api/connections")]
    assert answers[0].status_code == 201
    assert answers[0].json()["settings"]["api_key"] == MASK
    assert answers[0].json()["settings"]["headers"] == {"X-Proxy": MASK}
    said = b"".join(answer.content for answer in answers)
    row = Connection.objects.get()
    kept = json.dumps(row.settings).encode() + bytes(row.secrets or b"")
    logged = json.dumps(list(AuditEntry.objects.values("before", "after", "object_name")), default=str).encode()
    for secret in (b"s3cret", b"hidden"):
        assert secret not in said + kept + logged
    assert unseal(row.secrets or b"") == {"api_key": "rs_s3cret", "headers": {"X-Proxy": "hidden"}}


def test_settings_can_be_changed_without_the_secrets(client: Client) -> None:
    make(client)
    shown = client.get("/api/connections/far").json()["settings"]
    changed = client.patch("/api/connections/far", {"settings": {**shown, "timeout_seconds": 5}}, JSON)
    assert changed.json()["settings"]["timeout_seconds"] == 5
    assert unseal(Connection.objects.get().secrets or b"")["api_key"] == "rs_s3cret"


def test_kept_secrets_are_not_sent_to_another_address(client: Client) -> None:
    make(client)
    shown = client.get("/api/connections/far").json()["settings"]
    moved = client.patch("/api/connections/far", {"settings": {**shown, "url": "https://evil.example.org"}}, JSON)
    assert (moved.status_code, moved.json()["code"]) == (400, "secrets_needed")
    assert Connection.objects.get().settings["url"] == SETTINGS["url"]


def test_it_is_renamed_and_removed_and_the_log_knows(client: Client) -> None:
    make(client)
    assert client.patch("/api/connections/far", {"name": "near"}, JSON).json()["name"] == "near"
    assert client.get("/api/connections/far").status_code == 404
    assert client.delete("/api/connections/near").json() == {"status": "deleted", "connection": "near"}
    actions = list(
        AuditEntry.objects.filter(object_type="connections.connection").order_by("id").values_list("action", flat=True)
    )
    assert actions == ["connection.created", "connection.changed", "connection.deleted"]


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        ({"name": "built-in"}, 400, "invalid_name"),
        ({"name": "a b"}, 400, "invalid_name"),
        ({"provider": "qdrant"}, 400, "unknown_provider"),
        ({"settings": {}}, 400, "invalid_settings"),
        ({"settings": {**SETTINGS, "url": "file:///etc/passwd"}}, 400, "invalid_settings"),
        ({"settings": {**SETTINGS, "api_key": MASK}}, 400, "invalid_settings"),
        ({"settings": {**SETTINGS, "apikey": "rs_s3cret"}}, 400, "invalid_settings"),
        ({"settings": {**SETTINGS, "url": "https://me:rs_s3cret@far.example.org"}}, 400, "invalid_settings"),
        ({"settings": [1]}, 400, "invalid"),
        ({}, 409, "connection_exists"),
    ],
)
def test_what_cannot_be_is_told_and_nothing_is_kept(client: Client, more: Any, status: int, code: str) -> None:
    make(client)
    answer = make(client, **{"name": "other", **more} if more else {})
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert b"s3cret" not in answer.content
    assert Connection.objects.count() == 1


@pytest.mark.parametrize(
    "file", ["../secret_key", "/etc/passwd", ".", "a/../../b", "", "link/x", "." * 300, "ä" * 120, "a/" * 600]
)
def test_a_file_lies_in_a_folder_of_connections(client: Client, settings: Any, tmp_path: Path, file: str) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "connections").mkdir()
    (tmp_path / "connections" / "link").symlink_to("/etc")
    answer = make(client, provider="sqlite", settings={"file": file})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_settings")
    assert str(tmp_path) not in answer.json()["detail"]


def test_a_key_that_is_gone_is_told(client: Client, settings: Any) -> None:
    make(client)
    security = settings.RAGSITE.security.model_copy(update={"connection_keys": ()})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"security": security})
    settings.SECRET_KEY = Fernet.generate_key().decode()
    with pytest.raises(Unavailable, match="Enter them again"):
        built(Connection.objects.get())
    assert client.get("/api/connections/far").status_code == 200
    assert "Enter them again" in client.post("/api/connections/far/test").json()["error"]


@pytest.mark.django_db(transaction=True)
def test_a_2_3_health_of_a_running_service_and_of_one_that_is_not_there(
    client: Client, live_server: LiveServer
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{unused.getsockname()[1]}"
        make(client, name="nowhere", settings={"url": nowhere, "api_key": "rs_s3cret"})
        make(client, name="there", settings={"url": live_server.url})
        found = client.get("/api/connections")
    health = {one["name"]: one["health"] for one in found.json()["connections"]}
    assert (health["there"]["status"], health["there"]["error"]) == ("healthy", None)
    assert "collections" in health["there"]["details"]
    assert health["nowhere"]["status"] == "unhealthy"
    assert "cannot be reached" in health["nowhere"]["error"]
    assert b"127.0.0.1" not in found.content


def test_a_key_for_some_collections_makes_no_connections(keys_required: None, client_with: Any) -> None:  # noqa: F811
    some = client_with("admin", "read", collections=("team-*",))
    assert make(some).status_code == 403
    assert some.get("/api/connections").status_code == 403
    assert some.get("/api/connections/far").status_code == 403
    assert make(client_with("admin")).status_code == 201
