"""A connection to a model that this server runs beside its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.integration.inference.tiny_models import save_model

pytestmark = pytest.mark.django_db
JSON = "application/json"


def make(client: Client, model: Path | str) -> Any:
    body = {"name": "own", "provider": "sentence-transformers", "settings": {"model": str(model)}}
    return client.post("/api/connections", body, JSON)


@pytest.mark.parametrize("model", ["/etc", "../secrets", "tests"])
def test_a_folder_is_loaded_only_from_where_connections_may_have_files(client: Client, model: str) -> None:
    refused = make(client, model)
    assert (refused.status_code, list(refused.json()["errors"])) == (400, ["model"])


def test_it_is_loaded_when_it_is_tested(client: Client, tmp_path: Path, settings: Any) -> None:
    save_model(tmp_path)
    security = settings.RAGSITE.security.model_copy(update={"connection_folders": (str(tmp_path),)})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"security": security})
    assert make(client, tmp_path / "model").status_code == 201
    tested = client.post("/api/connections/own/test").json()
    assert tested["status"] == "healthy", tested
    assert tested["details"]["dimension"] > 1


def test_one_that_cannot_be_loaded_says_so(client: Client, tmp_path: Path, settings: Any) -> None:
    security = settings.RAGSITE.security.model_copy(update={"connection_folders": (str(tmp_path),)})
    settings.RAGSITE = settings.RAGSITE.model_copy(update={"security": security})
    (tmp_path / "model").mkdir()
    make(client, tmp_path / "model")
    tested = client.post("/api/connections/own/test").json()
    assert tested["status"] == "unhealthy"
    assert "check the connection's model" in tested["error"]
