"""The built-in store: vectors and words of every collection in Ragsite's own Postgres."""

from __future__ import annotations

from collections.abc import Sequence

from core_app.ports import Bm25, DenseHit, IndexedChunk, LexicalHit, Space, Vectors
from stores_app import compaction, dense, words


class PgVectorStore:
    """`core_app.ports.Store` on pgvector and packed postings.

    Every call runs inside the caller's transaction. Before `add`, `remove` and `compact` the caller has
    locked the collection's row (FOR NO KEY UPDATE): a merge beside a delete would bring chunks back.
    Searches take no lock; they want one snapshot (REPEATABLE READ) for all their statements.
    """

    def add(self, *, space: Space, language: str, chunks: Sequence[IndexedChunk]) -> None:
        """Index new chunks, whose rows exist: one segment of words, and their vectors.

        Raises InvalidInput for an unknown language, or a vector of another dimension, with numbers that
        are not finite, or longer than 9e18; nothing was written then.
        """
        if chunks:
            vectors = dense.rows(space=space, chunks=chunks)
            segment = words.segment(language=language, chunks=chunks)
            dense.add(vectors)
            words.add(segment, collection_id=space.collection_id)

    def remove(self, *, collection_id: int, chunk_ids: Sequence[int]) -> None:
        """Take chunks out of the index, before or after their rows are deleted.

        Ids that are unknown, removed already or of another collection change nothing.
        """
        if chunk_ids:
            words.remove(collection_id=collection_id, chunk_ids=chunk_ids)
            dense.remove(collection_id=collection_id, chunk_ids=chunk_ids)

    def dense(self, *, space: Space, query: Vectors, limit: int) -> list[DenseHit]:
        """The nearest chunks by exact search, nearest first, ties by chunk id. Raises InvalidInput."""
        return dense.nearest(space=space, query=query, limit=limit)

    def distances(self, *, space: Space, query: Vectors, chunk_ids: Sequence[int]) -> dict[int, float]:
        """Distances of these chunks, for those that have a vector. Raises InvalidInput."""
        return dense.distances(space=space, query=query, chunk_ids=chunk_ids)

    def lexical(self, *, collection_id: int, bm25: Bm25, query: str, limit: int) -> list[LexicalHit]:
        """The best chunks by BM25 (`stores_app.lexical.bm25`), ties by chunk id.

        Raises InvalidInput for an unknown language, and Unavailable where the caller's transaction is
        not REPEATABLE READ and a merge came between two statements.
        """
        return words.best(collection_id=collection_id, bm25=bm25, query=query, limit=limit)

    def compact(self, *, collection_id: int) -> int:
        """Merge small segments and rewrite mostly deleted ones; the number of segments replaced.

        A call ends after a few seconds' work. Call again, in a new transaction, until it returns 0.
        """
        return compaction.compact(collection_id=collection_id)
