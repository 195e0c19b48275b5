"""What a search gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from collections_app.models import Chunk


@dataclass(frozen=True, kw_only=True)
class SearchWarning:
    """What kept a search from being all it could be."""

    code: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One passage of the answer."""

    id: str
    content: str
    #: Similarity of query and passage, 0 to 1; 0 where no vector could be compared.
    score: float
    metadata: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The passages, best first, and how they were found."""

    hits: Sequence[Hit]
    mode: str
    query_strategy: str
    reranker: str
    warnings: Sequence[SearchWarning]
    took_ms: float


def make_hit(chunk: Chunk, *, similarity: float | None, rrf_score: float) -> Hit:
    """A chunk as a hit: the user's metadata, with the system's fields over keys of the same name."""
    metadata = dict(chunk.metadata)
    # Ingested chunks have these; a chunk stored directly has them if they were sent.
    for key in ("source", "page_number", "chunk_index"):
        metadata.setdefault(key, None)
    metadata.setdefault("section", "")
    metadata |= {"similarity_score": similarity, "rrf_score": rrf_score}
    return Hit(id=chunk.external_id, content=chunk.text, score=similarity or 0.0, metadata=metadata)
