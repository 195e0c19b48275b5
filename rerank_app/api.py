"""Scores of texts beside a query, over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from core_app.api import ErrorSerializer, StrictIntegerField, StrictSerializer
from rerank_app.services import rank

#: Of one request.
MOST_DOCUMENTS = 1000
LONGEST_QUERY = 4000


class RerankDocumentSerializer(StrictSerializer):
    id = serializers.CharField(max_length=1000, help_text="Whatever the answer should call it.")
    text = serializers.CharField(allow_blank=True, trim_whitespace=False)


class RerankSerializer(StrictSerializer):
    query = serializers.CharField(max_length=LONGEST_QUERY)
    documents: Any = serializers.ListSerializer(child=RerankDocumentSerializer(), max_length=MOST_DOCUMENTS)
    top_k = StrictIntegerField(required=False, min_value=1, help_text="How many of the best; all where it is missing.")


class RerankedSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    score = serializers.FloatField(help_text="As the model gives it: some models' scores are 0 to 1, others' are not.")
    original_rank = serializers.IntegerField(help_text="Its place in the request, from 1.")


class RerankResponseSerializer(serializers.Serializer[Any]):
    reranked = RerankedSerializer(many=True, help_text="Best first.")


class RerankView(ApiView):
    """Texts in order of how well they answer a query (A13)."""

    verbs = {"POST": Verb.SEARCH}

    @extend_schema(
        operation_id="rerank",
        summary="Put texts in order",
        tags=["rerank"],
        request=RerankSerializer,
        responses={
            200: RerankResponseSerializer,
            **dict.fromkeys((400, 401, 403, 413, 415, 500, 503), ErrorSerializer),
        },
    )
    def post(self, request: Request) -> Response:
        body = RerankSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        documents = given["documents"]
        ranking = rank(
            query=given["query"], texts=[document["text"] for document in documents], top_n=given.get("top_k")
        )
        reranked = [
            {"id": documents[one.index]["id"], "score": one.score, "original_rank": one.index + 1}
            for one in ranking.ranked
        ]
        return Response({"reranked": reranked})
