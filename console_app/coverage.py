"""The rows behind the numbers of what is missing in a collection."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import HttpRequest

from collections_app.coverage import failed, without_chunks
from collections_app.models import Chunk, Collection
from console_app.permissions import may
from core_app.keyset import key_from
from core_app.snapshot import in_time
from ingest_app.cures import cure_of
from stores_app.coverage import chunks_without_vectors

#: Of each kind of row on the page.
SHOWN = 50
SEARCH_SECONDS = 2.0


def gaps(request: HttpRequest, collection: Collection) -> dict[str, Any]:
    """The context of the page; documents and chunks only for those who may see them."""
    found: dict[str, Any] = {"shown": SHOWN, "sees_documents": may(request.user, "view_documents", collection)}
    if found["sees_documents"]:
        empty = list(without_chunks(collection=collection)[: SHOWN + 1])
        broken = list(failed(collection=collection)[: SHOWN + 1])
        found["empty_documents"], found["more_empty"] = empty[:SHOWN], len(empty) > SHOWN
        found["failed_documents"] = [(document, cure_of(document.error_code)) for document in broken[:SHOWN]]
        found["more_failed"] = len(broken) > SHOWN
    found["sees_chunks"] = may(request.user, "view_chunks", collection)
    return found | (_chunks(request, collection) if found["sees_chunks"] else {})


def _chunks(request: HttpRequest, collection: Collection) -> dict[str, Any]:
    def read() -> list[int]:
        return chunks_without_vectors(
            collection_id=collection.pk,
            generation_id=collection.active_generation_id,
            after=key_from(request.GET.get("after")) or 0,
            limit=SHOWN + 1,
        )

    with transaction.atomic():
        keys = in_time(read, seconds=SEARCH_SECONDS)
    if keys is None:
        return {"chunks": [], "took_too_long": True}
    rows = Chunk.objects.filter(pk__in=keys[:SHOWN]).select_related("document").defer("metadata").order_by("pk")
    return {"chunks": list(rows), "next_after": keys[SHOWN - 1] if len(keys) > SHOWN else None}
