"""What a file says about its passages stands in their metadata: rows, slides, the sender of a mail."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client

from collections_app.models import Chunk, DocumentText
from collections_app.services import create_collection
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from tests.integration.ingest.filling import never

pytestmark = pytest.mark.django_db

MAIL = b"Subject: Tea\nFrom: Ada <ada@example.com>\nDate: Fri, 16 Dec 2022 17:04:16 +0000\n\nShall we?\n"
PEOPLE = "Name,Born\n" + "".join(f"Person number {n},{1900 + n}\n" for n in range(99))


@pytest.fixture(autouse=True)
def _collection() -> None:
    create_collection(name="c")


def ingest(name: str, content: bytes, metadata: Mapping[str, Any] | None = None) -> list[Chunk]:
    job = submit(collection_name="c", sources=[Source(name=name, content=content, metadata=metadata or {})])
    run_job(job_id=job.pk, stopping=never)
    return list(Chunk.objects.filter(document__source=name).order_by("ordinal"))


def test_chunks_of_a_sheet_know_their_rows_and_have_its_header() -> None:
    chunks = ingest("people.csv", PEOPLE.encode())
    assert len(chunks) > 1
    ranges = [(chunk.metadata["row_start"], chunk.metadata["row_end"]) for chunk in chunks]
    assert (ranges[0][0], ranges[-1][1]) == (2, 100)
    assert all(after[0] == before[1] + 1 for before, after in pairwise(ranges))
    assert all(chunk.text.startswith("| Name | Born |\n| --- | --- |\n| Person") for chunk in chunks)
    text = DocumentText.objects.get().text
    assert all(chunk.text.endswith(text[chunk.start_offset : chunk.end_offset]) for chunk in chunks)


def test_mail_can_be_filtered_by_sender(client: Client) -> None:
    ingest("tea.eml", MAIL)
    ingest("other.md", b"words")
    where = '{"sender": "Ada <ada@example.com>"}'
    (found,) = client.get("/collections/c/documents", {"where": where}).json()["documents"]
    assert found["metadata"]["subject"] == "Tea"
    assert found["metadata"]["date"] == "2022-12-16T17:04:16+00:00"


def test_what_the_upload_says_goes_before_what_the_file_says() -> None:
    (chunk,) = ingest("tea.eml", MAIL, {"sender": "somebody", "source": "elsewhere"})
    assert (chunk.metadata["sender"], chunk.metadata["subject"]) == ("somebody", "Tea")
    assert chunk.metadata["source"] == "tea.eml", "the system's fields go before both"


def test_definitions_of_code_are_sections() -> None:
    body = "".join(f"        line_{n} = {n}\n" for n in range(5))
    chunks = ingest("tool.py", f"def first():\n{body}\n\nclass Second:\n    def third(self):\n{body}".encode())
    assert {chunk.metadata["language"] for chunk in chunks} == {"python"}
    assert any("third" in chunk.metadata["section"] for chunk in chunks)
