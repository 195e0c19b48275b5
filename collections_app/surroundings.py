"""What stands around a chunk in its document: its neighbours, its section, all of it.

Never beyond a chunk that was taken out since, nor one whose text was replaced: that is no longer the document's.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from collections_app.models import Chunk
from collections_app.parents import Parent
from core_app.sql import statement


def window_around(*, chunks: Sequence[Chunk], size: int) -> dict[int, Parent]:
    """By chunk id the stretch of text from `size` chunks before each to as many after it.

    Missing are chunks without a document, or of one whose text was not kept.
    """
    return _stretches("window_around", chunks, size=size)


def section_around(*, chunks: Sequence[Chunk]) -> dict[int, Parent]:
    """By chunk id the stretch of text that has the chunk's headings above it, with the sections in it."""
    return _stretches("section_around", chunks)


def whole_document(*, chunks: Sequence[Chunk]) -> dict[int, Parent]:
    """By chunk id all of the text that the chunk is from."""
    return _stretches("whole_document", chunks)


def _stretches(name: str, chunks: Sequence[Chunk], **params: int) -> dict[int, Parent]:
    placed = [chunk.pk for chunk in chunks if chunk.document_id is not None and chunk.start_offset is not None]
    if not placed:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", name), {"chunk_ids": placed, **params})
        return {
            chunk_id: Parent(document_id=document_id, start=start, end=end)
            for chunk_id, document_id, start, end in cursor.fetchall()
        }
