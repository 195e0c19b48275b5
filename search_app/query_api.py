"""Search by given vectors over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.filters_api import FilterNameField
from core_app.api import (
    EmbeddingField,
    ErrorSerializer,
    StrictIntegerField,
    StrictListField,
    StrictSerializer,
    WhereField,
)
from search_app.nearest import DEFAULT_TOP_K, MAX_TOP_K, Neighbour, nearest

MAX_QUERIES = 100
_ONE_OF = "Send either query_embedding or query_embeddings."


class QuerySerializer(StrictSerializer):
    query_embedding = EmbeddingField(required=False)
    query_embeddings = StrictListField(
        child=EmbeddingField(),
        required=False,
        allow_empty=False,
        max_length=MAX_QUERIES,
        help_text="Several at once: `results` then holds a list for each.",
    )
    top_k = StrictIntegerField(default=DEFAULT_TOP_K, min_value=1, max_value=MAX_TOP_K)
    where = WhereField(required=False)
    filter = FilterNameField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("query_embedding" in attrs) == ("query_embeddings" in attrs):
            raise serializers.ValidationError(_ONE_OF)
        return attrs


class NeighbourSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    text = serializers.CharField()
    metadata = serializers.DictField()
    score = serializers.FloatField(help_text="Similarity, 0 to 1.")
    distance = serializers.FloatField(help_text="1 - cosine, Euclidean, or the negative inner product.")


class QueryResponseSerializer(serializers.Serializer[Any]):
    results = NeighbourSerializer(many=True, help_text="Nearest first.")
    count = serializers.IntegerField()


class QueriesResponseSerializer(serializers.Serializer[Any]):
    results = serializers.ListField(child=NeighbourSerializer(many=True), help_text="A list for each query, in order.")
    count = serializers.IntegerField(help_text="Of the results of all queries together.")


QUERY_RESPONSE = PolymorphicProxySerializer(
    component_name="QueryResults",
    serializers=[QueryResponseSerializer, QueriesResponseSerializer],
    resource_type_field_name=None,
)


class QueryView(ApiView):
    """The nearest documents of a given vector."""

    verbs = {"POST": Verb.SEARCH}

    @extend_schema(
        operation_id="query_documents",
        summary="Find the nearest documents",
        tags=["documents"],
        request=QuerySerializer,
        responses={
            200: QUERY_RESPONSE,
            **dict.fromkeys((400, 401, 403, 404, 413, 415, 500, 503), ErrorSerializer),
        },
    )
    def post(self, request: Request, name: str) -> Response:
        body = QuerySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        single = "query_embedding" in given
        found = nearest(
            collection_name=name,
            queries=[given["query_embedding"]] if single else given["query_embeddings"],
            top_k=given["top_k"],
            where=given.get("where"),
            filter_name=given.get("filter_name"),
        )
        results: Sequence[Any] = [[_present(hit) for hit in hits] for hits in found]
        return Response({"results": results[0] if single else results, "count": sum(map(len, found))})


def _present(hit: Neighbour) -> dict[str, Any]:
    return {
        "id": hit.id,
        "text": hit.text,
        "metadata": hit.metadata,
        "score": hit.score,
        "distance": hit.distance,
    }
