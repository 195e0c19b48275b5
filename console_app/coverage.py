"""The rows behind the numbers of what is missing in a collection."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from collections_app.coverage import chunks_without_vectors, failed, without_chunks
from collections_app.models import Chunk, Collection, Document
from console_app.permissions import may
from core_app.keyset import key_from
from core_app.snapshot import in_time
from ingest_app.cures import cure_of

#: Of each kind of row on the page.
SHOWN = 50
SEARCH_SECONDS = 2.0


@transaction.atomic
def gaps(request: HttpRequest, collection: Collection) -> dict[str, Any]:
    """The context of the page; documents and chunks only for those who may see them.

    What cannot be found in time is said to be not looked for.
    """
    found: dict[str, Any] = {"shown": SHOWN, "sees_documents": may(request.user, "view_documents", collection)}
    if found["sees_documents"]:
        empty, broken = _some(without_chunks(collection=collection)), _some(failed(collection=collection))
        found["empty_is_late"], found["failed_is_late"] = empty is None, broken is None
        found["empty_documents"], found["more_empty"] = (empty or [])[:SHOWN], len(empty or ()) > SHOWN
        found["failed_documents"] = [(row, cure_of(row.error_code)) for row in (broken or [])[:SHOWN]]
        found["more_failed"] = len(broken or ()) > SHOWN
    found["sees_chunks"] = may(request.user, "view_chunks", collection)
    return found | (_chunks(request, collection) if found["sees_chunks"] else {})


def _some(rows: QuerySet[Document]) -> list[Document] | None:
    """The first of them, one more than is shown; None where looking for them takes too long."""
    return in_time(lambda: list(rows[: SHOWN + 1]), seconds=SEARCH_SECONDS)


def _chunks(request: HttpRequest, collection: Collection) -> dict[str, Any]:
    def read() -> list[int]:
        after = key_from(request.GET.get("after")) or 0
        return chunks_without_vectors(collection=collection, after=after, limit=SHOWN + 1)

    keys = in_time(read, seconds=SEARCH_SECONDS)
    if keys is None:
        return {"chunks": [], "took_too_long": True}
    rows = Chunk.objects.filter(pk__in=keys[:SHOWN]).select_related("document").defer("metadata").order_by("pk")
    return {"chunks": list(rows), "next_after": keys[SHOWN - 1] if len(keys) > SHOWN else None}
