"""A document's text with the borders of its chunks, a stretch of it at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.db import connection

from collections_app.models import Chunk
from collections_app.parents import Parent, parent_texts
from core_app.sql import statement

#: Characters of one stretch.
STRETCH = 20_000


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Text between two borders, and the chunks it belongs to: none, one, or several where they overlap."""

    text: str
    chunks: Sequence[Chunk]
    #: The chunks that begin here.
    begins: Sequence[Chunk]
    #: Which begin here of the ranges that searches show in place of chunks.
    parents: Sequence[tuple[int, int]]
    #: The page of the first chunk that begins here, where it is another than before.
    page: int | None = None

    @property
    def is_shared(self) -> bool:
        return len(self.chunks) > 1

    @property
    def is_disabled(self) -> bool:
        """No search finds any of it."""
        return bool(self.chunks) and all(chunk.disabled_at is not None for chunk in self.chunks)


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Characters `start` to `end` of a text of `length`."""

    start: int
    end: int
    length: int
    pieces: Sequence[Piece]
    #: Chunks that stand nowhere in the text any more, because their own was changed.
    unplaced: Sequence[Chunk]

    @property
    def has_parents(self) -> bool:
        return any(piece.parents for piece in self.pieces)

    @property
    def before(self) -> int | None:
        return max(0, self.start - STRETCH) if self.start else None

    @property
    def after(self) -> int | None:
        return self.end if self.end < self.length else None


def text_length(*, document_id: int) -> int | None:
    """Characters of a document's text; None where it was not kept."""
    with connection.cursor() as cursor:
        cursor.execute(statement("collections_app", "text_length"), {"document_id": document_id})
        row = cursor.fetchone()
    return None if row is None else int(row[0])


def read_stretch(*, document_id: int, start: int) -> Stretch | None:
    """The text from a character on; None where the text was not kept."""
    length = text_length(document_id=document_id)
    if length is None:
        return None
    start = min(max(0, start), max(0, length - 1))
    end = min(length, start + STRETCH)
    window = Parent(document_id=document_id, start=start, end=end)
    text = parent_texts(parents=[window]).get(window, "")
    rows = Chunk.objects.filter(document_id=document_id).defer("text", "metadata", "original_text")
    placed = list(rows.filter(start_offset__lt=end, end_offset__gt=start).order_by("ordinal"))
    unplaced = list(rows.filter(start_offset__isnull=True).order_by("ordinal")[:100])
    return Stretch(start=start, end=end, length=length, pieces=_pieces(text, start, placed), unplaced=unplaced)


def _pieces(text: str, start: int, chunks: Sequence[Chunk]) -> list[Piece]:
    end = start + len(text)
    spans = [(chunk, chunk.start_offset or 0, chunk.end_offset or 0) for chunk in chunks]
    borders = {start, end}
    for _, first, last in spans:
        borders |= {max(first, start), min(last, end)}
    ordered = sorted(borders)
    pieces: list[Piece] = []
    page: int | None = None
    known_parents: set[tuple[int, int]] = set()
    for first, last in pairwise(ordered):
        begins = [chunk for chunk, at, _ in spans if max(at, start) == first]
        parents = {p for chunk in begins if (p := (chunk.parent_start, chunk.parent_end)) != (None, None)}
        new_parents = sorted((a, b) for a, b in parents - known_parents if a is not None and b is not None)
        known_parents |= set(new_parents)
        pages = [chunk.page for chunk in begins if chunk.page is not None and chunk.page != page]
        page = pages[0] if pages else page
        pieces.append(
            Piece(
                text=text[first - start : last - start],
                chunks=[chunk for chunk, at, to in spans if at < last and to > first],
                begins=begins,
                parents=new_parents,
                page=pages[0] if pages else None,
            )
        )
    return pieces
