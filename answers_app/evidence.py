"""What passes from one step of an answer to the next, and the answer itself (E 4.1 to 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Interpretation:
    """What a question asks for (E 4.1)."""

    interpreted_query: str
    intent: str
    entities: Sequence[str]
    query_type: str
    answer_format_hints: str | None


@dataclass(frozen=True, kw_only=True)
class EvidenceChunk:
    """A passage that a search found (E 4.2)."""

    chunk_id: str
    #: The source of its document, else its own id.
    document_id: str
    collection: str
    content: str
    #: Similarity to the query, 0 to 1.
    relevance_score: float
    metadata: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Retrieved:
    """What was found, best first; empty with `problem` where the search failed (REQ-RAG-010)."""

    chunks: Sequence[EvidenceChunk]
    queries: Sequence[str]
    retrieved_at: datetime
    #: The searches, without the model's part.
    store_seconds: float
    problem: Exception | None = None


@dataclass(frozen=True, kw_only=True)
class RankedEvidence:
    """A passage in its place (E 4.3)."""

    chunk: EvidenceChunk
    #: From 1.
    rank: int
    #: 0 to 1.
    confidence_score: float
    reasoning: str


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The passages that an answer is made of, and how they go together (REQ-RAG-017)."""

    evidence: Sequence[RankedEvidence]
    merged_reasoning: str
    conflict_resolution: str | None


@dataclass(frozen=True, kw_only=True)
class Quote:
    """Words that an answer says are in a passage."""

    text: str
    #: Of the passage that has them; None where none of those that are cited does.
    chunk_id: str | None


@dataclass(frozen=True, kw_only=True)
class CitedSentence:
    """A sentence of an answer with the passages that it rests on."""

    text: str
    chunk_ids: Sequence[str]
    quotes: Sequence[Quote]


@dataclass(frozen=True, kw_only=True)
class Warned:
    """What kept an answer from being all it could be."""

    code: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the last step made of the evidence (E 4.4)."""

    sentences: Sequence[CitedSentence]
    reasoning_steps: Sequence[str]
    #: 0 to 1.
    confidence: float
    #: Whether the passages answer the question at all.
    is_answered: bool


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer, what it rests on, and how it came about."""

    answer: str
    said: Said
    interpretation: Interpretation
    retrieved: Retrieved
    ranking: Ranking
    model_used: str
    #: `input_tokens`, `output_tokens` and `calls`, of all steps.
    token_usage: Mapping[str, int]
    #: In the currency of the configured prices; None where those, or the tokens, are not known.
    cost: float | None
    warnings: Sequence[Warned]
    #: By step, in order, then `model` and `total`: the model's calls, and all of it.
    seconds: Mapping[str, float]
    program_version: str

    @property
    def sources(self) -> list[RankedEvidence]:
        """The evidence that the answer cites, by rank; none where it is not answered."""
        if not self.said.is_answered:
            return []
        cited = {key for sentence in self.said.sentences for key in sentence.chunk_ids}
        return [one for one in self.ranking.evidence if one.chunk.chunk_id in cited]
