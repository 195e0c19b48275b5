"""Staff see, try and change how a collection's texts are cut."""

from __future__ import annotations

import pytest
from django.test import Client

from collections_app.models import Collection, Document
from ingest_app.models import Job
from ingest_app.work import run_job
from tests.integration.console.conftest import Rows
from tests.integration.ingest.filling import ingest, never

pytestmark = pytest.mark.django_db

FIELDS = {"strategy": "structure", "size": "32", "overlap": "0", "source": "", "text": ""}
LONG = "# Guide\n\n" + "\n\n".join(f"## Part {n}\n\n" + f"Sentence number {n} is here. " * 12 for n in range(4))


@pytest.fixture
def address(rows: Rows) -> str:
    return f"/admin/collections/collection/{rows.collection.pk}/chunking/"


def test_the_page_shows_what_holds_now(root: Client, rows: Rows, address: str) -> None:
    page = root.get(address).content.decode()
    assert 'value="200"' in page
    overview = root.get(f"/admin/collections/collection/{rows.collection.pk}/change/").content.decode()
    assert "structure, 200 tokens, 30 repeated <a" in overview
    assert address in overview


def test_a_text_is_tried_and_nothing_changed(root: Client, address: str) -> None:
    page = root.post(address, {**FIELDS, "text": LONG, "try": ""}).content.decode()
    assert "9 chunks. Nothing was changed." in page
    assert "Part 3" in page
    assert Collection.objects.get().chunking == {}


def test_a_preview_shows_what_shares_a_parent(root: Client, address: str) -> None:
    sent = {**FIELDS, "parent_size": "70", "text": LONG, "try": ""}
    page = root.post(address, sent).content.decode()
    assert "9 chunks in 4 parents. Nothing was changed." in page
    assert page.count('class="rs-parent"') == 4
    assert "<strong>Chunks 0 to 2 are shown as one</strong>" in page
    end = LONG.index(" \n\n## Part 1")
    assert f"characters 0\N{EN DASH}{end} · 63 tokens" in page
    alone = root.post(address, {**sent, "text": "One."}).content.decode()
    assert "1 chunk in 1 parent. Nothing was changed." in alone
    assert "<strong>Chunk 0 is shown by itself</strong>" in alone
    assert "rs-parent" not in root.post(address, {**sent, "parent_size": ""}).content.decode()


def test_a_parent_size_is_saved_and_taken_back(root: Client, rows: Rows, address: str) -> None:
    root.post(address, {**FIELDS, "parent_size": "70", "save": ""})
    assert Collection.objects.get().chunking == {"strategy": "structure", "size": 32, "overlap": 0, "parent_size": 70}
    assert 'value="70"' in root.get(address).content.decode()
    overview = root.get(f"/admin/collections/collection/{rows.collection.pk}/change/").content.decode()
    assert "structure, 32 tokens, 0 repeated, shown within 70" in overview
    root.post(address, {**FIELDS, "parent_size": "", "save": ""})
    assert Collection.objects.get().chunking == {"strategy": "structure", "size": 32, "overlap": 0}


def test_markup_in_a_text_is_shown_as_text(root: Client, address: str) -> None:
    page = root.post(address, {**FIELDS, "text": "<script>alert(1)</script> words", "try": ""}).content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_saving_leads_to_the_job_that_cuts_anew(root: Client, rows: Rows, address: str) -> None:
    ingest("handbook", LONG)
    before = Document.objects.get(source="s0").chunk_count
    page = root.post(address, {**FIELDS, "source": "s0", "try": ""}).content.decode()
    assert "9 chunks. Nothing was changed." in page
    answer = root.post(address, {**FIELDS, "save": ""})
    job = Job.objects.get(kind=Job.Kind.RECHUNK)
    assert answer["Location"] == f"/admin/ingest/job/{job.pk}/change/"
    assert "are cut by another setting still" in root.get(address).content.decode()
    run_job(job_id=job.pk, stopping=never)
    assert Document.objects.get(source="s0").chunk_count == 9 != before
    assert root.get(answer["Location"]).status_code == 200


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"try": ""}, "Name a document or paste a text"),
        ({"size": "3", "save": ""}, "greater than or equal to 16"),
        ({"overlap": "20", "save": ""}, "must be 0 to half of size"),
        ({"parent_size": "31", "save": ""}, "must be size (32) to 8192 tokens"),
        ({"parent_size": "70", "strategy": "whole", "save": ""}, "documents that are not cut have no parents"),
        ({"strategy": "magic", "save": ""}, "not one of the available choices"),
        ({"source": "nope", "try": ""}, "not found"),
    ],
)
def test_what_cannot_be_is_said_beside_the_form(
    root: Client, address: str, changed: dict[str, str], sentence: str
) -> None:
    page = root.post(address, {**FIELDS, **changed})
    assert page.status_code == 200
    assert sentence in page.content.decode()
    assert not Job.objects.filter(kind=Job.Kind.RECHUNK).exists()
