"""A collection of another Ragsite, copied through a connection over HTTP."""

from __future__ import annotations

import pytest
from django.test import Client

from collections_app.models import Chunk
from collections_app.reading import get_chunk
from ingest_app import fetch_jobs
from ingest_app.fetch_jobs import check_fetch, start_fetch
from ingest_app.models import Job
from tests.integration.access.conftest import ClientWith, client_with, keys_required  # noqa: F401 (fixtures)
from tests.integration.ingest.filling import fill, work_off

pytestmark = pytest.mark.django_db(transaction=True)
JSON = "application/json"
COUNT = 25


@pytest.fixture
def theirs(client: Client, far: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A collection of 25 chunks over there, read ten at a time."""
    monkeypatch.setattr(fetch_jobs, "BATCH", 10)
    assert client.post("/collections", {"name": "theirs", "metadata": {"of": "them"}}, JSON).status_code == 201
    fill("theirs", COUNT)
    return far


def test_it_is_the_same_afterwards(client: Client, theirs: str) -> None:
    found = check_fetch(name="copy", service=theirs, name_there="theirs")
    assert (found.is_new, found.fetched.chunks, found.fetched.refused) == (True, COUNT, 0)
    job = work_off(start_fetch(name="copy", service=theirs, name_there="theirs"))
    assert (job.state, job.error) == (Job.State.SUCCEEDED, "")
    for chunk in Chunk.objects.filter(collection__name="theirs"):
        one = get_chunk(collection_name="theirs", external_id=chunk.external_id, with_embedding=True)
        copy = get_chunk(collection_name="copy", external_id=chunk.external_id, with_embedding=True)
        assert (copy.text, copy.metadata) == (one.text, one.metadata)
        assert copy.embedding is not None
        assert one.embedding is not None
        assert copy.embedding.tolist() == one.embedding.tolist()
    again = work_off(start_fetch(name="copy", service=theirs, name_there="theirs"))
    assert again.result is not None
    assert (again.result["stored"], again.result["unchanged"]) == (0, COUNT)


def test_what_is_deleted_there_meanwhile_is_told(client: Client, theirs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = start_fetch(name="copy", service=theirs, name_there="theirs")
    original = fetch_jobs._Fetch.verify

    def verify(self: fetch_jobs._Fetch) -> None:
        client.delete("/collections/theirs/documents", {"ids": ["d1"]}, JSON)
        original(self)

    monkeypatch.setattr(fetch_jobs._Fetch, "verify", verify)
    assert "Somebody writes to one" in work_off(job).error


def test_a_key_that_the_other_side_does_not_take_fails_the_import(
    theirs: str,
    keys_required: None,  # noqa: F811
    client_with: ClientWith,  # noqa: F811
) -> None:
    """Wrong credentials are the operator's to mend: a safe sentence that names the connection."""
    address = "/api/rag/collections/copy/import/connection?create=true"
    asked = client_with("read", "write").post(address, {"connection": theirs, "name_there": "theirs"}, JSON)
    assert (asked.status_code, asked.json()["code"]) == (502, "far_side_refused"), asked.content
    assert not Job.objects.exists()
