"""Export and import in the console: a check first, then the import, each within the user's reach."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from access_app.models import AuditEntry
from collections_app.models import Alias, Chunk, Collection
from collections_app.services import create_collection
from ingest_app.submitting import Source, submit
from ingest_app.work import run_job
from tests.integration.console.conftest import Login

pytestmark = pytest.mark.django_db

THERE = "/admin/collections/collection/import/"
WRITER = (
    *(f"collections.view_{what}" for what in ("collection", "document", "chunk")),
    *(f"collections.change_{what}" for what in ("collection", "document", "chunk")),
    "collections.delete_chunk",
)


@pytest.fixture
def tea(db: None) -> Collection:
    made = create_collection(name="tea")
    job = submit(collection_name="tea", sources=[Source(name="a.md", content=b"# Tea\n\nOolong grows on hills.")])
    run_job(job_id=job.pk, stopping=lambda: False)
    return made


def exported(client: Client, row: Collection, query: str = "") -> bytes:
    answer = client.get(f"/admin/collections/collection/{row.pk}/export/{query}")
    assert answer.status_code == 200
    return b"".join(answer)


def sent(client: Client, name: str, content: bytes, button: str, **headers: str) -> str:
    upload = SimpleUploadedFile("x.jsonl", content)
    answer = client.post(THERE, {"name": name, "file": upload, button: "1"}, headers=headers)
    assert answer.status_code in {200, 302}
    return answer.content.decode()


def test_a_file_is_checked_and_then_imported(root: Client, tea: Collection) -> None:
    answer = root.get(f"/admin/collections/collection/{tea.pk}/export/")
    assert answer["Content-Disposition"] == 'attachment; filename="tea.jsonl"'
    content = b"".join(answer)
    page = sent(root, "copy", content, "check")
    assert "What this file would do" in page
    assert 'name="import"' in page
    assert not Collection.objects.filter(name="copy").exists()
    sent(root, "copy", content, "import")
    assert Chunk.objects.filter(collection__name="copy").count() == Chunk.objects.filter(collection=tea).count() == 1
    assert "there already" in sent(root, "copy", content, "check")
    actions = set(AuditEntry.objects.values_list("action", "collection"))
    assert {("collection.exported", "tea"), ("collection.imported", "copy")} <= actions


def test_the_part_that_htmx_asks_for(root: Client, tea: Collection) -> None:
    part = sent(root, "copy", exported(root, tea, "?vectors=false"), "check", **{"hx-request": "true"})
    assert "<html" not in part
    assert "Texts that this server embeds: 1" in part


def test_hostile_lines_show_as_text(root: Client, tea: Collection) -> None:
    content = exported(root, tea).replace(b'"kind":"chunk"', b'"kind":"<script>alert(1)</script>"')
    page = sent(root, "copy", content, "check")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert 'name="import"' not in page
    assert "Nothing was imported" in sent(root, "copy", content, "import")
    assert "no exported collection" in sent(root, "copy", b"\x00\xff", "check")


def test_only_within_reach(login: Login, root: Client, tea: Collection) -> None:
    content = exported(root, tea)
    Alias.objects.create(collection=tea, name="mine-too")
    own = login(*WRITER, "collections.add_collection", collections=("mine*",))
    assert "may not import" in sent(own, "tea", content, "check")
    assert "may not import" in sent(own, "mine-too", content, "import")
    assert "may not import" in sent(own, "other", content, "import")
    sent(own, "mine", content, "import")
    assert set(Collection.objects.values_list("name", flat=True)) == {"tea", "mine"}
    writer = login(*WRITER)
    assert "may not import" in sent(writer, "new", content, "import")
    assert own.get(f"/admin/collections/collection/{tea.pk}/export/").status_code == 404


@pytest.mark.parametrize("lacking", ["view_collection", "view_document", "view_chunk"])
def test_an_export_shows_documents_and_chunks(login: Login, tea: Collection, lacking: str) -> None:
    held = [f"collections.{one}" for one in ("view_collection", "view_document", "view_chunk") if one != lacking]
    assert login(*held).get(f"/admin/collections/collection/{tea.pk}/export/").status_code in {403, 404}
