"""Search over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.filters_api import FILTER
from core_app.api import ErrorSerializer
from search_app.asking import DEFAULT_LIMIT, MOST_KNOWLEDGE
from search_app.modes import MODE_NAMES
from search_app.results import in_short
from search_app.serializers import (
    MAX_QUERY_LENGTH,
    SearchCollectionsSerializer,
    SearchResponseSerializer,
    SearchSerializer,
    SearchWarningSerializer,
    as_json,
)
from search_app.services import search, search_collections

ERRORS = dict.fromkeys((400, 401, 403, 404, 413, 415, 500, 503), ErrorSerializer)


class SearchView(ApiView):
    """FR-001: search one collection by meaning and by exact words."""

    verbs = {"POST": Verb.SEARCH}

    @extend_schema(
        operation_id="search_collection",
        summary="Search a collection",
        tags=["search"],
        request=SearchSerializer,
        responses={200: SearchResponseSerializer, **ERRORS},
    )
    def post(self, request: Request, name: str) -> Response:
        body = SearchSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(as_json(search(collection_name=name, asked_by=self.caller.name, **body.validated_data)))


class SearchCollectionsView(ApiView):
    """Several collections, searched as if they were one."""

    verbs = {"POST": Verb.SEARCH}

    @extend_schema(
        operation_id="search_collections",
        summary="Search several collections",
        tags=["search"],
        request=SearchCollectionsSerializer,
        responses={200: SearchResponseSerializer, **ERRORS},
    )
    def post(self, request: Request) -> Response:
        body = SearchCollectionsSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        names = given.pop("collections")
        for name in names:
            self.caller.require(Verb.SEARCH, name)
        return Response(as_json(search_collections(collection_names=names, asked_by=self.caller.name, **given)))


class KnowledgeQuerySerializer(serializers.Serializer[Any]):
    q = serializers.CharField(max_length=MAX_QUERY_LENGTH)
    thoroughness = serializers.ChoiceField(choices=MODE_NAMES, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=MOST_KNOWLEDGE, default=DEFAULT_LIMIT)


class KnowledgeHitSerializer(serializers.Serializer[Any]):
    content = serializers.CharField()
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the API's word
    section = serializers.CharField(allow_blank=True)
    relevance = serializers.CharField(
        allow_null=True, help_text="Similarity in percent, such as `87%`; null where nothing was compared."
    )


class KnowledgeResponseSerializer(serializers.Serializer[Any]):
    results = KnowledgeHitSerializer(many=True)
    warnings = SearchWarningSerializer(many=True, help_text="What kept the search from being all it could be.")


class KnowledgeSearchView(ApiView):
    """Spec C's short form of a search, for agents."""

    verbs = {"GET": Verb.SEARCH}
    parameters = {"GET": ("q", "thoroughness", "limit", "filter")}

    @extend_schema(
        operation_id="search_knowledge",
        summary="Search a collection, in short",
        tags=["search"],
        parameters=[
            OpenApiParameter("q", str, required=True, description="What to look for."),
            OpenApiParameter("thoroughness", str, enum=MODE_NAMES, description="Left out: as the collection has it."),
            FILTER,
            OpenApiParameter("limit", int, description=f"1 to {MOST_KNOWLEDGE}, {DEFAULT_LIMIT} unless given."),
        ],
        responses={200: KnowledgeResponseSerializer, **dict.fromkeys((400, 401, 403, 404, 500, 503), ErrorSerializer)},
    )
    def get(self, request: Request, name: str) -> Response:
        asked = KnowledgeQuerySerializer(data=request.query_params)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        found = search(
            collection_name=name,
            query=given["q"],
            mode=given.get("thoroughness"),
            top_k=given["limit"],
            filter_name=request.query_params.get("filter"),
            asked_by=self.caller.name,
        )
        return Response(
            {
                "results": [asdict(in_short(hit)) for hit in found.hits],
                "warnings": [asdict(warning) for warning in found.warnings],
            }
        )
