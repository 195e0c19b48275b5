"""One document ingested again: cut anew from its kept text, or read anew by its connector."""

from __future__ import annotations

from pathlib import Path

import pytest

from collections_app.disabling import set_disabled
from collections_app.editing import edit_chunk, seen
from collections_app.models import Chunk, Document, DocumentText
from collections_app.services import create_collection
from core_app.errors import Conflict, NotFound
from ingest_app.again import recut_document, reread_document, ways
from ingest_app.connectors import NewConnector, create_connector, run_connector
from ingest_app.models import Connector, Item, Job
from ingest_app.rechunking import chunking_state
from tests.integration.ingest.filling import ingest, work_off

pytestmark = pytest.mark.django_db


def chunk(source: str) -> Chunk:
    return Chunk.objects.select_related("document").get(document__source=source)


def edit(source: str, text: str) -> None:
    row = chunk(source)
    edit_chunk(collection_name="c", external_id=row.external_id, as_seen=seen(row), text=text, metadata={})


def test_it_is_cut_anew_from_its_kept_text_and_the_others_are_left_alone() -> None:
    create_collection(name="c")
    ingest("c", "Ducks eat fish.", "Geese eat grass.")
    for source in ("s0", "s1"):
        edit(source, "Edited.")
    set_disabled(collection_name="c", external_id=chunk("s1").external_id, disabled=True)
    before = Document.objects.get(source="s0")
    job = recut_document(document_id=before.pk)
    assert recut_document(document_id=before.pk).pk == job.pk, "asked for twice it is done once"
    assert work_off(job).state == Job.State.SUCCEEDED
    assert [item.source for item in Item.objects.filter(job=job)] == ["s0"]
    assert (chunk("s0").text, chunk("s0").edited_at) == ("Ducks eat fish.", None)
    assert chunk("s1").text == "Edited."
    assert chunking_state(name="c").outdated == 0
    after = Document.objects.get(source="s0")
    assert (after.content_hash, after.submitted_at) == (before.content_hash, before.submitted_at)

    second = recut_document(document_id=Document.objects.get(source="s1").pk)
    work_off(second)
    assert chunk("s1").text == "Geese eat grass."
    assert chunk("s1").disabled_at is not None, "what was disabled stays so, though it was edited as well"


def test_without_a_kept_text_it_is_refused() -> None:
    create_collection(name="c")
    ingest("c", "Ducks eat fish.")
    document = Document.objects.get()
    assert ways(document=document).can_recut
    DocumentText.objects.all().delete()
    assert not ways(document=document).can_recut
    with pytest.raises(Conflict, match="Send the file again"):
        recut_document(document_id=document.pk)
    with pytest.raises(Conflict, match="No connector"):
        reread_document(document_id=document.pk)
    document.delete()
    with pytest.raises(NotFound):
        recut_document(document_id=document.pk)
    assert not Job.objects.filter(kind=Job.Kind.RECHUNK).exists()


def test_its_connector_reads_it_again_though_it_did_not_change(folder: Path) -> None:
    made: Connector = create_connector(collection_name="c", new=NewConnector(kind="folder", location=str(folder)))
    work_off(Job.objects.filter(connector=made).first() or run_connector(connector=made))
    document = Document.objects.get(source="b.md")
    assert ways(document=document).connector == made
    edit("b.md", "Edited.")
    work_off(run_connector(connector=made))
    assert chunk("b.md").text == "Edited.", "what did not change keeps its edits"

    job = reread_document(document_id=document.pk)
    with pytest.raises(Conflict, match="being read already"):
        reread_document(document_id=document.pk)
    assert work_off(job).state == Job.State.SUCCEEDED
    assert chunk("b.md").text == "beta"
    assert [item.source for item in Item.objects.filter(job=job)] == ["b.md"], "the others are unchanged"
    assert Document.objects.get(source="b.md").content_hash == document.content_hash
