"""Questions and answers as JSON (api.md; E 4.1 to 4.4)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from answers_app.evidence import Answer, RankedEvidence
from answers_app.services import (
    LEAST_TOP_K,
    MAX_QUESTION,
    MOST_TOP_K,
    MOST_TOP_N,
    TOP_K,
    TOP_N,
    written,
)
from collections_app.filters_api import FilterNameField
from core_app.api import StrictCharField, StrictIntegerField, StrictListField, StrictSerializer, WhereField
from search_app.services import MOST_COLLECTIONS


class QuestionSerializer(StrictSerializer):
    question = StrictCharField(max_length=MAX_QUESTION, help_text="What somebody wants to know, in their own words.")
    collections = StrictListField(
        child=StrictCharField(trim_whitespace=False, max_length=512),
        min_length=1,
        max_length=MOST_COLLECTIONS,
        help_text="Where the answer may come from.",
    )
    top_k = StrictIntegerField(
        default=TOP_K, min_value=LEAST_TOP_K, max_value=MOST_TOP_K, help_text="Passages that are retrieved."
    )
    top_n = StrictIntegerField(
        default=TOP_N, min_value=1, max_value=MOST_TOP_N, help_text="Of them, those that the answer is made of."
    )
    where = WhereField(required=False)
    filter = FilterNameField()


class InterpretationSerializer(serializers.Serializer[Any]):
    interpreted_query = serializers.CharField()
    intent = serializers.CharField()
    entities = serializers.ListField(child=serializers.CharField())
    query_type = serializers.CharField()
    answer_format_hints = serializers.CharField(allow_null=True)


class EvidenceSerializer(serializers.Serializer[Any]):
    chunk_id = serializers.CharField()
    document_id = serializers.CharField(help_text="The source of its document, else its own id.")
    collection = serializers.CharField()
    content = serializers.CharField()
    relevance_score = serializers.FloatField(help_text="Similarity to the query, 0 to 1.")
    metadata = serializers.DictField()
    rank = serializers.IntegerField()
    confidence_score = serializers.FloatField()
    reasoning = serializers.CharField()


class QuoteSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    chunk_id = serializers.CharField(help_text="The passage that has these words.")


class CitationSerializer(serializers.Serializer[Any]):
    sentence = serializers.CharField()
    chunk_ids = serializers.ListField(child=serializers.CharField(), help_text="Empty where the model named none.")
    quotes = QuoteSerializer(many=True)


class AnswerWarningSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    detail = serializers.CharField()


class AnswerSerializer(serializers.Serializer[Any]):
    answer = serializers.CharField(help_text="Behind each sentence the ranks of its evidence in square brackets.")
    is_answered = serializers.BooleanField(help_text="Whether the passages have an answer; if not, `answer` says so.")
    reasoning_steps = serializers.ListField(child=serializers.CharField())
    confidence = serializers.FloatField(help_text="0 to 1, as the model judges; 0 where it is not answered.")
    sources = serializers.ListField(child=serializers.CharField(), help_text="`document_id#chunk_id` of what is cited.")
    citations = CitationSerializer(many=True, help_text="Each sentence with what it rests on, as far as it was found.")
    model_used = serializers.CharField(help_text="`provider:model`")
    token_usage = serializers.DictField(child=serializers.IntegerField(), help_text="Of all steps; 0 where not told.")
    cost = serializers.FloatField(allow_null=True, help_text="In the currency of the configured prices.")
    interpretation = InterpretationSerializer()
    evidence = EvidenceSerializer(many=True)
    merged_reasoning = serializers.CharField()
    conflict_resolution = serializers.CharField(allow_null=True)
    queries = serializers.ListField(child=serializers.CharField(), help_text="What was searched.")
    retrieval_timestamp = serializers.DateTimeField()
    milvus_query_time = serializers.FloatField(help_text="Seconds that the searches took, in whatever store.")
    seconds = serializers.DictField(child=serializers.FloatField(), help_text="By step, `model` and `total`.")
    program_version = serializers.CharField(help_text="`0` is the program as it is shipped.")
    warnings = AnswerWarningSerializer(many=True, help_text="What kept the answer from being all it could be.")


def as_json(found: Answer) -> dict[str, Any]:
    """An answer in the shape of AnswerSerializer."""
    said, interpretation = found.said, found.interpretation
    return {
        "answer": written(found),
        "is_answered": said.is_answered,
        "reasoning_steps": list(said.reasoning_steps),
        "confidence": said.confidence if said.is_answered else 0.0,
        "sources": [f"{one.chunk.document_id}#{one.chunk.chunk_id}" for one in found.sources],
        "citations": [
            {
                "sentence": one.text,
                "chunk_ids": list(one.chunk_ids),
                "quotes": [{"text": quote.text, "chunk_id": quote.chunk_id} for quote in one.quotes],
            }
            for one in (said.sentences if said.is_answered else ())
        ],
        "model_used": found.model_used,
        "token_usage": dict(found.token_usage),
        "cost": found.cost,
        "interpretation": {**asdict(interpretation), "entities": list(interpretation.entities)},
        "evidence": [_evidence(one) for one in found.ranking.evidence],
        "merged_reasoning": found.ranking.merged_reasoning,
        "conflict_resolution": found.ranking.conflict_resolution,
        "queries": list(found.retrieved.queries),
        "retrieval_timestamp": found.retrieved.retrieved_at.isoformat(),
        "milvus_query_time": round(found.retrieved.store_seconds, 4),
        "seconds": dict(found.seconds),
        "program_version": found.program_version,
        "warnings": [{"code": one.code, "detail": one.detail} for one in found.warnings],
    }


def _evidence(one: RankedEvidence) -> dict[str, Any]:
    chunk = one.chunk
    return {
        "chunk_id": chunk.chunk_id,
        "document_id": chunk.document_id,
        "collection": chunk.collection,
        "content": chunk.content,
        "relevance_score": chunk.relevance_score,
        "metadata": dict(chunk.metadata),
        "rank": one.rank,
        "confidence_score": one.confidence_score,
        "reasoning": one.reasoning,
    }
