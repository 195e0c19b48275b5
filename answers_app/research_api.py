"""Research over HTTP (C-REQ-006)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from answers_app.research import ITERATIONS, MAX_TOPIC, MOST_ITERATIONS, Research, research
from answers_app.serializers import AnswerWarningSerializer
from core_app.api import ErrorSerializer, StrictCharField, StrictIntegerField, StrictListField, StrictSerializer
from search_app.services import MOST_COLLECTIONS

ERRORS = dict.fromkeys((400, 401, 403, 404, 413, 415, 500, 503), ErrorSerializer)


class TopicSerializer(StrictSerializer):
    topic = StrictCharField(max_length=MAX_TOPIC, help_text="What is to be found out.")
    collections = StrictListField(
        child=StrictCharField(trim_whitespace=False, max_length=512), min_length=1, max_length=MOST_COLLECTIONS
    )
    maxIterations = StrictIntegerField(  # noqa: N815 - spec C's name
        default=ITERATIONS, min_value=1, max_value=MOST_ITERATIONS, help_text="Rounds of searches."
    )


class FindingSerializer(serializers.Serializer[Any]):
    content = serializers.CharField()
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the API's word
    section = serializers.CharField(allow_blank=True)
    collection = serializers.CharField()
    chunk_id = serializers.CharField()


class ResearchSerializer(serializers.Serializer[Any]):
    topic = serializers.CharField()
    searchesPerformed = serializers.IntegerField()  # noqa: N815 - spec C's name
    queries = serializers.ListField(child=serializers.CharField(), help_text="What was searched, in order.")
    iterations = serializers.IntegerField()
    findings = FindingSerializer(many=True)
    warnings = AnswerWarningSerializer(many=True, help_text="What kept the research from being all it could be.")


def as_json(found: Research) -> dict[str, Any]:
    """Spec C's shape, and what it took."""
    return {
        "topic": found.topic,
        "searchesPerformed": found.searches_performed,
        "queries": list(found.queries),
        "iterations": found.iterations,
        "findings": [
            {
                "content": hit.content,
                "source": hit.metadata["source"],
                "section": hit.metadata["section"] or "",
                "collection": hit.collection,
                "chunk_id": hit.id,
            }
            for hit in found.findings
        ],
        "warnings": [{"code": one.code, "detail": one.detail} for one in found.warnings],
    }


class ResearchView(ApiView):
    """A topic, searched in several steps."""

    verbs = {"POST": Verb.SEARCH}

    @extend_schema(
        operation_id="research_topic",
        summary="Research a topic",
        description="Breaks the topic into sub-queries, searches them at the same time and goes on while too little "
        "was found. Without a chat model it does so by rule, and says so in `warnings`.",
        tags=["answers"],
        request=TopicSerializer,
        responses={200: ResearchSerializer, **ERRORS},
    )
    def post(self, request: Request) -> Response:
        body = TopicSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        for name in given["collections"]:
            self.caller.require(Verb.SEARCH, name)
        found = research(
            topic=given["topic"],
            collections=given["collections"],
            max_iterations=given["maxIterations"],
            asked_by=self.caller.name,
        )
        return Response(as_json(found))
