"""Scores of texts beside a query, over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from core_app.api import ErrorSerializer, StrictCharField, StrictIntegerField, StrictListSerializer, StrictSerializer
from rerank_app.fields import MOST_DOCUMENTS, QueryField, TextField
from rerank_app.services import rank
from rerank_app.tei import TeiErrorSerializer, TeiRankSerializer, TeiRerankSerializer, is_for_tei, rerank_as_tei


class RerankDocumentSerializer(StrictSerializer):
    id = StrictCharField(max_length=1000, trim_whitespace=False, help_text="Whatever the answer should call it.")
    text = TextField()


class RerankSerializer(StrictSerializer):
    query = QueryField()
    documents: Any = StrictListSerializer(child=RerankDocumentSerializer(), max_length=MOST_DOCUMENTS)
    top_k = StrictIntegerField(
        required=False, allow_null=True, min_value=1, help_text="How many of the best; all where it is missing or null."
    )


class RerankedSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    score = serializers.FloatField(help_text="As the model gives it: some models' scores are 0 to 1, others' are not.")
    original_rank = serializers.IntegerField(help_text="Its place in the request, from 1.")


class RerankResponseSerializer(serializers.Serializer[Any]):
    reranked = RerankedSerializer(many=True, help_text="Best first.")


def _either(name: str, *serializers: Any) -> PolymorphicProxySerializer:
    """One form or the other; nothing in a body names it."""
    return PolymorphicProxySerializer(
        component_name=name, serializers=list(serializers), resource_type_field_name=None, many=False
    )


REQUEST = _either("AnyRerank", RerankSerializer, TeiRerankSerializer)
RESPONSES: dict[int, Any] = {
    200: _either("AnyRerankResponse", RerankResponseSerializer, TeiRankSerializer(many=True)),
    **dict.fromkeys((400, 413, 503), _either("AnyRerankError", ErrorSerializer, TeiErrorSerializer)),
    **dict.fromkeys((401, 403, 415, 500), ErrorSerializer),
    **dict.fromkeys((422, 424, 429), TeiErrorSerializer),
}


class RerankView(ApiView):
    """Texts in order of how well they answer a query (A13); a body with `texts` is answered as TEI does.

    A body that cannot be accepted is 400 with or without a model. Without a model one that can is 503, an empty list
    among them: whoever asks with one whether texts can be put in order here is not told yes.
    """

    verbs = {"POST": Verb.SEARCH}

    @extend_schema(
        operation_id="rerank",
        summary="Put texts in order",
        tags=["rerank"],
        request=REQUEST,
        responses=RESPONSES,
    )
    def post(self, request: Request) -> Response:
        if is_for_tei(request.data):
            return rerank_as_tei(request.data)
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
