"""The built-in store: vectors and words of every collection in Ragsite's own Postgres."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache

from core_app.ports import Bm25, DenseFound, IndexedChunk, IndexState, LexicalFound, Prepared, Space, TermShare, Vectors
from core_app.where import Where
from stores_app import compaction, coverage, dense, index_upkeep, keywords, nearest, words
from stores_app.lexical.languages import LANGUAGES, checked
from stores_app.lexical.marking import marks
from stores_app.lexical.worker import Analysis, AnalysisWorker


@cache
def _worker() -> AnalysisWorker:
    """One a process, however many stores."""
    return AnalysisWorker()


class PgVectorStore:
    """`core_app.ports.Store` on pgvector and packed postings.

    Every call runs inside the caller's transaction. Before `add`, `remove` and `compact` the caller has
    locked the collection's row (FOR NO KEY UPDATE): a merge beside a delete would bring chunks back.
    Searches take no lock; they want one snapshot (REPEATABLE READ) for all their statements.
    """

    def __init__(self) -> None:
        self._worker = _worker()

    #: See `core_app.ports.Store`.
    has_words = True

    def check_rows(self, *, collection_id: int) -> None:
        """They are here."""

    def held_by(self, *, collection_id: int) -> str:
        """Nobody else."""
        return ""

    @property
    def home(self) -> str:
        """Its own name."""
        return "pgvector"

    @property
    def languages(self) -> Sequence[str]:
        """Snowball's names of the languages whose words can be indexed."""
        return LANGUAGES

    def prepare(self, *, language: str, texts: Sequence[str]) -> AbstractContextManager[Analysis]:
        """Analyse the words of these texts in another process, where they are many. Raises InvalidInput."""
        return self._worker.analysing(language=checked(language), texts=texts)

    def add(
        self, *, space: Space, language: str, chunks: Sequence[IndexedChunk], prepared: Prepared | None = None
    ) -> None:
        """Index new chunks, whose rows exist: one segment of words, and their vectors.

        Raises InvalidInput for an unknown language, or a vector of another dimension, with numbers that
        are not finite, or longer than 9e18; nothing was written then.
        """
        if chunks:
            vectors = dense.packed(space=space, chunks=chunks)
            checked(language)
            dense.add(vectors)
            # Last: by then it may have been analysed beside us.
            words.add(
                words.segment(language=language, chunks=chunks, prepared=prepared), collection_id=space.collection_id
            )

    def remove(self, *, collection_id: int, chunk_ids: Sequence[int]) -> None:
        """Take chunks out of the index.

        Ids that are unknown, removed already or of another collection change nothing.
        """
        if chunk_ids:
            words.remove(collection_id=collection_id, chunk_ids=chunk_ids)
            dense.remove(collection_id=collection_id, chunk_ids=chunk_ids)

    def changed(self, *, collection_id: int, chunk_ids: Sequence[int]) -> None:
        """Nothing to do: searches read the rows themselves."""

    def dense(
        self, *, space: Space, query: Vectors, limit: int, where: Where | None = None, seconds: float | None = None
    ) -> DenseFound:
        """The nearest chunks that the filter lets through. Raises InvalidInput.

        Exact without a vector index. With one, distances are exact too, and most of the nearest are found;
        never fewer than `limit` while so many pass.
        """
        return nearest.nearest(space=space, query=query, limit=limit, where=where)

    def distances(self, *, space: Space, query: Vectors, chunk_ids: Sequence[int]) -> dict[int, float]:
        """Distances of these chunks, for those that have a vector. Raises InvalidInput."""
        return dense.distances(space=space, query=query, chunk_ids=chunk_ids)

    def vectors(self, *, space: Space, chunk_ids: Sequence[int]) -> dict[int, Vectors]:
        """The stored vectors of these chunks, for those that have one."""
        return dense.vectors(space=space, chunk_ids=chunk_ids)

    def lexical(
        self, *, collection_ids: Sequence[int], bm25: Bm25, query: str, limit: int, where: Where | None = None
    ) -> LexicalFound:
        """The best chunks by BM25 (`stores_app.lexical.bm25`), as if the collections were one.

        Raises InvalidInput for an unknown language, and Unavailable where the caller's transaction is
        not REPEATABLE READ and a merge came between two statements.
        """
        return keywords.best(collection_ids=collection_ids, bm25=bm25, query=query, limit=limit, where=where)

    def term_shares(
        self, *, collection_ids: Sequence[int], bm25: Bm25, query: str, chunk_ids: Sequence[int]
    ) -> dict[int, list[TermShare]]:
        """What each term adds to these chunks' scores. Raises as `lexical` does."""
        return keywords.shares(collection_ids=collection_ids, bm25=bm25, query=query, chunk_ids=chunk_ids)

    def marks(self, *, language: str, query: str, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where each text has terms of the query. Raises InvalidInput for an unknown language."""
        return marks(query=query, texts=texts, language=language)

    def compact(self, *, collection_id: int) -> int:
        """Merge small segments and rewrite mostly deleted ones; the number of segments replaced.

        A call ends after a few seconds' work. Call again, in a new transaction, until it returns 0.
        """
        return compaction.compact(collection_id=collection_id)

    def fragments(self, *, collection_id: int) -> int:
        """How many segments `compact` would merge now."""
        return compaction.fragments(collection_id=collection_id)

    def empty(self, *, collection_id: int) -> None:
        """Take all chunks of a collection out of the index, in every generation."""
        dense.empty(collection_id=collection_id)
        words.forget(collection_id=collection_id)

    def count_without_vectors(self, *, generations: Mapping[int, int | None]) -> dict[int, int]:
        """How many chunks of each collection have no vector in the generation beside it; all where there is none."""
        return coverage.count_without_vectors(generations=generations)

    def without_vectors(self, *, collection_id: int, generation_id: int | None, after: int, limit: int) -> list[int]:
        """The keys of the next of them, ascending."""
        return coverage.chunks_without_vectors(
            collection_id=collection_id, generation_id=generation_id, after=after, limit=limit
        )

    def reword(self, *, collection_id: int, language: str, texts: Mapping[int, str]) -> None:
        """Index words of stored chunks, by chunk id, in a language that is not searched yet. Raises InvalidInput.

        The ids are larger than those of before.
        """
        if texts:
            words.add(words.in_language(language=language, texts=texts), collection_id=collection_id)

    def reworded(self, *, collection_id: int, language: str) -> int:
        """The largest id of a chunk whose words are indexed in the language; 0 where none is."""
        return words.last_chunk(collection_id=collection_id, language=language)

    def forget_words(self, *, collection_id: int, keep: Collection[str]) -> int:
        """Take the words of all languages but these out of the index; how many chunks' words that were."""
        return words.forget(collection_id=collection_id, keep=keep)

    def index_state(self, *, space: Space) -> IndexState:
        """Whether an index stands and whether it should, or should be another. Counts the space's vectors."""
        return index_upkeep.state(space)

    def build_index(self, *, space: Space, check: Callable[[], None]) -> None:
        """Build the space's index beside searches and writes, then drop the one before (`stores_app.hnsw`).

        Vectors that are too few, too long or out of half precision's range get none. Two at a time wait
        for each other. Raises what `check` raises, and TransactionManagementError inside a transaction.
        """
        index_upkeep.build(space, check)

    def reclaim(self, *, check: Callable[[str, int, int], None]) -> None:
        """Drop indexes that serve no search and vacuum the tables. Raises as `build_index` does."""
        index_upkeep.reclaim(check)
