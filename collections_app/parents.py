"""What stands around a chunk in its document: read for what a search shows, taken back where it no longer holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from collections_app.models import Chunk
from core_app.sql import statement


@dataclass(frozen=True, kw_only=True)
class Parent:
    """A stretch of a document's text that stands for several chunks; the same for all of them."""

    document_id: int
    start: int
    end: int


def parent_of(chunk: Chunk) -> Parent | None:
    """None for a chunk that is shown itself."""
    if chunk.document_id is None or chunk.parent_start is None or chunk.parent_end is None:
        return None
    return Parent(document_id=chunk.document_id, start=chunk.parent_start, end=chunk.parent_end)


def parent_texts(*, parents: Sequence[Parent]) -> dict[Parent, str]:
    """The text of each; those of documents whose text was not kept are missing from the result."""
    if not parents:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            statement("collections_app", "parent_texts"),
            {
                "document_ids": [parent.document_id for parent in parents],
                "starts": [parent.start for parent in parents],
                "ends": [parent.end for parent in parents],
            },
        )
        return {parents[place - 1]: text for place, text in cursor.fetchall()}


def take_parents_back(*, chunk_ids: Sequence[int]) -> None:
    """Show the chunks that share a parent with these by themselves. Needs the collection's write lock.

    For chunks that are about to go: what was taken out must not be shown around its neighbours.
    """
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "take_parents_back"), {"chunk_ids": list(chunk_ids)})
