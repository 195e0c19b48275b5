"""The four steps of E 2.1 to 2.4, each a module that an optimiser can take by itself or as part of the program."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import dspy  # type: ignore[import-untyped]

from answers_app.citing import checked
from answers_app.evidence import (
    EvidenceChunk,
    Interpretation,
    RankedEvidence,
    Ranking,
    Retrieved,
    Said,
    Warned,
)
from answers_app.program.signatures import (
    Conflict,
    GenerateAnswer,
    PassageShown,
    RankedPassage,
    RankEvidence,
    RewriteQuery,
    UnderstandQuery,
)
from core_app.prompt_text import harmless

MOST_QUERIES = 3
#: Of a passage; what is behind them is not read.
PASSAGE_CHARACTERS = 4_000
_LONGEST_QUERY = 1_000
_LONGEST_WORDS = 2_000
_MOST_ENTITIES = 20
_RRF = 60

Search = Callable[[str, int], Sequence[EvidenceChunk]]


@dataclass(frozen=True, kw_only=True)
class Sought:
    """Passages, and the queries that found them."""

    chunks: Sequence[EvidenceChunk]
    queries: Sequence[str]


class QueryUnderstanding(dspy.Module):  # type: ignore[misc]  # dspy has no types
    """REQ-RAG-001 to 004: what a question asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.understand = dspy.ChainOfThought(UnderstandQuery)

    def forward(self, user_question: str) -> dspy.Prediction:
        found = self.understand(user_question=harmless(user_question))
        interpretation = Interpretation(
            interpreted_query=_line(found.interpreted_query) or user_question,
            intent=_line(found.intent),
            entities=[_line(one) for one in found.entities[:_MOST_ENTITIES] if one.strip()],
            query_type=str(found.query_type),
            answer_format_hints=_line(found.answer_format_hints or "") or None,
        )
        return dspy.Prediction(interpretation=interpretation)


class RetrieveEvidence(dspy.Module):  # type: ignore[misc]
    """REQ-RAG-005 to 011: passages of several documents, by queries that a predictor writes."""

    def __init__(self, search: Search) -> None:
        super().__init__()
        self.search = search
        self.rewrite = dspy.ChainOfThought(RewriteQuery)

    def forward(self, interpretation: Interpretation, top_k: int) -> dspy.Prediction:
        queries = self.queries(interpretation)
        return dspy.Prediction(retrieved=self.retrieved(queries, top_k))

    def queries(self, interpretation: Interpretation) -> list[str]:
        """What is searched: the question, and what the predictor makes of it."""
        found = self.rewrite(
            interpreted_query=harmless(interpretation.interpreted_query),
            entities=[harmless(entity) for entity in interpretation.entities],
        )
        written = [_line(query)[:_LONGEST_QUERY] for query in found.queries[:MOST_QUERIES]]
        return list(dict.fromkeys(query for query in (interpretation.interpreted_query, *written) if query))

    def retrieved(self, queries: Sequence[str], top_k: int) -> Retrieved:
        """The passages that stand highest in the lists of all queries (reciprocal rank fusion); a failure is told."""
        began = time.monotonic()
        try:
            found = merged([self.search(query, top_k) for query in queries])[:top_k]
            problem = None
        except Exception as error:  # noqa: BLE001 - REQ-RAG-010: an empty list with the reason
            found, problem = [], error
        return Retrieved(
            chunks=found,
            queries=queries,
            retrieved_at=datetime.now(UTC),
            store_seconds=time.monotonic() - began,
            problem=problem,
        )


class EvidenceRanker(dspy.Module):  # type: ignore[misc]
    """REQ-RAG-012 to 018: passages in order, how they go together, and which side of a contradiction to follow."""

    def __init__(self) -> None:
        super().__init__()
        self.rank = dspy.ChainOfThought(RankEvidence)

    def forward(self, chunks: Sequence[EvidenceChunk], interpreted_query: str, top_n: int) -> dspy.Prediction:
        labelled = {f"p{number}": chunk for number, chunk in enumerate(chunks, start=1)}
        found = self.rank(interpreted_query=harmless(interpreted_query), passages=_shown(labelled), top_n=top_n)
        evidence, unknown = _ranked(found.ranking, labelled, top_n)
        warnings = []
        if unknown:
            detail = f"The ranking named {unknown} passages that were not retrieved; they were dropped."
            warnings.append(Warned(code="unknown_citations", detail=detail))
        if not evidence:
            evidence = as_found(chunks, top_n)
        ranking = Ranking(
            evidence=evidence,
            merged_reasoning=found.merged_reasoning.strip()[:_LONGEST_WORDS],
            conflict_resolution=_resolved(found.conflicts, labelled),
        )
        return dspy.Prediction(ranking=ranking, warnings=warnings)


class AnswerGenerator(dspy.Module):  # type: ignore[misc]
    """REQ-RAG-019 to 025: an answer in steps, each sentence with the passages that say so."""

    def __init__(self) -> None:
        super().__init__()
        self.generate = dspy.ChainOfThought(GenerateAnswer)

    def forward(self, question: str, interpretation: Interpretation, ranking: Ranking) -> dspy.Prediction:
        labelled = {f"p{one.rank}": one for one in ranking.evidence}
        found = self.generate(
            question=harmless(question),
            interpreted_query=harmless(interpretation.interpreted_query),
            passages=_shown({label: one.chunk for label, one in labelled.items()}),
            merged_reasoning=harmless(ranking.merged_reasoning),
            conflicts=harmless(ranking.conflict_resolution or "none"),
            answer_format_hints=harmless(interpretation.answer_format_hints or "none"),
        )
        sentences, warnings = checked(found.sentences, labelled)
        said = Said(
            sentences=sentences,
            reasoning_steps=[_line(step) for step in found.reasoning_steps if step.strip()],
            confidence=_share(found.confidence),
            is_answered=bool(found.is_answered) and any(sentence.chunk_ids for sentence in sentences),
        )
        return dspy.Prediction(said=said, warnings=warnings)


def merged(lists: Sequence[Sequence[EvidenceChunk]]) -> list[EvidenceChunk]:
    """Reciprocal rank fusion with k = 60 (Cormack, Clarke and Büttcher, 2009); of a passage its best similarity."""
    scores: dict[tuple[str, str], float] = {}
    best: dict[tuple[str, str], EvidenceChunk] = {}
    for found in lists:
        for rank, chunk in enumerate(found, start=1):
            key = (chunk.collection, chunk.chunk_id)
            scores[key] = scores.get(key, 0.0) + 1 / (_RRF + rank)
            if key not in best or chunk.relevance_score > best[key].relevance_score:
                best[key] = chunk
    return [best[key] for key in sorted(best, key=lambda key: (-scores[key], -best[key].relevance_score, key))]


def as_found(chunks: Sequence[EvidenceChunk], top_n: int) -> list[RankedEvidence]:
    """The order of the search, where there is no better one; how near a passage is says how sure one is of it."""
    return [
        RankedEvidence(chunk=chunk, rank=rank, confidence_score=_share(chunk.relevance_score), reasoning="")
        for rank, chunk in enumerate(chunks[:top_n], start=1)
    ]


def _ranked(
    ranking: Sequence[RankedPassage], labelled: Mapping[str, EvidenceChunk], top_n: int
) -> tuple[list[RankedEvidence], int]:
    """In the model's order, each passage once; and how many that it made up."""
    known = {one.id.strip().strip("[]"): one for one in reversed(ranking)}
    order = [label for label in dict.fromkeys(one.id.strip().strip("[]") for one in ranking) if label in labelled]
    unknown = len(set(known) - set(labelled))
    return [
        RankedEvidence(
            chunk=labelled[label],
            rank=rank,
            confidence_score=_share(known[label].confidence),
            reasoning=_line(known[label].reasoning),
        )
        for rank, label in enumerate(order[:top_n], start=1)
    ], unknown


def _resolved(conflicts: Sequence[Conflict], labelled: Mapping[str, EvidenceChunk]) -> str | None:
    """The contradictions in words, each with its documents and how it was settled (REQ-RAG-015, 029)."""
    told = []
    for one in conflicts:
        ids = [label for label in one.ids if label in labelled]
        kept = [label for label in one.kept if label in ids]
        if len(ids) < 2:
            continue
        sides = " and ".join(f"[{label}] {_line(labelled[label].document_id)}" for label in ids)
        outcome = (
            f"followed: {', '.join(f'[{label}]' for label in kept)} ({one.strategy})"
            if kept and one.strategy != "unresolved"
            else "unresolved: both are told"
        )
        told.append(f"{_line(one.about)}: {sides} disagree; {outcome}.")
    return " ".join(told) or None


def _shown(labelled: Mapping[str, EvidenceChunk]) -> list[PassageShown]:
    return [
        PassageShown(id=label, document=harmless(chunk.document_id), text=harmless(chunk.content[:PASSAGE_CHARACTERS]))
        for label, chunk in labelled.items()
    ]


def _line(text: str) -> str:
    return " ".join(str(text).split())[:_LONGEST_WORDS]


def _share(value: Any) -> float:
    """From 0 to 1, whatever a model takes for a share; 0 for what is no number."""
    number = float(value)
    return min(1.0, max(0.0, number)) if number == number else 0.0
