"""Search over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from core_app.api import (
    ErrorSerializer,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    StrictSerializer,
)
from search_app.services import CONTEXTUALIZED_TOPIC, DEFAULT_LIMIT, FUSIONS, MODES, RAW_QUERY, search

MAX_QUERY_LENGTH = 4000
_QUERY = f"Send a query of 1 to {MAX_QUERY_LENGTH} characters."


class SearchSerializer(StrictSerializer):
    query = StrictCharField(
        max_length=MAX_QUERY_LENGTH,
        error_messages=dict.fromkeys(("required", "null", "blank", "max_length", "invalid"), _QUERY),
        help_text="What to look for, in words of your own or the text's.",
    )
    top_k = StrictIntegerField(default=DEFAULT_LIMIT, min_value=1, max_value=100, help_text="Most passages to return.")
    min_score = StrictFloatField(
        required=False, allow_null=True, min_value=0, max_value=1, help_text="Least similarity of a passage."
    )
    topic = StrictCharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=MAX_QUERY_LENGTH,
        help_text="What a conversation is about so far; when given, it is searched for instead of the query.",
    )
    mode = serializers.ChoiceField(
        choices=MODES, default=MODES[0], help_text="So far there is `fast`: another is answered by it, with a warning."
    )
    fusion = serializers.ChoiceField(
        choices=FUSIONS,
        default=FUSIONS[0],
        help_text="How the legs are merged. So far there is `rrf`: another is answered by it, with a warning.",
    )


class HitMetadataSerializer(serializers.Serializer[Any]):
    """The user's own metadata is here too, beside these."""

    source = serializers.CharField(allow_null=True, help_text="The document, as it was named at ingestion.")  # type: ignore[assignment]  # the API's word
    page_number = serializers.IntegerField(allow_null=True, help_text="From 1; null without pages.")
    chunk_index = serializers.IntegerField(allow_null=True, help_text="Place in the document, from 0.")
    section = serializers.CharField(allow_blank=True, help_text="Headings above the passage, outermost first.")
    similarity_score = serializers.FloatField(
        allow_null=True, help_text="0 to 1; null where no vector could be compared."
    )
    rrf_score = serializers.FloatField(help_text="Sum of 1 / (60 + rank) over the legs that found it.")


class HitSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    content = serializers.CharField(help_text="The passage; where the collection has parents, the text around it.")
    matched = serializers.CharField(
        allow_null=True, help_text="The passage that was found; null where `content` itself is it."
    )
    score = serializers.FloatField(help_text="Similarity, 0 to 1.")
    metadata = HitMetadataSerializer()


class SearchWarningSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    detail = serializers.CharField()


class SearchResponseSerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    results = HitSerializer(many=True)
    mode = serializers.ChoiceField(choices=MODES[:1])
    query_strategy = serializers.ChoiceField(choices=(RAW_QUERY, CONTEXTUALIZED_TOPIC))
    reranker = serializers.ChoiceField(choices=("none",))
    warnings = SearchWarningSerializer(many=True, help_text="What kept the search from being all it could be.")
    took_ms = serializers.FloatField()


class SearchView(ApiView):
    """FR-001: search one collection by meaning and by exact words."""

    verbs = {"POST": Verb.SEARCH}

    @extend_schema(
        operation_id="search_collection",
        summary="Search a collection",
        tags=["search"],
        request=SearchSerializer,
        responses={
            200: SearchResponseSerializer,
            **dict.fromkeys((400, 401, 403, 404, 413, 415, 500, 503), ErrorSerializer),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        body = SearchSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        found = search(collection_name=name, **body.validated_data)
        return Response(
            {
                "count": len(found.hits),
                "results": [
                    {
                        "id": hit.id,
                        "content": hit.content,
                        "matched": hit.matched,
                        "score": hit.score,
                        "metadata": hit.metadata,
                    }
                    for hit in found.hits
                ],
                "mode": found.mode,
                "query_strategy": found.query_strategy,
                "reranker": found.reranker,
                "warnings": [{"code": w.code, "detail": w.detail} for w in found.warnings],
                "took_ms": found.took_ms,
            }
        )
