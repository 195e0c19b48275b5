"""What the rooms expect of each other's machinery: embedders and stores, found by dotted path.

Whoever implements a port is named in the wiring module and imported by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from core_app.where import Where

if TYPE_CHECKING:
    from core_app.providers import HeldChunk

Vectors = NDArray[np.float32]
#: Components that a vector may have: what pgvector's `vector` type holds.
MAX_DIMENSION = 16_000
DistanceName = Literal["cosine", "l2", "ip"]


@dataclass(frozen=True, kw_only=True)
class QueryEngine:
    """What embeds queries in this process."""

    name: str
    #: Why it is no faster one; empty where there is none.
    reason: str = ""
    #: Whether a faster one was wanted and cannot be used: nothing is found otherwise, but later.
    is_fallback: bool = False
    #: Whether it cannot answer yet: the model is being loaded, which takes some seconds after the start.
    is_loading: bool = False


class Embedder(Protocol):
    """Turns text into vectors of one length."""

    @property
    def connection(self) -> str:
        """The configured name of this source of embeddings."""

    @property
    def model(self) -> str:
        """The model's name; together with `connection` it says which vectors are comparable."""

    @property
    def dimension(self) -> int:
        """Components of each vector. May load the model."""

    @property
    def query_engine(self) -> QueryEngine:
        """What embeds queries now. Loads nothing."""

    @property
    def batch_size(self) -> int:
        """Texts that are embedded together at best."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (len(texts), dimension), in the order of `texts`."""

    def embed_query(self, text: str) -> Vectors:
        """One vector of shape (dimension,)."""

    def warm_up(self) -> None:
        """Load whatever makes queries fast. May take a minute; other threads may embed meanwhile."""

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`, without the special ones that a model puts around it."""


@dataclass(frozen=True, kw_only=True)
class PairScores:
    """How well texts answer a query: of the first so many of those asked about that there was time for."""

    #: Shape (texts,); as the model's head gives them, and then as the model's own activation has them.
    logits: Vectors
    values: Vectors
    #: That the model read, with those of the query and special ones.
    tokens: int


class PairScorer(Protocol):
    """Reads a query and a text together and says how well they belong together: a cross-encoder."""

    @property
    def model(self) -> str:
        """Its name, or the folder it was loaded from."""

    def load(self) -> None:
        """Load the model. Raises Unavailable with a sentence that says why it cannot be."""

    def scores(
        self, *, query: str, texts: Sequence[str], seconds: float | None = None, partial: bool = False
    ) -> PairScores:
        """Scores of all texts, or none where `seconds` are not enough; with `partial` of as many of the first as fit.

        Texts are cut to what the model reads.

        Raises whatever the model raises.
        """


@dataclass(frozen=True, kw_only=True)
class Space:
    """One set of comparable vectors in a store."""

    collection_id: int
    generation_id: int
    dimension: int
    distance: DistanceName


@dataclass(frozen=True, kw_only=True)
class Bm25:
    """How a collection's words are weighed."""

    language: str
    k1: float
    b: float


@dataclass(frozen=True, kw_only=True)
class IndexedChunk:
    """What a store is given of a chunk: the contextual text for the words, and its vector."""

    chunk_id: int
    text: str
    embedding: Vectors


@dataclass(frozen=True, kw_only=True)
class IndexState:
    """How the vectors of one space are searched."""

    #: Vectors that an index covers; 0 where all are compared one by one.
    indexed: int
    #: Vectors that are compared one by one, beside the index.
    unindexed: int
    #: Whether building the index anew would pay.
    wanted: bool


@dataclass(frozen=True, kw_only=True)
class DenseHit:
    chunk_id: int
    #: As the space's distance defines it; smaller is nearer.
    distance: float
    #: What it says, where no row does: another system holds it alone. Its `chunk_id` is below 0 then.
    chunk: HeldChunk | None = None


class LexicalHit(NamedTuple):
    """A tuple, since a hundred of them are made in a search: of dataclasses that takes a tenth of the words' time."""

    chunk_id: int
    #: BM25, above 0; larger is better.
    score: float


@dataclass(frozen=True, kw_only=True)
class DenseFound:
    """The nearest chunks, and how they were looked for."""

    #: Nearest first, ties by chunk id.
    hits: Sequence[DenseHit]
    #: In a word, for explanations: such as `index` or `filter first`.
    way: str


@dataclass(frozen=True, kw_only=True)
class AskedTerm:
    """One term of a query, as the word index has it."""

    term: str
    #: How often it counts; 0 where no chunk has it.
    weight: float
    #: Chunks that have it, and how rare that makes it.
    chunks: int
    idf: float
    #: How rare a name it is, such as `snake_case` or `E501`, 0 to 1; 0 for ordinary words.
    rarity: float
    #: What a name counts where several collections are compared by what they have of the query, whose other words
    #: count 1 together; 0 for ordinary words. In the score of a passage it is in `weight`.
    worth: float = 0.0
    #: The words of the query that it stands for, the same in every language, whose stems are not.
    words: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LexicalFound:
    """The best chunks by their words, and how they were looked for."""

    #: Best first, ties by chunk id.
    hits: Sequence[LexicalHit]
    way: str
    terms: Sequence[AskedTerm] = ()


@dataclass(frozen=True, kw_only=True)
class TermShare:
    """What one term adds to the BM25 score of one chunk."""

    term: str
    weight: float
    idf: float
    #: How often the chunk has it.
    frequency: int
    #: Terms of the chunk.
    length: int
    share: float


class Prepared(Protocol):
    """What indexing some texts takes, begun beside the caller."""

    def settle(self) -> None:
        """Wait for the end where that takes seconds: the caller is about to lock the collection."""


class Store(Protocol):
    """Holds the vectors and words of collections. Every call runs inside the caller's transaction."""

    @property
    def home(self) -> str:
        """The name of the store that has the rows and words of its collections; copies are made there."""

    @property
    def has_words(self) -> bool:
        """Whether its collections can be searched by words."""

    def check_rows(self, *, collection_id: int) -> None:
        """Raise Conflict where the collection's documents and chunks are not held here."""

    def held_by(self, *, collection_id: int) -> str:
        """The name of the connection that holds the collection's documents alone; empty where they are held here."""

    @property
    def languages(self) -> Sequence[str]:
        """The languages whose words can be indexed."""

    def prepare(self, *, language: str, texts: Sequence[str]) -> AbstractContextManager[Prepared]:
        """Begin beside the caller with what `add` will need of these texts; what it gives is for `add`."""

    def add(
        self, *, space: Space, language: str, chunks: Sequence[IndexedChunk], prepared: Prepared | None = None
    ) -> None:
        """Index new chunks: all of them or, when it raises, none.

        `prepared` is what `prepare` gave for the texts of the same chunks in the same order.
        """

    def remove(self, *, collection_id: int, chunk_ids: Sequence[int]) -> None:
        """Take chunks, whose rows are still there, out of the index. An empty list removes nothing."""

    def changed(self, *, collection_id: int, chunk_ids: Sequence[int]) -> None:
        """Learn that chunks in the index have other metadata now."""

    def dense(
        self, *, space: Space, query: Vectors, limit: int, where: Where | None = None, seconds: float | None = None
    ) -> DenseFound:
        """The nearest chunks among those that the filter lets through.

        Fewer than `limit` only when fewer exist. Approximate where a vector index stands. `seconds` bound what other
        systems are asked; statements have a bound of their own. Raises FarSideSlow when they are over.
        """

    def distances(self, *, space: Space, query: Vectors, chunk_ids: Sequence[int]) -> dict[int, float]:
        """Distances of these chunks, for those that have a vector."""

    def vectors(self, *, space: Space, chunk_ids: Sequence[int]) -> dict[int, Vectors]:
        """The stored vectors of these chunks, each of shape (dimension,), for those that have one."""

    def lexical(
        self, *, collection_ids: Sequence[int], bm25: Bm25, query: str, limit: int, where: Where | None = None
    ) -> LexicalFound:
        """The best chunks by BM25 among those that the filter lets through; only those that share a term.

        Several collections are searched as if they were one: their scores can be compared. What counts as rare
        is judged by all of their chunks, whatever the filter. Fewer than `limit` only when fewer match.
        """

    def term_shares(
        self, *, collection_ids: Sequence[int], bm25: Bm25, query: str, chunk_ids: Sequence[int]
    ) -> dict[int, list[TermShare]]:
        """What each term adds to these chunks' scores, by chunk id; in the order in which they are added up."""

    def marks(self, *, language: str, query: str, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where each text has terms of the query: half-open ranges of characters, ascending, none overlapping."""

    def compact(self, *, collection_id: int) -> int:
        """Merge small parts of the word index; the number of parts merged away. Changes no result."""

    def fragments(self, *, collection_id: int) -> int:
        """How many parts of the word index `compact` would merge now."""

    def empty(self, *, collection_id: int) -> None:
        """Take all chunks of a collection out of the index, before their rows are deleted."""

    def count_without_vectors(self, *, generations: Mapping[int, int | None]) -> dict[int, int]:
        """How many chunks of each collection, by its key, have no vector in the generation beside it; all without one.

        Those that are disabled are none of them. May take long: bound its statement.
        """

    def without_vectors(self, *, collection_id: int, generation_id: int | None, after: int, limit: int) -> list[int]:
        """The keys of the next of them after a key, ascending."""

    # A collection's words can be in the index in two languages; `lexical` finds those of the one it is asked in.

    def reword(self, *, collection_id: int, language: str, texts: Mapping[int, str]) -> None:
        """Index the words of stored chunks in a language, texts by chunk id, all after what `reworded` says."""

    def reworded(self, *, collection_id: int, language: str) -> int:
        """Up to which chunk id the words of a collection are indexed in the language; 0 where none are.

        `remove` takes chunks out of every language, so this holds whatever is deleted meanwhile.
        """

    def forget_words(self, *, collection_id: int, keep: Collection[str]) -> int:
        """Take the words of all languages but these out of the index; how many chunks' words that were."""

    # The following run outside any transaction, beside searches and writes, and may take minutes.

    def index_state(self, *, space: Space) -> IndexState:
        """Whether the space's vectors are searched by an index, and whether one should be built."""

    def build_index(self, *, space: Space, check: Callable[[], None]) -> None:
        """Build the space's vector index anew and drop the old one; changes no stored vector.

        A space that has too few vectors for an index, or of a kind that it cannot hold, is left without.
        `check` is called every second or so and may raise: the build is then given up and nothing is left
        of it. Calling it twice, or after a crash, does no harm.
        """

    def reclaim(self, *, check: Callable[[str, int, int], None]) -> None:
        """Drop indexes nobody needs and give the space of deleted rows back for use.

        `check(step, done, total)` is told every second or so what is being done, and may raise: the step is
        given up then. `done` of `total` steps have ended.
        """
