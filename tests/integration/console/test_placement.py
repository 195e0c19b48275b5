"""The page of where a collection is searched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from collections_app.adding import NewChunk, add_chunks
from collections_app.models import Collection
from collections_app.services import create_collection
from connections_app.opening import close_all, opened_store
from connections_app.services import create_connection, get_connection
from core_app.providers import HeldChunk
from ingest_app.models import Job
from stores_app.attaching import attach_collection
from stores_app.models import Outgoing, Placement
from tests.integration.console.conftest import Login
from tests.integration.ingest.filling import fill, work_off
from tests.integration.stores.placing import connect, move

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_all()


@pytest.fixture
def tea(settings: Any, tmp_path: Path) -> Collection:
    connect(settings, tmp_path, "one")
    made = create_collection(name="tea")
    fill("tea", 5)
    return made


def page(row: Collection) -> str:
    return reverse("admin:collections_collection_placement", args=[row.pk])


def test_it_is_moved_and_brought_back(root: Client, tea: Collection) -> None:
    answer = root.post(page(tea), {"service": "one", "name_there": ""})
    job = Job.objects.get(kind=Job.Kind.MOVE)
    assert answer["Location"] == reverse("admin:ingest_job_change", args=[job.pk])
    assert "The collection is being moved." in root.get(page(tea)).content.decode()
    work_off(job)
    assert "Chunks compared: 5." in root.get(answer["Location"]).content.decode()
    assert "one" in root.get(reverse("admin:collections_collection_change", args=[tea.pk])).content.decode()
    root.post(page(tea), {"service": "built-in"})
    work_off(Job.objects.filter(kind=Job.Kind.MOVE).latest("created_at"))
    assert not Placement.objects.exists()


def test_a_connection_that_leads_elsewhere_says_what_is_searched_there(root: Client, tea: Collection) -> None:
    move("tea", "one")
    row = get_connection(name="one")
    address = reverse("admin:connections_connection_change", args=[row.pk])
    saved = root.post(address, {"name": "one", "setting_file": row.settings["file"]}, follow=True).content.decode()
    assert "was saved" in saved
    assert "are searched there: tea" not in saved
    moved = root.post(address, {"name": "one", "setting_file": "another.db"}, follow=True).content.decode()
    assert "are searched there: tea" in moved


def test_what_waits_is_told_with_the_reason(root: Client, tea: Collection) -> None:
    move("tea", "one")
    add_chunks(
        collection_name="tea",
        chunks=[NewChunk(external_id="x", text="t", metadata={})],
        embeddings=lambda: np.ones((1, 3), np.float32),
    )
    Outgoing.objects.create(placement=Placement.objects.get(), external_id="<b>y</b>", refused="Too <i>long</i>.")
    shown = root.get(page(tea)).content.decode()
    assert "Changes that wait" in shown
    assert "&lt;b&gt;y&lt;/b&gt;" in shown
    assert "<i>long" not in shown
    health = root.get(reverse("admin:collections_collection_home_health")).content.decode()
    assert "Changes of tea for one" in health
    assert page(tea) in health


def test_who_may_not_move_it_sees_it(login: Login, tea: Collection) -> None:
    viewer = login("collections.view_collection")
    shown = viewer.get(page(tea)).content.decode()
    assert "This server" in shown
    assert 'name="service"' not in shown
    assert viewer.post(page(tea), {"service": "one"}).status_code == 403
    assert not Placement.objects.exists()


def test_a_connection_where_nothing_can_be_searched_says_why(
    root: Client, tea: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A2.2."""
    monkeypatch.setattr("connections_app.providers.sqlite.SqliteProvider.capabilities", frozenset())
    shown = root.get(page(tea)).content.decode()
    assert 'aria-disabled="true" tabindex="0" title="No collection can be searched at' in shown
    assert '<option value="one"' not in shown


def test_a_mistake_is_told_at_its_field(root: Client, tea: Collection) -> None:
    assert (
        "is no name of a collection" in root.post(page(tea), {"service": "one", "name_there": "a/b"}).content.decode()
    )
    assert "searched here already" in root.post(page(tea), {"service": "built-in"}).content.decode()


def test_an_attached_collection_says_where_its_documents_are(root: Client, settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    create_connection(name="one", provider="sqlite", settings={"file": "one.db"})
    with opened_store(get_connection(name="one")) as one:
        one.create_collection(name="books", metadata={}, distance="cosine")
        vector = np.ones(3, np.float32)
        one.add(name="books", chunks=[HeldChunk(id="a", text="t", metadata={}, embedding=vector)])
    made = attach_collection(service="one", name_there="books", name="mine")
    shown = root.get(page(made)).content.decode()
    assert "Its documents are held by one and not here." in shown
    assert 'name="service"' not in shown
    assert root.get(reverse("admin:collections_collection_change", args=[made.pk])).status_code == 200
