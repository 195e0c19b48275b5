"""The page of a connection that copies a collection from there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from collections_app.models import Chunk, Collection
from connections_app.models import Connection
from connections_app.opening import close_all, opened_store
from connections_app.services import create_connection, get_connection
from console_app import fetch_admin
from console_app.permissions import ABILITIES
from core_app.providers import HeldChunk
from ingest_app.models import Job
from stores_app.attaching import attach_collection
from tests.integration.console.conftest import Login
from tests.integration.ingest.filling import work_off
from tests.integration.stores.placing import connect

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def there(settings: Any, tmp_path: Path) -> Iterator[Connection]:
    """Three chunks in a file; one of them cannot be held here."""
    connect(settings, tmp_path, "one")
    with opened_store(get_connection(name="one")) as provider:
        provider.create_collection(name="<b>books</b>", metadata={}, distance="cosine")
        texts = ["Tea.", "Rye.", "a\0b"]
        chunks = [
            HeldChunk(id=f"<i>{n}</i>", text=text, metadata={"n": n}, embedding=np.ones(3, np.float32) * (n + 1))
            for n, text in enumerate(texts)
        ]
        provider.add(name="<b>books</b>", chunks=chunks)
    yield get_connection(name="one")
    close_all()


def page(row: Connection) -> str:
    return reverse("admin:connections_connection_import", args=[row.pk])


GIVEN = {"name_there": "<b>books</b>", "name": "copy"}


def test_it_says_what_would_come_of_it_and_writes_nothing(root: Client, there: Connection) -> None:
    assert page(there) in root.get(reverse("admin:connections_connection_change", args=[there.pk])).content.decode()
    text = root.post(page(there), {**GIVEN, "check": "1"}).content.decode()
    assert "The collection is made." in text
    assert "Chunks: 3. Distance: cosine." in text
    assert "are left out: 1." in text
    assert "&lt;i&gt;2&lt;/i&gt;" in text
    assert "<i>2</i>" not in text
    assert not Collection.objects.exists()


def test_it_is_copied_by_a_job(root: Client, there: Connection) -> None:
    answer = root.post(page(there), {**GIVEN, "import": "1"})
    job = Job.objects.get()
    assert answer["Location"] == reverse("admin:ingest_job_change", args=[job.pk])
    assert work_off(job).state == Job.State.SUCCEEDED
    assert sorted(Chunk.objects.filter(collection__name="copy").values_list("text", flat=True)) == ["Rye.", "Tea."]


def test_what_is_too_large_to_wait_for_is_not_checked(
    root: Client, there: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_admin, "MOST_CHECKED", 2)
    assert "too large to be checked here" in root.post(page(there), {**GIVEN, "check": "1"}).content.decode()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name_there": "other"}, "Select a valid choice"),
        ({"name": "a/b"}, "A collection&#x27;s name has"),
        ({"name": "attached"}, "The documents of this collection are held by"),
        ({"same_model": "on"}, "The vectors there have 3 numbers"),
    ],
)
@pytest.mark.parametrize("button", ["check", "import"])
def test_what_cannot_be_is_told(root: Client, there: Connection, given: dict[str, str], said: str, button: str) -> None:
    attach_collection(service="one", name_there="<b>books</b>", name="attached", embedding_model=None)
    answer = root.post(page(there), {**GIVEN, **given, button: "1"})
    assert answer.status_code == 200
    assert said in answer.content.decode()
    assert not Job.objects.exists()
    assert not Collection.objects.exclude(name="attached").exists()


def test_a_system_that_cannot_be_reached_is_told(root: Client) -> None:
    far = create_connection(name="far", provider="remote", settings={"url": "http://127.0.0.1:9", "timeout_seconds": 1})
    assert "cannot be reached" in root.get(page(far)).content.decode()


def test_it_takes_the_rights_to_both_ends(login: Login, there: Connection) -> None:
    needed = ABILITIES["fetch_collections"]
    assert login(*needed[:-1]).get(page(there)).status_code == 403
    assert login(*needed, collections=["office"]).get(page(there)).status_code in {403, 404}
    user = login(*needed)
    assert "may not import into a collection" in user.post(page(there), {**GIVEN, "import": "1"}).content.decode()
    assert not Job.objects.exists()
