"""What embeds a collection, over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from access_app.api import ApiView
from access_app.models import Verb
from collections_app.embedding import EmbeddingChoice, choose_embedding, embedding_choice
from core_app.api import ErrorSerializer, StrictCharField, StrictSerializer

READ_ERRORS = dict.fromkeys((400, 401, 403, 404, 500), ErrorSerializer)
ERRORS = {**READ_ERRORS, **dict.fromkeys((409, 413, 415, 502, 503, 504), ErrorSerializer)}


class EmbeddingSerializer(StrictSerializer):
    connection = StrictCharField(max_length=100, help_text="`built-in` is the server's own embedder.")


class EmbeddingChoiceSerializer(serializers.Serializer[Any]):
    connection = serializers.CharField(help_text="`built-in` is the server's own embedder.")
    model = serializers.CharField(allow_null=True, help_text="Null where the connection cannot be used.")
    dimension = serializers.IntegerField(allow_null=True, help_text="Of the collection's vectors.")
    is_usable = serializers.BooleanField(help_text="Whether texts and queries can be embedded for this collection.")
    reason = serializers.CharField(allow_null=True, help_text="Why not, and what to do.")


class EmbeddingView(ApiView):
    """The connection that embeds a collection's texts and the queries for it."""

    verbs = {"GET": Verb.READ, "PUT": Verb.WRITE}

    @extend_schema(
        operation_id="get_embedding",
        summary="Show what embeds it",
        tags=["collections"],
        responses={200: EmbeddingChoiceSerializer, **READ_ERRORS},
    )
    def get(self, request: Request, name: str) -> Response:
        return Response(_present(embedding_choice(name=name)))

    @extend_schema(
        operation_id="set_embedding",
        summary="Embed it by a connection",
        description="Refused while it holds vectors of another model. From then on texts and queries are sent there.",
        tags=["collections"],
        request=EmbeddingSerializer,
        responses={200: EmbeddingChoiceSerializer, **ERRORS},
    )
    def put(self, request: Request, name: str) -> Response:
        body = EmbeddingSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return Response(_present(choose_embedding(name=name, connection=body.validated_data["connection"])))


def _present(choice: EmbeddingChoice) -> dict[str, Any]:
    return {
        "connection": choice.connection,
        "model": choice.model or None,
        "dimension": choice.dimension,
        "is_usable": not choice.reason,
        "reason": choice.reason or None,
    }
