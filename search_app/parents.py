"""Small to find, big to show: passages of one parent are one result, and the parent is what it shows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from collections_app.models import Chunk
from collections_app.parents import Parent, parent_of, parent_texts
from collections_app.selectors import chunks_by_id


def shown_once(*, ranked: Sequence[int], limit: int) -> list[Chunk]:
    """The best chunk of each parent, and each chunk without one, best first; at most `limit`.

    `ranked` are chunk ids. Further ones are read only where parents left fewer than wanted, each time twice as many.
    """
    shown: dict[Hashable, Chunk] = {}
    start, count = 0, limit
    while len(shown) < limit and start < len(ranked):
        batch = ranked[start : start + count]
        chunks = chunks_by_id(chunk_ids=batch)
        for chunk in (chunks[chunk_id] for chunk_id in batch if chunk_id in chunks):
            shown.setdefault(parent_of(chunk) or chunk.pk, chunk)
        start, count = start + count, 2 * count
    return list(shown.values())[:limit]


def texts_around(*, chunks: Sequence[Chunk]) -> dict[Parent, str]:
    """The texts of the parents that show more than their chunk."""
    around = (parent_of(chunk) for chunk in chunks if _is_more(chunk))
    return parent_texts(parents=[parent for parent in around if parent is not None])


def _is_more(chunk: Chunk) -> bool:
    return (chunk.parent_start, chunk.parent_end) != (chunk.start_offset, chunk.end_offset)
