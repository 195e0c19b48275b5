"""What a search gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from collections_app.models import Chunk
from rerank_app.second_stage import RerankerName
from search_app.modes import Fusion, ModeName

if TYPE_CHECKING:
    from search_app.explaining import Explanation, HitExplanation
    from search_app.tracing import Whereabouts

Value = str | int | float | bool


@dataclass(frozen=True, kw_only=True)
class SearchWarning:
    """What kept a search from being all it could be."""

    code: str
    detail: str


#: Codes of what is so and no fault: the same search is answered in the same way tomorrow.
STANDING = frozenset({"no_embedder", "no_words", "no_reranker", "expansion_cut", "candidates_cut", "reranking_cut"})


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One passage of the answer."""

    id: str
    collection: str
    #: The passage, or what stands around it where its parent or an expansion is shown.
    content: str
    #: Similarity of query and passage, 0 to 1; 0 where no vector could be compared.
    score: float
    metadata: dict[str, Any]
    #: The passage that was found, where `content` is more than it.
    matched: str | None = None
    #: Where it stands there, without the header of its table: a half-open range of characters.
    matched_at: tuple[int, int] | None = None
    #: Where `content` has words of the query; None where that was not asked.
    highlights: Sequence[tuple[int, int]] | None = None
    explanation: HitExplanation | None = None


@dataclass(frozen=True, kw_only=True)
class ShortHit:
    """A hit as spec C's agents see it."""

    content: str
    source: str | None
    section: str
    #: Similarity in percent, such as `87%`; None where nothing was compared.
    relevance: str | None


def in_short(hit: Hit) -> ShortHit:
    """What of a hit an agent needs."""
    return ShortHit(
        content=hit.content,
        source=hit.metadata["source"],
        section=hit.metadata["section"],
        relevance=None if hit.metadata["similarity_score"] is None else f"{round(100 * hit.score)}%",
    )


@dataclass(frozen=True, kw_only=True)
class ValueCount:
    value: Value
    count: int


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The passages, best first, and how they were found."""

    hits: Sequence[Hit]
    mode: ModeName
    fusion: Fusion
    query_strategy: str
    reranker: RerankerName | Literal["none"]
    #: How many of the best the reranker read.
    reranked: int
    warnings: Sequence[SearchWarning]
    took_ms: float
    #: By field, most frequent values first; of all that was found, not only of what is shown.
    facets: Mapping[str, Sequence[ValueCount]]
    explanation: Explanation | None = None
    #: Of what was asked for by name.
    traced: Sequence[Whereabouts] = ()


def make_hit(
    chunk: Chunk,
    *,
    collection: str,
    around: str | None,
    starts_at: int,
    similarity: float | None,
    rrf_score: float,
) -> Hit:
    """A chunk as a hit: the user's metadata, with the system's fields over keys of the same name.

    `around` is the text that is shown for it, which `starts_at` this character of the document; None where the
    chunk is shown itself.
    """
    metadata = dict(chunk.metadata)
    # Ingested chunks have these; a chunk stored directly has them if they were sent.
    for key in ("source", "page_number", "chunk_index"):
        metadata.setdefault(key, None)
    metadata.setdefault("section", "")
    metadata |= {"similarity_score": similarity, "rrf_score": rrf_score}
    hit = Hit(
        id=chunk.external_id, collection=collection, content=chunk.text, score=similarity or 0.0, metadata=metadata
    )
    return hit if around is None else _within(hit, chunk, around, starts_at)


def _within(hit: Hit, chunk: Chunk, around: str, starts_at: int) -> Hit:
    """The hit with more than it as content. What starts between the rows of a table is shown with its header."""
    assert chunk.start_offset is not None
    assert chunk.end_offset is not None
    length = chunk.end_offset - chunk.start_offset
    place = chunk.start_offset - starts_at
    header = chunk.text[: len(chunk.text) - length]
    if header and header not in around[:place]:
        around = header + around
        place += len(header)
    return replace(hit, content=around, matched=chunk.text, matched_at=(place, place + length))
