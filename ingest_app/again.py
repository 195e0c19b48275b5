"""One document once more: cut anew from the text that is kept of it, or read anew where it came from.

The bytes of a source are not kept once it is indexed. Its text is, with its pages and headings, so passages can be cut
and embedded anew without it; only a connector knows where to read the source itself again.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from access_app.audit import record
from collections_app.models import Collection, Document, DocumentText
from collections_app.services import lock_collection, touch
from core_app.errors import Conflict, NotFound
from ingest_app.connectors import run_connector
from ingest_app.dispatching import request
from ingest_app.models import Connector, Job


@dataclass(frozen=True, kw_only=True)
class Ways:
    """How a document can be ingested again."""

    #: Its text is kept, so it can be cut anew.
    can_recut: bool
    #: What reads its source, where something does.
    connector: Connector | None


def ways(*, document: Document) -> Ways:
    """What can be done for a document."""
    kept = document.state == Document.State.READY and DocumentText.objects.filter(document=document).exists()
    return Ways(can_recut=kept, connector=_connector(document))


def recut_document(*, document_id: int) -> Job:
    """Cut a document anew from its kept text, as its collection says, and embed it; the job that will.

    What was edited in it says again what the source says; what was disabled stays so. Raises NotFound, and Conflict
    where no text is kept.
    """
    with transaction.atomic():
        document, collection = _locked(document_id)
        if not ways(document=document).can_recut:
            raise Conflict("Its text was not kept. Send the file again.", code="text_not_kept")
        # As if it had been cut by another setting: the job of the collection that cuts such documents finds it.
        document.cut_by = ""
        document.save(update_fields=["cut_by"])
        record("document.ingested_again", document, collection=collection.name, after={"from": "its kept text"})
        request(job=Job(kind=Job.Kind.RECHUNK, collection=collection))
        return Job.objects.get(kind=Job.Kind.RECHUNK, collection=collection, finished_at__isnull=True)


def reread_document(*, document_id: int) -> Job:
    """Have the connector that brought a document read its place, and take this document for changed; the job.

    Raises NotFound, and Conflict where no connector brought it, or it is being read already.
    """
    with transaction.atomic():
        document, collection = _locked(document_id)
        connector = _connector(document)
        if connector is None:
            raise Conflict("No connector of this collection brought it. Send the file again.", code="no_connector")
        # Without it what is read is no version that was seen before.
        document.content_hash = ""
        document.save(update_fields=["content_hash"])
        touch(collection=collection)
        record("document.ingested_again", document, collection=collection.name, after={"from": "its connector"})
        return run_connector(connector=connector)


def _locked(document_id: int) -> tuple[Document, Collection]:
    found = Document.objects.filter(pk=document_id).first()
    if found is None:
        raise _gone()
    collection = lock_collection(collection_id=found.collection_id)
    document = Document.objects.filter(pk=document_id).first()
    if document is None:
        raise _gone()
    return document, collection


def _gone() -> NotFound:
    return NotFound("The document was deleted meanwhile.", code="source_not_found")


def _connector(document: Document) -> Connector | None:
    if not document.origin:
        return None
    return Connector.objects.filter(collection_id=document.collection_id, origin=document.origin).first()
