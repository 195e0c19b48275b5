"""Documents taken out of a collection, with their chunks, vectors and words; bytes that nobody will want again."""

from __future__ import annotations

from collections_app.models import Chunk, Collection, Document
from core_app.wiring import store
from ingest_app.models import Item, Job, Payload


def remove_document(*, collection: Collection, document: Document) -> int:
    """Delete a document with its chunks; how many these were. Needs the write lock."""
    removed = remove_chunks(collection=collection, document=document)
    document.delete()
    return removed


def remove_chunks(*, collection: Collection, document: Document) -> int:
    """Take a document's chunks out of index and table; the number removed. Needs the write lock."""
    old = list(Chunk.objects.filter(document=document).values_list("pk", flat=True))
    if old:
        store(collection.store).remove(collection_id=collection.pk, chunk_ids=old)
        Chunk.objects.filter(pk__in=old).delete()
    return len(old)


def drop_payloads(*, item: Item, job: Job) -> None:
    """Forget the bytes of this version and of older ones that failed: nobody will want them tried again."""
    Payload.objects.filter(
        item__source=item.source,
        item__job__collection=job.collection_id,
        item__job__created_at__lte=job.created_at,
    ).exclude(item__state__in=(Item.State.QUEUED, Item.State.RUNNING)).delete()
    Payload.objects.filter(item=item).delete()
